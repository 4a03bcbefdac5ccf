"""The report for a terminal, 80 columns wide or more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from schedlab.analysis.verdicts import Word
from schedlab.report import counters, effects, printed, words
from schedlab.report.document import Counter, PrintedTable, Report, Row
from schedlab.report.numbers import change, figure, interval

LISTED = 10
"""Most lines of a list of failed trials or unmatched rows. The JSON report has all of them."""

NAMES = 22
"""Width of a variant's name beyond which it is folded."""

COUNTER_NAMES = 23
"""Width of a counter's label, which leaves room for four columns of numbers in 80."""

_STYLES = {Word.BETTER: "green", Word.WORSE: "red", Word.EQUIVALENT: "cyan", Word.INCONCLUSIVE: "yellow"}


def render(report: Report) -> RenderableType:
    """Return the report as one renderable."""
    return Group(*_parts(report))


def to_text(report: Report, width: int) -> str:
    """Return the report as plain text of this width, without spaces at the ends of lines."""
    console = plain_console(width)
    with console.capture() as capture:
        console.print(render(report))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"


def plain_console(width: int) -> Console:
    """Return a console for pipes and files, without colours and escape sequences."""
    return Console(width=width, no_color=True, highlight=False, markup=False, force_terminal=False)


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
        yield Text(f"\n{words.method(report)}", style="dim")
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
    table = _plain_table()
    table.add_column("column", overflow="fold", max_width=NAMES)
    table.add_column("description", overflow="fold")
    for column in report.columns:
        machine = words.machine(report.run_of(column))
        line = f"{words.column_line(report, column)}{f'; {machine}' if machine else ''}"
        table.add_row(column.name, Text(line, style="dim"))
    return Group(text, _indented(table))


def _row_title(row: words.HasUnit) -> Text:
    metric = f"{words.parameters(row.parameters)}  {row.metric}" if row.parameters else f" {row.metric}"
    return Text.assemble((f"{row.workload} ", "bold"), f"{metric} [{row.unit}], {words.better(row)}")


def _row_table(rows: Sequence[Row], report: Report) -> Table:
    table = _plain_table()
    table.add_column("variant", overflow="fold", max_width=NAMES)
    evidence = words.evidence_headings(report)
    for name in ("mean", "change", words.interval_heading(report), *evidence):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", overflow="fold")
    empty = [""] * (2 + len(evidence))
    table.add_row(report.baseline, figure(rows[0].baseline), *empty, Text("baseline", style="dim"))
    for row in rows:
        size = change(row.ratio), interval(row.low, row.high)
        table.add_row(row.variant, figure(row.value), *size, *words.evidence(row, report), _verdict(row, report))
    return table


def _verdict(row: Row, report: Report) -> Text:
    word, remarks = words.verdict(row, report)
    if row.control:
        return Text(word, style="yellow" if words.control_differs(row, report) else "dim")
    text = Text(word, style=_STYLES[row.verdict])
    return text.append(f" {remarks}", style="dim") if remarks else text


def _effects(report: Report) -> Iterator[RenderableType]:
    for title, of_title in groupby(effects.sections(report), key=lambda section: section.title):
        yield Text(f"\n{title}", style="bold")
        for section in of_title:
            yield Text()
            yield _row_title(section.row)
            table = _plain_table()
            for name in section.headings:
                numeric = name in section.headings[effects.NUMERIC]
                table.add_column(name, justify="right" if numeric else "left", no_wrap=numeric, overflow="fold")
            for line in section.lines:
                style = _STYLES[line.word] if line.word else ""
                table.add_row(*line.cells[:-1], Text(line.verdict, style=style))
            yield _indented(table)
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
    """Renderable of a printed table. Its layout depends on the width of the console."""

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


def _counter_table(variant: str, of_variant: Iterator[Counter], report: Report) -> Table:
    table = _plain_table()
    table.add_column(Text(variant, style="not dim"), overflow="fold", width=COUNTER_NAMES)
    for name in ("baseline", "mean", "change"):
        table.add_column(name, justify="right", no_wrap=True, min_width=9)
    level = f"{100 * (1 - report.judging.alpha):g} % interval"
    table.add_column(level, justify="right", no_wrap=True, min_width=15)
    for counter in of_variant:
        table.add_row(*counters.cells(counter), style="" if counter.clear else "dim")
    return table


def _plain_table() -> Table:
    return Table(box=None, padding=(0, 2, 0, 0), show_edge=False, pad_edge=False, header_style="dim")


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
