"""Printed tables as the documented fields."""

from __future__ import annotations

from schedlab.analysis.tables import Checked, Gain
from schedlab.report.document import fields
from schedlab.results import Cell, TableRow


def table(checked: Checked) -> fields.PrintedTable:
    """One table with its gains."""
    held = checked.table
    return fields.PrintedTable(
        layout=held.layout,
        title=held.title,
        workload=held.workload,
        line=held.line,
        columns=list(held.columns),
        baseline=held.columns[held.baseline],
        gains=held.gains,
        rows=[_row(row, of_row, held.columns) for row, of_row in zip(held.rows, checked.gains, strict=True)],
    )


def _row(row: TableRow, gains: tuple[Gain | None, ...], columns: tuple[str, ...]) -> fields.PrintedRow:
    return fields.PrintedRow(
        operation=row.operation,
        label=row.label,
        parameters=dict(row.parameters),
        unit=row.unit,
        direction=row.direction,
        line=row.line,
        cells=[_cell(*each) for each in zip(columns, row.cells, gains, strict=True)],
    )


def _cell(column: str, cell: Cell, gain: Gain | None) -> fields.PrintedCell:
    found = gain or Gain()
    return fields.PrintedCell(
        column=column,
        value=cell.value,
        text=cell.text,
        spread_percent=cell.spread_percent,
        spread_kind=cell.spread_kind,
        n=cell.n,
        gain=cell.gain,
        recomputed=found.recomputed,
        agrees=found.agrees,
        star=cell.star,
        p=found.test.p if found.test else None,
    )
