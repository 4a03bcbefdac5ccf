"""The report for a terminal, 80 columns wide or more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from schedlab.analysis.verdicts import Word
from schedlab.report import counters, effects, printed, words
from schedlab.report.document import Counter, PrintedTable, Report, Row
from schedlab.report.numbers import figure, interval
from schedlab.report.render.columns import Column, Columns, Kind, fold_words

LISTED = 10
"""Most lines of a list of failed trials or unmatched rows. The JSON report contains all failures."""

_STYLES = {
    Word.BETTER: "green",
    Word.WORSE: "red",
    Word.EQUIVALENT: "cyan",
    Word.INCONCLUSIVE: "dim",
    Word.UNCONFIRMED: "yellow",
}


def render(report: Report) -> RenderableType:
    """Return the report as one renderable."""
    return Group(*_parts(report))


def to_text(report: Report, width: int) -> str:
    """Return the report as plain text of this width, without spaces at the ends of lines."""
    return to_text_of(render(report), width)


def to_text_of(content: RenderableType, width: int) -> str:
    """Return a renderable as plain text of this width, without spaces at the ends of lines."""
    console = plain_console(width)
    with console.capture() as capture:
        console.print(content)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def plain_console(width: int) -> Console:
    """Return a console for pipes and files, without colours and escape sequences."""
    return Console(width=width, no_color=True, highlight=False, markup=False, force_terminal=False)


@dataclass(frozen=True)
class _Prose:
    """A paragraph, folded between words but not between a figure and its unit."""

    text: Text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield fold_words(self.text, options.max_width)


def _parts(report: Report) -> Iterator[RenderableType]:
    yield _heading(report)
    if counts := words.counts(report):
        yield Text("\n" + "\n".join(counts))
    beside = counters.beside(report)
    for _, of_row in groupby(report.rows, key=words.row_name):
        rows = list(of_row)
        yield Text()
        yield _row_title(rows[0])
        yield _indented(_row_table(rows, report))
        for row in rows:
            if moved := beside.get((row.workload, words.parameters(row.parameters), row.variant)):
                yield _indented(Text(f"{row.variant}: {moved}", style="dim"))
    if remark := words.alone(report):
        yield Text(f"\n{remark}")
    if report.rows:
        yield Text()
        yield _Prose(Text(words.method(report), style="dim"))
    yield from _effects(report)
    yield from _printed(report)
    yield from _list(words.UNMATCHED, list(words.unmatched(report)), "dim")
    failures = [line.partition("\n")[0] for line in words.failures(report)]
    yield from _list(f"Failed trials: {len(failures)}", failures, "red")
    if report.warnings:
        yield Text("\nWarnings", style="bold")
    for (_, todo), of_kind in groupby(report.warnings, key=lambda warning: (warning.kind, warning.todo)):
        yield from (_warning(warning.seen) for warning in of_kind)
        yield _indented(Text(f"→ {todo}", style="dim"))
    if notes := words.notes(report):
        yield Text("\n" + "\n".join(notes), style="dim")
    if report.counters is not None:
        yield from _counters(report)


def _heading(report: Report) -> RenderableType:
    text, run = Text(words.subject(report), style="bold"), report.run
    if run.question:
        text.append(f"\n{run.question}", style="italic not bold")
    if len(report.runs) == 1:
        where = ", ".join(part for part in (run.target, words.machine(run)) if part)
        fingerprint = f" (machine {run.fingerprint})" if run.fingerprint != "-" else ""
        place = f"{words.began(run)} on {where}{fingerprint}\n" if run.measured else ""
        text.append(f"\n{place}{words.design(run)}", style="not bold dim")
        return text
    names, lines = [], []
    for column in report.columns:
        machine = words.machine(report.run_of(column))
        names.append(Text(column.name))
        lines.append(Text(f"{words.column_line(report, column)}{f'; {machine}' if machine else ''}", style="dim"))
    table = [Column("column", names, "name"), Column("description", lines, "remark")]
    return Group(text, _indented(Columns(table)))


def _row_title(row: words.HasUnit) -> Text:
    metric = f"{words.parameters(row.parameters)}  {row.metric}" if row.parameters else f" {row.metric}"
    return Text.assemble((f"{row.workload} ", "bold"), f"{words.measure(metric, row.unit)}, {words.better(row)}")


def _row_table(rows: Sequence[Row], report: Report) -> Columns:
    evidence = words.evidence_headings(report)
    headings = ["variant", "mean", "change", words.interval_heading(report), *evidence, "verdict"]
    empty = [""] * (2 + len(evidence))
    lines: list[list[str | Text]] = [
        [report.baseline, figure(words.baseline_of(rows)), *empty, Text("baseline", style="dim")]
    ]
    for row in rows:
        size = words.size_of_change(row), interval(row.low, row.high)
        verdict = _verdict(row, report, words.other_baseline(row, rows))
        lines.append([row.variant, figure(row.value), *size, *words.evidence(row, report), verdict])
    return _columns(headings, lines)


def _columns(headings: Sequence[str], lines: Sequence[Sequence[str | Text]], names: int = 1) -> Columns:
    """Return a table of ``names`` columns of names, then numbers, and a last column of remarks."""
    columns = []
    for place, heading in enumerate(headings):
        cells = [cell if isinstance(cell, Text) else Text(cell) for cell in (line[place] for line in lines)]
        kind: Kind = "name" if place < names else "remark" if place == len(headings) - 1 else "number"
        columns.append(Column(heading, cells, kind))
    return Columns(columns)


def _verdict(row: Row, report: Report, remark: str) -> Text:
    word, remarks = words.verdict(row, report)
    style = _STYLES[row.verdict]
    if row.control:
        style = "yellow" if words.control_differs(row, report) else "dim"
    text = Text.assemble((word, style))
    return text.append(f" {' '.join(filter(None, (remarks, remark)))}", style="dim") if remarks or remark else text


def _effects(report: Report) -> Iterator[RenderableType]:
    for title, of_title in groupby(effects.sections(report), key=lambda section: section.title):
        yield Text(f"\n{title}", style="bold")
        for section in of_title:
            yield Text()
            yield _row_title(section.row)
            lines: list[list[str | Text]] = [
                [*line.cells[:-1], Text(line.verdict, style=_STYLES[line.word] if line.word else "")]
                for line in section.lines
            ]
            yield _indented(_columns(section.headings, lines, names=effects.NUMERIC.start))
            yield from (_indented(Text(remark, style="dim")) for remark in section.remarks)
    if explanation := effects.explanation(report):
        yield Text(f"\n{explanation}", style="dim")


def _printed(report: Report) -> Iterator[RenderableType]:
    for table in report.printed:
        yield Text(f"\n{printed.title(table)}", style="bold")
        yield _Lines(table)
        for remark in printed.remarks(table):
            yield Text(remark, style="yellow" if remark.startswith("!") else "dim")
    if report.printed:
        yield Text(f"\n{printed.explanation(report.printed)}", style="dim")


@dataclass(frozen=True)
class _Lines:
    """Renderable of a printed table. The layout depends on the width of the console."""

    table: PrintedTable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in printed.lines(self.table, options.max_width):
            yield Text(line, no_wrap=True, overflow="ignore")


def _counters(report: Report) -> Iterator[RenderableType]:
    """Yield a table of counters for each row and variant, and remarks on counters that could not be read."""
    shown = counters.shown(report)
    yield Text("\nCounters", style="bold")
    for (workload, parameters), of_row in groupby(shown, key=counters.row_key):
        yield Text.assemble("\n", (f"{workload} ", "bold"), parameters)
        for variant, of_variant in groupby(of_row, key=lambda counter: counter.variant):
            yield _indented(_counter_table(variant, of_variant, report))
    if not shown:
        yield Text("\nNo counter can be compared.")
    yield from (Text(f"\n{explanation}", style="dim") for explanation in counters.explanations(shown))
    yield from (_warning(note) for note in report.run.notes)


def _counter_table(variant: str, of_variant: Iterator[Counter], report: Report) -> Columns:
    headings = [variant, "baseline", "mean", "change", f"{100 * (1 - report.judging.alpha):g} % interval"]
    lines = [
        [Text(cell, style="" if counter.clear else "dim") for cell in counters.cells(counter)] for counter in of_variant
    ]
    return Columns(
        [
            Column(heading, [line[place] for line in lines], "number" if place else "name")
            for place, heading in enumerate(headings)
        ]
    )


def _indented(part: RenderableType) -> Padding:
    return Padding(part, (0, 0, 0, 2))


def _warning(text: str) -> Text:
    return Text.assemble(("! ", "yellow"), text)


def _list(title: str, lines: Sequence[str], style: str) -> Iterator[RenderableType]:
    """Yield a title and the first :data:`LISTED` lines; yield nothing for an empty list."""
    if lines:
        yield Text(f"\n{title}", style="bold")
        yield from (Text(line, style=style) for line in lines[:LISTED])
        if len(lines) > LISTED:
            yield Text(f"and {len(lines) - LISTED} more", style="dim")
