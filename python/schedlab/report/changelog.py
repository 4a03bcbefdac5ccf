"""The block that one pastes into a commit message: where, how, a compact table, and the verdicts in two sentences.

The table has the shape that scheduler changelogs have used since MMTests: a line for each row, the figure and its gain
in parentheses for each column, asterisks where a difference was shown. Gains are positive when better.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from math import isfinite
from pathlib import Path
from textwrap import wrap

from schedlab.analysis.verdicts import Question, Verdict
from schedlab.findings import Findings
from schedlab.report import effects, printed, telling
from schedlab.report.numbers import figure, improvement
from schedlab.units import counted

WIDTH = 75
"""Columns of a commit message's body (Linux' Documentation/process/submitting-patches.rst)."""

NAMED = 3
"""Rows that a sentence names for each column and verdict; more are counted."""


def render(findings: Findings, store: Path | None = None) -> str:
    """Plain text, at most 75 columns wide where names allow it."""
    return "\n\n".join(part for part in _parts(findings, store) if part) + "\n"


def _parts(findings: Findings, store: Path | None) -> Iterator[str]:
    yield "\n".join(_head(findings, store))
    yield _fill(telling.alone(findings))
    for _, verdicts in groupby(findings.verdicts, key=_kind):
        yield from _tables(list(verdicts), findings)
    for checked in findings.checked:
        yield "\n".join([_fill(printed.title(checked)), *printed.lines(checked, WIDTH)])
        yield "\n".join(_fill(remark, 2) for remark in printed.remarks(checked))
    if findings.checked:
        yield _fill(printed.explanation(findings.checked))
    if findings.verdicts:
        yield _legend(findings)
        sentences = (_shown(findings), _open(findings), *_effects(findings), *findings.notes)
        yield "\n".join(_fill(sentence) for sentence in sentences if sentence)
    if findings.warnings:
        yield "\n".join(_fill(f"Warning: {warning.seen}.") for warning in findings.warnings)


def _head(findings: Findings, store: Path | None) -> Iterator[str]:
    run = findings.run
    if len(findings.runs) == 1:
        yield _fill(f"{telling.subject(findings)}, {telling.design(run)}")
        if machine := telling.machine(run):
            yield _fill(f"Machine: {machine}", 2)
    else:
        for column in findings.columns:
            yield _fill(f"{column.name}: {telling.column_line(column)}", 2)
            if machine := telling.machine(column.run):
                yield _fill(f"  on {machine}", 4)
    for command in telling.repeat(findings, store):
        # Never folded: it is there to be copied.
        yield f"  $ {command}"


def _fill(text: str, indent: int = 0) -> str:
    lines = wrap(text, WIDTH, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def _kind(verdict: Verdict) -> tuple[str, str]:
    return verdict.question.workload, verdict.question.metric


def _tables(verdicts: Sequence[Verdict], findings: Findings) -> Iterator[str]:
    """One workload's metric, over as many tables as its columns need in the width."""
    first = verdicts[0].question
    rows = {question: list(held) for question, held in groupby(verdicts, key=lambda verdict: verdict.question)}
    fixed, labels = _labels(list(rows))
    title = (
        f"{first.workload}{f' {fixed}' if fixed else ''}, {first.metric} [{first.unit}], {first.direction} is better"
    )
    names = list(dict.fromkeys(verdict.variant for verdict in verdicts))
    cells = {(question, verdict.variant): _cell(verdict) for question, held in rows.items() for verdict in held}
    base = {question: f"{figure(held[0].baseline_mean)}{'':11}" for question, held in rows.items()}
    control = next((verdict.variant for verdict in verdicts if verdict.control), None)
    for some in _fitting(names, cells, base, labels, findings.baseline, control):
        head = ["", f"{findings.baseline}{'':11}", *(f"{name} (A/A)" if name == control else name for name in some)]
        lines = [
            [labels[question], base[question], *(cells.get((question, name), f"-{'':11}") for name in some)]
            for question in rows
        ]
        yield "\n".join([_fill(title), *_aligned([head, *lines])])


def _labels(questions: Sequence[Question]) -> tuple[str, dict[Question, str]]:
    """The parameters that all rows share, and for each row those that it does not."""
    given = {question: json.loads(question.parameters) for question in questions}
    first = given[questions[0]]
    shared = {
        name
        for name, value in first.items()
        if len(given) == 1 or all(p.get(name, ...) == value for p in given.values())
    }

    def words(parameters: dict[str, object], *, of_shared: bool) -> str:
        return " ".join(f"{name}={value}" for name, value in parameters.items() if (name in shared) == of_shared)

    labels = {question: words(parameters, of_shared=False) or question.metric for question, parameters in given.items()}
    return words(first, of_shared=True), labels


def _cell(verdict: Verdict) -> str:
    opening, closing = "**" if telling.shown(verdict) else "()"
    gain = improvement(verdict.ratio, verdict.question.direction)
    return f"{figure(verdict.mean)} {opening}{gain:>8}{closing}"


def _fitting(
    names: Sequence[str],
    cells: dict[tuple[Question, str], str],
    base: dict[Question, str],
    labels: dict[Question, str],
    baseline: str,
    control: str | None,
) -> Iterator[list[str]]:
    """The columns, as many at a time as fit; one at least."""

    def width(name: str) -> int:
        head = len(name) + (6 if name == control else 0)
        return 2 + max([head, *(len(text) for (_, column), text in cells.items() if column == name)])

    room = WIDTH - max(map(len, labels.values())) - 2 - max(len(baseline) + 11, *(len(text) for text in base.values()))
    taken: list[str] = []
    for name in names:
        if taken and sum(map(width, [*taken, name])) > room:
            yield taken
            taken = []
        taken.append(name)
    if taken:
        yield taken


def _aligned(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        cells = (text.rjust(width) for text, width in zip(line[1:], widths[1:], strict=True))
        yield "  ".join([line[0].ljust(widths[0]), *cells]).rstrip()


def _legend(findings: Findings) -> str:
    how = "paired by block, sign-flip test" if findings.paired else "not measured in turn, Welch test on logarithms"
    options = findings.options
    corrected = "" if options.correction == "none" else f", {options.correction} over {_family(findings)}"
    gains = "(gain by geometric means, positive is better)"
    return _fill(f"{gains}; *shown at alpha {options.alpha:g}*: {how}{corrected}.")


def _family(findings: Findings) -> str:
    return "all rows" if findings.options.family == "run" else "each variant's rows"


def _shown(findings: Findings) -> str:
    """What differs, with sizes and intervals, and what was shown to be alike."""
    told = []
    for name in dict.fromkeys(verdict.variant for verdict in findings.verdicts if not verdict.control):
        of_column = [verdict for verdict in findings.verdicts if verdict.variant == name]
        parts = [
            f"{word} than {findings.baseline} in {_named(held, findings)}"
            for word in ("better", "worse")
            if (held := [verdict for verdict in of_column if verdict.word == word])
        ]
        if same := [verdict for verdict in of_column if verdict.word == "equivalent"]:
            where = telling.row_name(same[0].question) if len(same) == 1 else f"{len(same)} rows"
            parts.append(f"equivalent to {findings.baseline} within {100 * findings.options.delta:g}% in {where}")
        if parts:
            told.append(f"{name} is {', and '.join(parts)}")
    return f"Shown: {'; '.join(told)}." if told else ""


def _named(held: Sequence[Verdict], findings: Findings) -> str:
    """The largest with their sizes and intervals, the others counted."""
    largest = sorted(held, key=lambda verdict: -abs(verdict.ratio - 1))
    told = [
        f"{telling.row_name(verdict.question)} ({_percent(verdict.ratio)}, {_level(verdict, findings)}% interval "
        f"{_percent(verdict.low)} to {_percent(verdict.high)})"
        for verdict in largest[:NAMED]
    ]
    rest = largest[NAMED:]
    if not rest:
        return ", ".join(told)
    low, high = _percent(rest[-1].ratio), _percent(rest[0].ratio)
    span = low if low == high else f"{low} to {high}"
    return f"{', '.join(told)} and {len(rest)} more {'row' if len(rest) == 1 else 'rows'} ({span})"


def _open(findings: Findings) -> str:
    """What this run could not show, with the changes that it would have seen."""
    held = [verdict for verdict in findings.verdicts if verdict.word == "inconclusive" and not verdict.control]
    if not held:
        return ""
    text = f"Not shown, neither a difference nor equivalence: {_where(held)}"
    seen = [verdict.detectable for verdict in held if isfinite(verdict.detectable)]
    if not seen:
        return f"{text}; there were too few figures."
    low, high = (f"{100 * bound:.1f}%" for bound in (min(seen), max(seen)))
    span = low if low == high else f"{low} to {high}, depending on the row,"
    blind = len(held) - len(seen)
    besides = f"; in {blind} of them there were too few figures" if blind else ""
    return f"{text}; a change of {span} would have been found four times in five{besides}."


def _where(held: Sequence[Verdict]) -> str:
    """``3 rows of batch, 1 row of slice``, or the row's name where it is only one."""
    if len(held) == 1:
        return f"{held[0].variant} in {telling.row_name(held[0].question)}"
    names = dict.fromkeys(verdict.variant for verdict in held)
    counts = {name: sum(verdict.variant == name for verdict in held) for name in names}
    told = [f"{counted(count, 'row')} of {name}" for name, count in counts.items()]
    return ", ".join(told)


def _effects(findings: Findings) -> Iterator[str]:
    """A sentence for each row of a stack or a factorial: the parts, their sizes with intervals, and their verdicts."""
    for section in effects.sections(findings):
        parts = [
            f"{name} {size.replace(' ', '')} ({span.replace(' … ', '% to ')}%{f', {word}' if word else ''})"
            for (name, _, size, span, *_), word in zip(section.lines, section.words, strict=True)
        ]
        yield f"{section.title}, {telling.row_name(section.question)}: {'; '.join(parts)}."


def _level(verdict: Verdict, findings: Findings) -> str:
    level = verdict.level if isfinite(verdict.level) else findings.options.alpha
    return f"{100 * (1 - level):.3g}"


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f}%" if isfinite(ratio) else "-"
