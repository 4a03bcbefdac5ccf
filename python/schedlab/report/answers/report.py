"""The report of a run, or of columns of several runs: ``report``, ``compare``, ``run`` and ``try``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from schedlab.report import printed, summaries, words
from schedlab.report.answer import (
    CONTROL,
    QUIET,
    Answer,
    Cell,
    Code,
    Column,
    Line,
    Listing,
    Next,
    Paragraph,
    Part,
    Section,
    Setting,
    Span,
    Table,
    Warning,
)
from schedlab.report.answers import report_details as details
from schedlab.report.answers.report_parts import counters, curves, machine, parts_of_change
from schedlab.report.answers.report_sentences import sentences
from schedlab.report.document import Report, Row
from schedlab.report.numbers import UNKNOWN, figure, interval, p_value
from schedlab.results.words import Word

LISTED = 10
"""Most lines of a list of failed trials or unmatched rows. The JSON report contains all."""


def compose(report: Report) -> Answer:
    """Return the answer that a report gives."""
    return Answer(
        kind="report",
        title=words.subject(report),
        question=report.run.question,
        badges=list(_badges(report)),
        facts=list(_facts(report)),
        sentences=sentences(report),
        warnings=[Warning(warning.kind, warning.seen, warning.todo) for warning in report.warnings],
        settings=_settings(report),
        parts=list(_parts(report)),
        commands=list(_next(report)),
        data=report,
        shared=details.shared(report) if report.plotted else {},
    )


def _badges(report: Report) -> Iterator[str]:
    yield from dict.fromkeys(run.kind for run in report.runs if words.origin(run))
    if report.run.quick:
        yield "quick"
    yield from dict.fromkeys(run.state for run in report.runs if run.state != "complete")


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    run = report.run
    if len(report.runs) > 1:
        for column in report.columns:
            where = words.machine(report.run_of(column))
            yield column.name, f"{words.column_line(report, column)}{f'; {where}' if where else ''}"
        return
    where = ", ".join(filter(None, (run.target, words.machine(run))))
    fingerprint = f" (machine {run.fingerprint})" if run.fingerprint != "-" else ""
    if run.measured:
        yield "measured", f"{words.began(run)} on {where}{fingerprint}"
    yield "design", words.design(run)


def _settings(report: Report) -> list[Setting]:
    """Return what the columns set; nothing if no column is known to set anything, as in most imports."""
    return [
        Setting(column.name, "the baseline again (A/A control)" if column.control else column.sets)
        for column in report.columns
        if any(column.sets for column in report.columns)
    ]


def _next(report: Report) -> Iterator[Next]:
    """Yield what to run next, the most useful first."""
    run = report.run
    if not report.paired:
        return
    open_rows = [row for row in report.rows if row.verdict is Word.INCONCLUSIVE and not row.control]
    needed = max((row.blocks_needed for row in open_rows if row.blocks_needed is not None), default=None)
    again = report.again
    if summaries.emulated_times(report):
        yield Next(f"{again} --deterministic", "times of an emulated machine mean nothing: count instructions instead")
    elif report.doubt:
        yield Next("schedlab doctor", f"{report.doubt}: find out what disturbs the machine, then measure again")
    elif needed is not None and needed > run.blocks:
        delta = f"{100 * report.judging.delta:g} %"
        yield Next(f"{again} --blocks {needed}", f"find changes of {delta} in the inconclusive rows")
    if run.state == "interrupted":
        yield Next(f"{again} --resume", "measure the trials that are missing")


def _parts(report: Report) -> Iterator[Part]:
    if report.rows:
        yield summary(report)
    elif report.levels:
        yield _levels(report)
    if report.rows:
        # Markdown leaves out what is folded, and a user who asks for raw p asks for this table.
        yield Section("Results", [_results(report)], key="results", folded=not report.raw_p, opened=True)
    yield from parts_of_change(report)
    yield from _printed(report)
    if unmatched := list(words.unmatched(report)):
        yield Section(words.UNMATCHED, [Listing(unmatched, style="quiet", most=LISTED)], key="unmatched")
    if failures := words.failures(report):
        title = f"Failed trials: {len(failures)}"
        yield Section(title, [Listing(failures, style="warning", most=LISTED)], key="failures")
    yield from curves(report)
    yield from details.rows(report)
    yield from counters(report)
    if notes := words.notes(report):
        yield Section("Notes", [Listing(notes, style="quiet")], key="notes")
    yield from machine(report)
    yield Section("To repeat this report", [Code(report.commands)], key="repeat")


def summary(report: Report) -> Table:
    """Return the table of rows and variants; a row that is tied to an earlier row stands in that row."""
    names = [column.name for column in report.columns[1:] if not column.control]
    shared = summaries.shared_parameters(report.rows)
    compared = [row for row in report.rows if not row.control]
    by_row = [(name, list(rows)) for name, rows in groupby(compared, key=words.row_name)]
    first = [rows for _, rows in by_row if not rows[0].tied_to]
    lines = [_summary_line(rows, names, shared, compared) for rows in first]
    columns = [Column("row", "name"), Column(report.baseline), *(Column(name, "remark") for name in names)]
    return Table(columns, lines, notes=list(summaries.summary_notes(report, shared)), more="rows")


def _summary_line(rows: Sequence[Row], names: Sequence[str], shared: summaries.Shared, compared: Sequence[Row]) -> Line:
    tied = [row for row in compared if summaries.is_tied(row, rows[0])]
    baseline = [figure(words.baseline_of(rows)), *dict.fromkeys(figure(row.baseline) for row in tied)]
    return Line([
        Cell(summaries.summary_name(rows[0], shared, tied)),
        Cell(" and ".join(baseline)),
        *(_summary_cell(name, rows, tied) for name in names),
    ])  # fmt: skip


def _summary_cell(name: str, rows: Sequence[Row], tied: Sequence[Row]) -> Cell:
    row = next((row for row in rows if row.variant == name), None)
    if row is None:
        return Cell("-", tone=QUIET)
    sizes = [words.size_of_change(each) for each in (row, *tied) if each.variant == name]
    changes = " and ".join(size for size in sizes if size != UNKNOWN)
    mde = f"({words.mde(row.detectable)})" if row.verdict is Word.INCONCLUSIVE and not row.reason else ""
    remark = " ".join(filter(None, (mde, words.other_baseline(row, rows))))
    return Cell(f"{changes} {row.verdict}".strip(), tone=row.verdict, remark=remark)


def _levels(report: Report) -> Table:
    lines = [
        Line([Cell(words.row_name(level)), Cell(level.variant), Cell(level.unit),
              Cell(figure(level.mean)), Cell(figure(level.spread, 2)), Cell(str(level.n))])
        for level in report.levels
    ]  # fmt: skip
    columns = [Column("row", "name"), Column("variant", "name"), Column("unit", "name")]
    return Table([*columns, Column("mean"), Column("standard deviation"), Column("blocks")], lines,
                 notes=["mean: geometric over the blocks."])  # fmt: skip


def _results(report: Report) -> Table:
    """Return the table of all verdicts with their evidence."""
    evidence = words.evidence_headings(report)
    columns = [
        Column("row", "name", group=True),
        Column("metric", "remark", group=True),
        Column(report.baseline, group=True),
        Column("variant", "name"),
        Column(summaries.value_heading(report.rows)),
        Column("change"),
        Column(words.interval_heading(report)),
        Column("change against the baseline", "bar", axis="ratio"),
        *(Column(heading) for heading in evidence),
        Column("verdict", "remark"),
    ]
    lines = []
    for key, of_row in groupby(report.rows, key=words.row_name):
        rows = list(of_row)
        lines += [_result(row, rows, key, report) for row in rows]
    return Table(columns, lines, notes=[words.method(report)], delta=report.judging.delta)


def _result(row: Row, rows: Sequence[Row], key: str, report: Report) -> Line:
    word, remarks = words.verdict(row, report)
    remark = " ".join(filter(None, (remarks, words.other_baseline(row, rows))))
    tone = CONTROL if row.control else row.verdict
    name, size = f"{row.workload} {words.parameters(row.parameters)}".strip(), words.size_of_change(row)
    cells = [
        Cell(name, link=summaries.link(row, report)),
        Cell(f"{words.measure(row.metric, row.unit)}, {words.better(row)}"),
        Cell(figure(words.baseline_of(rows)), value=row.baseline),
        Cell(row.variant),
        Cell(figure(row.value), value=row.value, remark=summaries.statistic_of_value(row, report.rows)),
        Cell(size, value=row.ratio, tone="" if row.control or size == UNKNOWN else tone),
        Cell(interval(row.low, row.high)),
        Cell("", span=Span(row.low, row.high, row.ratio), tone=tone),
        Cell(p_value(row.p_adjusted), value=row.p_adjusted),
        *(Cell(text) for text in words.evidence(row, report)[1:]),
        Cell(word, tone=tone, remark=remark),
    ]
    facets = {"workload": row.workload, "metric": row.metric, "variant": row.variant,
              "verdict": words.CONTROL if row.control else row.verdict}  # fmt: skip
    return Line(cells, key, CONTROL if row.control else "", facets)


def _printed(report: Report) -> Iterator[Section]:
    if not report.printed:
        return
    parts: list[Part] = []
    for table in report.printed:
        lines = [Line([Cell(name), *map(Cell, cells)]) for name, cells in printed.texts(table)]
        columns = [Column("row", "name"), *(Column(name) for name in table.columns)]
        parts += [Table(columns, lines, title=printed.title(table), notes=printed.remarks(table))]
    parts.append(Paragraph(printed.explanation(report.printed), "quiet"))
    yield Section("Printed tables", parts, key="printed")
