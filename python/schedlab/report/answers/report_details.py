"""Row by row: the values behind the verdicts, as plots and figures of a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schedlab.report import summaries, words
from schedlab.report.answer import CONTROL, Cell, Column, Line, Paragraph, Part, Plot, Section, Table
from schedlab.report.answers.report_curves import curves
from schedlab.report.answers.report_payload import payload
from schedlab.report.document import PlottedRow, Report, Row
from schedlab.report.numbers import UNKNOWN, change, figure, interval, p_value

OPENED = 4
"""Rows whose plots are open at first, among rows without a curve over a parameter."""


def shared(report: Report) -> dict[str, Any]:
    """Return the data that the plots of all rows share."""
    return payload(report.plotted, curves(report.plotted), report.columns)


def rows(report: Report) -> Iterator[Section]:
    """Yield the section of all rows, and the course of a run; nothing without values."""
    if not report.plotted:
        return
    drawn = {point.row.key for curve in curves(report.plotted) for point in curve.points}
    opened = set([row.key for row in report.plotted if row.key not in drawn][:OPENED])
    parts = [_row(row, report, row.key in opened) for row in report.plotted]
    yield Section("Row by row", parts, key="details", page_only=True)
    if report.paired:
        run = report.run
        about = (
            f"{run.recorded} of {run.planned} trials were recorded. Each dot is the deviation of a block's value from "
            "its variant's mean in its row. A slope is drift. A step is a change of the machine."
        )
        plot = Plot("course", "All rows in the order of trials.")
        yield Section("Course of the run", [Paragraph(about, "quiet"), plot], key="course", folded=True, page_only=True)


def _row(row: PlottedRow, report: Report, opened: bool) -> Section:
    measure = words.measure(row.metric, row.unit)
    title = f"{row.workload} {words.parameters(row.parameters)}".strip()
    parts: list[Part] = []
    if row.verdicts:
        parts.append(_figures(row, report))
    if row.values:
        samples = "samples" if report.sampled else "block means"
        joined = "; a thin line connects the means of a block" if report.paired else ""
        parts.append(Plot("blocks" if report.paired else "dots", f"Block means{joined}.", key=row.key))
        parts.append(Plot("distribution", f"Distribution of {samples}: the share at or below each value.", key=row.key))
        if report.paired:
            parts.append(Plot("order", "In the order of trials: a slope is drift.", key=row.key))
        parts.append(_values(row, report))
    else:
        parts.append(Paragraph("No value was measured.", "quiet"))
    outcome = [
        Cell(f"{judged.variant} {words.size_of_change(judged)}", tone=judged.verdict)
        for judged in row.verdicts
        if not judged.control
    ]
    label = f" {row.label}" if row.label else ""
    return Section(f"{title}, {measure}{label}", parts, key=row.key, folded=True, opened=opened, outcome=outcome)


def _figures(row: PlottedRow, report: Report) -> Table:
    figures = [_cells(judged, report) for judged in row.verdicts]
    lines = [
        Line([Cell(judged.variant), *map(Cell, of_column.values()), _verdict(judged, report)],
             tone=CONTROL if judged.control else "")
        for judged, of_column in zip(row.verdicts, figures, strict=True)
    ]  # fmt: skip
    first, headings = row.verdicts[0], [*figures[0]]
    baseline = [report.baseline, figure(first.baseline), *[""] * (len(headings) - 1)]
    remark = f"baseline, spread {figure(first.spread)} {row.unit}"
    columns = [Column("variant", "name"), *map(Column, headings), Column("verdict", "remark")]
    return Table(columns, [Line([*map(Cell, baseline), Cell(remark)]), *lines])


def _cells(row: Row, report: Report) -> dict[str, str]:
    """Return the figures of a verdict by their headings."""
    ranks = {} if report.paired else {"p of ranks": p_value(row.p_mann_whitney)}
    decided = UNKNOWN if row.decided is None else f"block {row.decided}"
    return {
        summaries.value_heading(report.rows): figure(row.value),
        "change": words.size_of_change(row),
        words.interval_heading(report): interval(row.low, row.high),
        "blocks" if report.paired else "n": str(row.n),
        "p": p_value(row.p_adjusted),
        "raw p": p_value(row.p),
        **ranks,
        "p equivalent": p_value(row.p_equivalent),
        "MDE": change(None if row.detectable is None else 1 + row.detectable),
        f"blocks for ±{100 * report.judging.delta:g} %": UNKNOWN
        if row.blocks_needed is None
        else str(row.blocks_needed),
        **({"decided after": decided} if report.course else {}),
    }


def _verdict(row: Row, report: Report) -> Cell:
    word, remarks = words.verdict(row, report)
    return Cell(word, tone=CONTROL if row.control else row.verdict, remark=remarks)


def _values(row: PlottedRow, report: Report) -> Section:
    names = [column.name for column in report.columns]
    present = sorted({value.column for value in row.values})
    by_block: dict[int, dict[int, float]] = {}
    for value in row.values:
        by_block.setdefault(value.block, {})[value.column] = value.value
    lines = [
        Line([Cell(str(block)), *(Cell(figure(values.get(column))) for column in present)])
        for block, values in by_block.items()
    ]
    columns = [Column("block", "name"), *(Column(f"{names[column]} [{row.unit}]") for column in present)]
    return Section("Block values", [Table(columns, lines)], key=f"{row.key}-values", folded=True)
