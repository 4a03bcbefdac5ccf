"""The report in GitHub's Markdown (GitHub Flavored Markdown Spec 0.29, tables), readable without rendering too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from schedlab.report import counters, effects, printed, words
from schedlab.report.document import Report, Row
from schedlab.report.numbers import figure, interval

_MARKS = re.compile(r"([\\`*\[\]<>|]|\b_|_\b)")


def render(report: Report) -> str:
    """Return the complete report."""
    return "\n".join(_lines(report)) + "\n"


def escape(text: str) -> str:
    """Escape the marks in a text; a line's end becomes a space."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> Iterator[str]:
    """Yield the lines of an aligned table; ``right`` lists the columns that are aligned to the right."""
    cells = [list(head), *map(list, rows)]
    widths = [max(3, *(len(row[i]) for row in cells)) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        padded = (text.rjust(w) if r else text.ljust(w) for text, w, r in zip(row, widths, right, strict=True))
        return f"| {' | '.join(padded)} |"

    yield line(head)
    yield line(["-" * (width - 1) + ":" if r else "-" * width for width, r in zip(widths, right, strict=True)])
    yield from map(line, rows)


def _lines(report: Report) -> Iterator[str]:
    yield f"# {escape(words.subject(report))}"
    if report.run.question:
        yield f"\n> {escape(report.run.question)}"
    yield ""
    yield from _facts(report)
    if counts := words.counts(report):
        yield ""
        yield from (f"- {escape(line)}" for line in counts)
    for heading, rows in groupby(report.rows, key=_heading):
        yield f"\n## {heading}\n"
        yield from _verdicts(list(rows), report)
    yield from _paragraphs([words.alone(report)])
    if report.rows:
        yield f"\n{escape(words.method(report))}"
    yield from _effects(report)
    yield from _printed(report)
    if not report.counters_named:
        moved = counters.beside(report).items()
        yield from _list("Counters that moved", [f"{' '.join(key[:2])}, {key[2]}: {text}" for key, text in moved])
    yield from _counters(report)
    warnings = [f"**{escape(warning.seen)}** → {escape(warning.todo)}" for warning in report.warnings]
    yield from _list("Warnings", warnings, escaped=True)
    yield from _list(words.UNMATCHED, list(words.unmatched(report)))
    yield from _list("Failed trials", words.failures(report))
    yield from _list("Notes", words.notes(report))
    yield "\n## To repeat the report\n\n```sh"
    yield from report.commands
    yield "```"


def _facts(report: Report) -> Iterator[str]:
    """Yield a table with the place and the design of each column's measurement."""
    if len(report.runs) == 1:
        run = report.run
        facts = {
            "target": run.target,
            "machine": words.machine(run),
            "fingerprint": run.fingerprint,
            "design": words.design(run),
            "began": words.began(run),
        }
        yield from table(["", ""], [[name, escape(value)] for name, value in facts.items() if value], [False, False])
        return
    rows = [
        [
            escape(column.name),
            escape(words.column_line(report, column)),
            escape(words.machine(report.run_of(column))) or "-",
        ]
        for column in report.columns
    ]
    yield from table(["column", "description", "machine"], rows, [False] * 3)


def _heading(row: Row) -> str:
    return f"{escape(row.workload)} {escape(words.measure(row.metric, row.unit))}, {words.better(row)}"


def _verdicts(rows: Sequence[Row], report: Report) -> Iterator[str]:
    """Yield the table of a workload's metric: for each set of parameters the baseline and the other columns."""
    evidence = words.evidence_headings(report)
    head = ["parameters", "variant", "mean", "change", words.interval_heading(report), *evidence, "verdict"]
    lines: list[list[str]] = []
    for _, of_row in groupby(rows, key=words.row_name):
        verdicts = list(of_row)
        first = verdicts[0]
        parameters = escape(words.parameters(first.parameters)) or "-"
        empty = [""] * (2 + len(evidence))
        lines.append([parameters, escape(report.baseline), figure(words.baseline_of(verdicts)), *empty, "baseline"])
        lines += [_cells(verdict, report, words.other_baseline(verdict, verdicts)) for verdict in verdicts]
    yield from table(head, lines, [False, False, *[True] * (3 + len(evidence)), False])


def _cells(row: Row, report: Report, remark: str) -> list[str]:
    word, remarks = words.verdict(row, report)
    remarks = " ".join(filter(None, (remarks, remark)))
    return [
        "",
        escape(row.variant),
        figure(row.value),
        words.size_of_change(row),
        interval(row.low, row.high),
        *words.evidence(row, report),
        (f"**{word}**" if words.different(row) else word) + (f" {escape(remarks)}" if remarks else ""),
    ]


def _effects(report: Report) -> Iterator[str]:
    for title, of_title in groupby(effects.sections(report), key=lambda section: section.title):
        yield f"\n## {title}"
        for section in of_title:
            row = section.row
            yield f"\n### {escape(words.measure(words.row_name(row), row.unit))}, {words.better(row)}\n"
            lines = [[escape(cell) for cell in line.cells] for line in section.lines]
            yield from table(section.headings, lines, [False, False, True, True, True, False])
            yield from _paragraphs(section.remarks)
    yield from _paragraphs([effects.explanation(report)])


def _printed(report: Report) -> Iterator[str]:
    for figures in report.printed:
        yield f"\n## {escape(printed.title(figures))}\n"
        rows = [[escape(name), *map(escape, cells)] for name, cells in printed.texts(figures)]
        yield from table(["row", *map(escape, figures.columns)], rows, [False, *[True] * len(figures.columns)])
        yield from _list("", printed.remarks(figures))
    if report.printed:
        yield from _paragraphs([printed.explanation(report.printed)])


def _counters(report: Report) -> Iterator[str]:
    """Yield a table of each row's counters, if the user named counters."""
    shown = counters.shown(report) if report.counters_named else []
    if not shown:
        return
    yield "\n## Counters"
    head = ["variant", "counter", escape(report.baseline), "mean", "change", words.interval_heading(report)]
    for key, of_row in groupby(shown, key=counters.row_key):
        yield f"\n### {escape(' '.join(key))}\n"
        rows = []
        for counter in of_row:
            label, *cells = counters.cells(counter)
            rows.append([escape(counter.variant), escape(label), *cells])
        yield from table(head, rows, [False, False, True, True, True, True])
    yield from _paragraphs(counters.explanations(shown))


def _paragraphs(texts: Sequence[str]) -> Iterator[str]:
    yield from (f"\n{escape(text)}" for text in texts if text)


def _list(title: str, items: Sequence[str], *, escaped: bool = False) -> Iterator[str]:
    if items:
        yield f"\n## {title}\n" if title else ""
        yield from (f"- {item if escaped else escape(item)}" for item in items)
