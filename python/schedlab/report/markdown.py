"""The report in GitHub's Markdown (GitHub Flavored Markdown Spec 0.29, tables), readable as it is too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from schedlab.analysis.counters import Change
from schedlab.analysis.verdicts import Question, Verdict
from schedlab.findings import Findings
from schedlab.report import counters, effects, printed, telling
from schedlab.report.numbers import change, figure, interval
from schedlab.report.verdict_words import evidence, evidence_headings, heading_of_interval, method, word

_MARKS = re.compile(r"([\\`*\[\]<>|]|\b_|_\b)")


def render(
    findings: Findings,
    store: Path | None = None,
    beside: Mapping[tuple[str, str, str], str] | None = None,
    named: Sequence[Change] = (),
) -> str:
    """The whole report; ``store`` is named in the commands that repeat it.

    ``beside`` are words on counters, ``named`` the changes of those that were asked for by their names.
    """
    return "\n".join(_lines(findings, store, beside or {}, named)) + "\n"


def escape(text: str) -> str:
    """Text as it is, whatever marks it holds; a line's end becomes a space."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> Iterator[str]:
    """The lines of a table whose columns stand below each other; ``right`` says which are aligned so."""
    cells = [list(head), *map(list, rows)]
    widths = [max(3, *(len(row[i]) for row in cells)) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        padded = (text.rjust(w) if r else text.ljust(w) for text, w, r in zip(row, widths, right, strict=True))
        return f"| {' | '.join(padded)} |"

    yield line(head)
    yield line(["-" * (width - 1) + ":" if r else "-" * width for width, r in zip(widths, right, strict=True)])
    yield from map(line, rows)


def _lines(
    findings: Findings, store: Path | None, beside: Mapping[tuple[str, str, str], str], named: Sequence[Change]
) -> Iterator[str]:
    yield f"# {escape(telling.subject(findings))}"
    if findings.run.design.question:
        yield f"\n> {escape(findings.run.design.question)}"
    yield ""
    yield from _facts(findings)
    if summary := telling.counted(findings):
        yield ""
        yield from (f"- {escape(line)}" for line in summary)
    for (workload, metric, unit, direction), verdicts in groupby(findings.verdicts, key=_kind):
        yield f"\n## {escape(workload)} {escape(metric)} [{escape(unit)}], {direction} is better\n"
        yield from _verdicts(list(verdicts), findings)
    yield from _paragraphs([telling.alone(findings)])
    if findings.verdicts:
        yield f"\n{escape(method(findings))}"
    yield from _effects(findings)
    yield from _printed(findings)
    yield from _list(
        "Counters that moved", [f"{' '.join(key[:2])}, {key[2]}: {words}" for key, words in beside.items()]
    )
    yield from _counters(named, findings)
    yield from _list("Warnings", [f"**{escape(w.seen)}** → {escape(w.todo)}" for w in findings.warnings], marked=True)
    yield from _list("Not compared throughout", list(telling.unmatched_lines(findings)))
    yield from _list("Failed trials", _failed(findings))
    yield from _list("Notes", list(findings.notes))
    yield "\n## To repeat it\n\n```sh"
    yield from telling.repeat(findings, store)
    yield "```"


def _facts(findings: Findings) -> Iterator[str]:
    """Where and how each column was measured."""
    runs = findings.runs
    if len(runs) == 1:
        run = runs[0]
        known = {"target": run.target, "machine": telling.machine(run), "fingerprint": run.fingerprint_hash}
        rows = [*known.items(), ("design", telling.design(run)), ("began", telling.began(run))]
        yield from table(["", ""], [[name, escape(value)] for name, value in rows if value], [False, False])
        return
    head = ["column", "what it is", "machine"]
    rows_of = [
        [escape(column.name), escape(telling.column_line(column)), escape(telling.machine(column.run)) or "-"]
        for column in findings.columns
    ]
    yield from table(head, rows_of, [False] * 3)


def _kind(verdict: Verdict) -> tuple[str, str, str, str]:
    question = verdict.question
    return question.workload, question.metric, question.unit, question.direction


def _verdicts(verdicts: Sequence[Verdict], findings: Findings) -> Iterator[str]:
    """One table for a workload's metric: each set of parameters with the baseline and the columns beside it."""
    evidence_names = evidence_headings(findings)
    head = ["parameters", "variant", "mean", "change", heading_of_interval(findings), *evidence_names, "verdict"]
    rows: list[list[str]] = []
    for question, of_row in groupby(verdicts, key=lambda verdict: verdict.question):
        held = list(of_row)
        rows.append(_baseline(question, held, findings))
        rows += [_row(verdict, findings) for verdict in held]
    yield from table(head, rows, [False, False, *[True] * (3 + len(evidence_names)), False])


def _baseline(question: Question, verdicts: Sequence[Verdict], findings: Findings) -> list[str]:
    empty = [""] * (2 + len(evidence_headings(findings)))
    return [
        escape(telling.parameters(question)) or "-",
        escape(findings.baseline),
        figure(verdicts[0].baseline_mean),
        *empty,
        "baseline",
    ]


def _row(verdict: Verdict, findings: Findings) -> list[str]:
    told, more = word(verdict, findings)
    return [
        "",
        escape(verdict.variant),
        figure(verdict.mean),
        change(verdict.ratio),
        interval(verdict.low, verdict.high),
        *evidence(verdict, findings),
        (f"**{told}**" if telling.shown(verdict) else told) + (f" {escape(more)}" if more else ""),
    ]


def _effects(findings: Findings) -> Iterator[str]:
    for title, of_title in groupby(effects.sections(findings), key=lambda section: section.title):
        yield f"\n## {title}"
        for section in of_title:
            asked = section.question
            yield f"\n### {escape(telling.row_name(asked))} [{escape(asked.unit)}], {asked.direction} is better\n"
            lines = [[escape(cell) for cell in line] for line in section.lines]
            yield from table(section.headings, lines, [False, False, True, True, True, False])
            yield from _paragraphs(section.remarks)
    yield from _paragraphs([effects.explanation(findings)])


def _printed(findings: Findings) -> Iterator[str]:
    for checked in findings.checked:
        yield f"\n## {escape(printed.title(checked))}\n"
        rows = [
            [printed.row_name(row), *(printed.cell(cell, gain) for cell, gain in zip(row.cells, gains, strict=True))]
            for row, gains in zip(checked.table.rows, checked.gains, strict=True)
        ]
        head = ["row", *map(escape, checked.table.columns)]
        yield from table(head, [[escape(cell) for cell in row] for row in rows], [False, *[True] * (len(head) - 1)])
        yield from _list("", printed.remarks(checked))
    if findings.checked:
        yield from _paragraphs([printed.explanation(findings.checked)])


def _counters(changes: Sequence[Change], findings: Findings) -> Iterator[str]:
    """A table of each row's counters, one variant below the other."""
    if not changes:
        return
    yield "\n## Counters"
    for (workload, parameters), of_row in groupby(changes, key=lambda each: (each.workload, each.parameters)):
        yield f"\n### {escape(f'{workload} {telling.spelled(parameters)}')}\n"
        rows = [
            [
                escape(each.variant),
                escape(counters.label(each)),
                counters.amount(each.counter, each.baseline_mean),
                counters.amount(each.counter, each.mean),
                counters.moved(each),
                counters.span(each),
            ]
            for each in of_row
        ]
        head = ["variant", "counter", escape(findings.baseline), "mean", "change", heading_of_interval(findings)]
        yield from table(head, rows, [False, False, True, True, True, True])
    one_sided = any(each.one_sided for each in changes)
    yield from _paragraphs([counters.EXPLANATION, counters.ONE_SIDED if one_sided else ""])


def _paragraphs(texts: Sequence[str]) -> Iterator[str]:
    yield from (f"\n{escape(text)}" for text in texts if text)


def _failed(findings: Findings) -> list[str]:
    lines = findings.failures.iter_rows(named=True)
    return [f"{row['position']}: {row['workload']} under {row['variant']}: {row['reason'].strip()}" for row in lines]


def _list(title: str, items: Sequence[str], *, marked: bool = False) -> Iterator[str]:
    if items:
        yield f"\n## {title}\n" if title else ""
        yield from (f"- {item if marked else escape(item)}" for item in items)
