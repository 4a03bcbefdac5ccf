"""The report for a commit message: origin, commands, a compact table, and the verdicts in two sentences.

The table has the form that scheduler changelogs have used since MMTests: a line for each row, for each column the
figure with its gain in parentheses, or between asterisks if the difference is significant. Positive is better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import wrap

from schedlab.notation.units import counted
from schedlab.report import effects, printed, words
from schedlab.report.document import Effect, Report, Row
from schedlab.report.numbers import UNKNOWN, figure, gain, gain_interval, improvement
from schedlab.report.render.layout import fitting
from schedlab.results.words import DIFFERENT, Word

WIDTH = 75
"""Columns of a commit message's body (Linux' Documentation/process/submitting-patches.rst)."""

NAMED = 3
"""Maximum number of rows that a sentence names for each column and verdict. Further rows are counted."""

GAIN = "gain "
"""Word before a gain in a sentence."""

_NO_GAIN = " " * 11
"""Blanks in place of a gain, after a figure without a gain."""


def render(report: Report) -> str:
    """Return plain text, at most 75 columns wide unless a name is wider."""
    return "\n\n".join(part for part in _parts(report) if part) + "\n"


def _parts(report: Report) -> Iterator[str]:
    yield "\n".join(_head(report))
    yield _fill(words.alone(report))
    for _, rows in groupby(report.rows, key=lambda row: (row.workload, row.metric)):
        yield from _tables(list(rows), report)
    for table in report.printed:
        yield "\n".join([_fill(printed.title(table)), *printed.lines(table, WIDTH)])
        yield "\n".join(_fill(remark, 2) for remark in printed.remarks(table))
    if report.printed:
        yield _fill(printed.explanation(report.printed))
    if report.rows:
        yield _legend(report)
        sentences = (
            _shown(report),
            _unconfirmed(report),
            _undecided(report),
            *_baselines(report),
            *_effects(report),
            *words.notes(report),
        )
        yield "\n".join(_fill(sentence) for sentence in sentences if sentence)
    yield "\n".join(_fill(f"Warning: {warning.seen}.") for warning in report.warnings)


def _head(report: Report) -> Iterator[str]:
    if len(report.runs) == 1:
        yield _fill(f"{words.subject(report)}{words.origin(report.run)}, {words.design(report.run)}")
        if machine := words.machine(report.run):
            yield _fill(f"Machine: {machine}", 2)
    else:
        for column in report.columns:
            yield _fill(f"{column.name}: {words.column_line(report, column)}", 2)
            if machine := words.machine(report.run_of(column)):
                yield _fill(f"  on {machine}", 4)
    # Commands are for copying, so that their lines are not broken.
    yield from (f"  $ {command}" for command in report.commands)


def _fill(text: str, indent: int = 0) -> str:
    lines = wrap(text, WIDTH, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def _tables(rows: Sequence[Row], report: Report) -> Iterator[str]:
    """Yield the table of a workload's metric, split into several tables if the columns are too wide."""
    first = rows[0]
    shared, labels = _labels(rows)
    fixed = f" {shared}" if shared else ""
    title = _fill(f"{first.workload}{fixed}, {words.measure(first.metric, first.unit)}, {words.better(first)}")
    by_label = {label: list(of_row) for label, of_row in groupby(rows, key=lambda row: labels[words.row_name(row)])}
    lines = [["", *by_label]]
    lines.append(
        [f"{report.baseline}{_NO_GAIN}", *(f"{figure(words.baseline_of(of))}{_NO_GAIN}" for of in by_label.values())]
    )
    for name in dict.fromkeys(row.variant for row in rows):
        control = any(row.control for row in rows if row.variant == name)
        cells = [
            next((_cell(row) for row in of if row.variant == name), f"{UNKNOWN}{_NO_GAIN}") for of in by_label.values()
        ]
        lines.append([f"{name} (A/A)" if control else name, *cells])
    widths = [max(map(len, column)) for column in lines]
    room = WIDTH - widths[0] - 2 - widths[1]
    for part in fitting([2 + width for width in widths[2:]], room):
        shown = [0, 1, *(2 + k for k in part)]
        yield "\n".join([title, *_aligned([lines[k] for k in shown], [widths[k] for k in shown])])


def _labels(rows: Sequence[Row]) -> tuple[str, dict[str, str]]:
    """Return the parameters that all rows share, and for each row's name its other parameters."""
    by_name = {words.row_name(row): row.parameters for row in rows}
    first = rows[0].parameters
    shared = {
        name: value
        for name, value in first.items()
        if len(by_name) == 1 or all(of_row.get(name, ...) == value for of_row in by_name.values())
    }

    def label(values: dict[str, object]) -> str:
        return words.parameters({name: value for name, value in values.items() if name not in shared})

    return words.parameters(shared), {name: label(of_row) or rows[0].metric for name, of_row in by_name.items()}


def _cell(row: Row) -> str:
    opening, closing = "**" if words.different(row) else "()"
    size = words.FROM_0 if words.rises_from_0(row) else improvement(row.ratio, row.direction)
    return f"{figure(row.value)} {opening}{size:>8}{closing}"


def _aligned(columns: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    for line in zip(*columns, strict=True):
        cells = (text.rjust(width) for text, width in zip(line[1:], widths[1:], strict=True))
        yield "  ".join([line[0].ljust(widths[0]), *cells]).rstrip()


def _legend(report: Report) -> str:
    judging = report.judging
    how, gain = "not measured in turn, Welch test on logarithms", "of geometric means"
    if report.paired:
        how = "paired by block, sign-flip test"
    if any(row.statistic == "aligned-ranks" for row in report.rows):
        how, gain = "paired by block, permutations with an A/A control", "pseudo-median against baseline and control"
    corrected = words.correction(judging.correction, words.family(report))
    gains = f"({words.GAIN_SIGN}), {gain}"
    return _fill(f"{gains}; *shown at alpha {judging.alpha:g}*: {how}, {corrected}.")


def _shown(report: Report) -> str:
    """State the differences with sizes and intervals, and the equivalent rows."""
    clauses = []
    for name in dict.fromkeys(row.variant for row in report.rows if not row.control):
        of_column = [row for row in report.rows if row.variant == name]
        verdicts = [
            f"{word} than {report.baseline} in {_largest(rows, report)}"
            for word in DIFFERENT
            if (rows := [row for row in of_column if row.verdict is word])
        ]
        if same := [row for row in of_column if row.verdict is Word.EQUIVALENT]:
            where = words.row_name(same[0]) if len(same) == 1 else f"{len(same)} rows"
            delta = f"{100 * report.judging.delta:g}%"
            remark = words.rare_events(same).replace(" %", "%")
            verdicts.append(f"{Word.EQUIVALENT} to {report.baseline} within {delta} in {where} ({remark})")
        if verdicts:
            clauses.append(f"{name} is {', and '.join(verdicts)}")
    return f"Shown: {'; '.join(clauses)}." if clauses else ""


def _largest(rows: Sequence[Row], report: Report) -> str:
    """Name the largest differences with sizes and intervals, and count the remaining differences."""
    largest = sorted(rows, key=words.extent, reverse=True)
    named = [
        f"{words.row_name(row)} ({_gain(row)}, {_level(row, report)}% interval "
        f"{gain_interval(row.low, row.high, row.direction)})"
        for row in largest[:NAMED]
    ]
    rest = largest[NAMED:]
    if not rest:
        return ", ".join(named)
    low, high = (_gain(row) for row in (rest[-1], rest[0]))
    span = low if low == high else f"{low} to {high.removeprefix(GAIN)}"
    return f"{', '.join(named)} and {counted(len(rest), 'more row')} ({span})"


def _gain(row: Row) -> str:
    """Return the gain of a row: ``gain +9.2%``, or ``from 0``."""
    return words.FROM_0 if words.rises_from_0(row) else f"{GAIN}{gain(row.ratio, row.direction)}"


def _unconfirmed(report: Report) -> str:
    """Name the differences that something else may explain, with the reasons."""
    rows = [row for row in report.rows if row.verdict is Word.UNCONFIRMED and not row.control]
    reasons = words.listed(list(dict.fromkeys(row.reason for row in rows))).replace(" %", "%")
    return f"Unconfirmed: {_where(rows)}, because {reasons}." if rows else ""


def _undecided(report: Report) -> str:
    """Name the inconclusive rows with their minimum detectable effects."""
    rows = [row for row in report.rows if row.verdict is Word.INCONCLUSIVE and not row.control]
    if not rows:
        return ""
    text = f"Not shown, neither a difference nor equivalence: {_where(rows)}"
    sizes = words.mde_range(rows).replace(" %", "%")
    if not sizes:
        return f"{text}; there were too few figures."
    span = f"{sizes}, depending on the row," if " to " in sizes else sizes
    unknown = sum(row.detectable is None for row in rows)
    besides = f"; {unknown} of these rows had too few figures" if unknown else ""
    return f"{text}; a change of {span} would have been found four times in five{besides}."


def _baselines(report: Report) -> Iterator[str]:
    """Yield a sentence for each cell whose gain is against another mean of the baseline than the table prints."""
    for name, of_row in groupby(report.rows, key=words.row_name):
        rows = list(of_row)
        for row in rows:
            if remark := words.other_baseline(row, rows):
                yield f"{row.variant} in {name}: {remark.strip('()')}."


def _where(rows: Sequence[Row]) -> str:
    """Return ``3 rows of batch, 1 row of slice``, or the name of a single row."""
    if len(rows) == 1:
        return f"{rows[0].variant} in {words.row_name(rows[0])}"
    names = [row.variant for row in rows]
    return ", ".join(f"{counted(names.count(name), 'row')} of {name}" for name in dict.fromkeys(names))


def _effects(report: Report) -> Iterator[str]:
    """Yield a sentence for each row of a stack or a factorial, with sizes, intervals and verdicts of its parts."""
    for section in effects.sections(report):
        clauses = []
        for line in section.lines:
            effect, direction = line.effect, section.row.direction
            verdict = f", {line.word}" if line.word else ""
            if isinstance(effect, Effect) and line.word is Word.EQUIVALENT:
                verdict += f", {words.rare_event(effect.event_share).replace(' %', '%')}"
            size, span = gain(effect.ratio, direction), gain_interval(effect.low, effect.high, direction)
            clauses.append(f"{line.name} {size} ({span}{verdict})")
        yield f"{section.title}, {words.row_name(section.row)}, gain: {'; '.join(clauses)}."


def _level(row: Row, report: Report) -> str:
    return f"{100 * (1 - (row.level if row.level is not None else report.judging.alpha)):.3g}"
