"""From columns of samples to the tables that MMTests would print."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import floor, log10

import numpy as np

from schedlab.analysis.columns import ColumnRow, Columns
from schedlab.analysis.mmtests.formulas import Samples, gain, known
from schedlab.analysis.mmtests.kinds import Kind, Statistic, kind_of
from schedlab.analysis.mmtests.labels import label_of
from schedlab.analysis.mmtests.model import Cell, Layout, Line, Stars, Table, Verdicts, View
from schedlab.analysis.mmtests.starring import FOOTERS, RULES

_WIDTHS: dict[Layout, tuple[int, int]] = {"current": (18, 7), "2019": (12, 7), "2016": (12, 6)}
"""Of a value and of a gain, as MMTests lays them out."""

Star = Callable[[Statistic, "_Row", int], bool]


@dataclass(frozen=True)
class _Row:
    index: int
    row: ColumnRow
    label: str
    samples: tuple[Samples | None, ...]


def view(
    columns: Columns, *, layout: Layout = "current", stars: Stars = "none", verdicts: Verdicts | None = None
) -> View:
    """MMTests' figures for every row.

    Args:
        columns: samples by row and column; blocks are pooled, as MMTests pools its iterations.
        layout: which of MMTests' sets of rows.
        stars: who gives them.
        verdicts: what ``stars="verdicts"`` goes by; a row that it does not name gets none.

    Returns:
        A table for each workload, unit, direction and kind of rows, in the order of their first rows.
    """
    star = _star(columns, stars, verdicts or {})
    tables: dict[tuple[object, ...], tuple[Kind, list[_Row]]] = {}
    for index, row in enumerate(columns.rows):
        kind = kind_of(row.workload, row.metric, layout)
        key = row.workload, row.unit, row.direction, row.decimals, id(kind)
        samples = tuple(_samples(cell, row) for cell in row.samples)
        tables.setdefault(key, (kind, []))[1].append(_Row(index, row, label_of(row, layout), samples))
    return View(
        columns.names,
        tuple(_table(kind, rows, layout, star) for kind, rows in tables.values()),
        (FOOTERS[stars],) if stars in FOOTERS else (),
    )


def _samples(cell: np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None, row: ColumnRow) -> Samples | None:
    return Samples(cell, row.direction) if cell is not None and cell.size else None


def _star(columns: Columns, stars: Stars, verdicts: Verdicts) -> Star:
    if stars == "verdicts":
        return lambda statistic, row, column: verdicts.get((row.index, columns.names[column]), False)
    rule = RULES.get(stars)
    if rule is None:
        return lambda statistic, row, column: False

    def by_rule(statistic: Statistic, row: _Row, column: int) -> bool:
        baseline, other = row.samples[0], row.samples[column]
        return statistic.ruled and baseline is not None and other is not None and rule(baseline, other)

    return by_rule


def _table(kind: Kind, rows: Sequence[_Row], layout: Layout, star: Star) -> Table:
    first = rows[0].row
    width, gain_width = _WIDTHS[layout]
    return Table(
        workload=first.workload,
        metrics=tuple(dict.fromkeys(row.row.metric for row in rows)),
        unit=first.unit,
        direction=first.direction,
        decimals=_decimals(rows, layout),
        width=width,
        gain_width=gain_width,
        lines=tuple(
            Line(statistic.name(first.direction), row.label, tuple(_cells(statistic, row, star)))
            for statistic in kind
            for row in rows
        ),
        parameters=_parameters([row.row for row in rows]),
    )


def _parameters(rows: Sequence[ColumnRow]) -> tuple[str, ...]:
    """The names of the parameters in the labels, where all rows have the same ones, and several."""
    names = {tuple(row.parameters) for row in rows}
    return max(names) if len(names) == 1 and len(max(names)) > 1 and not any(row.label for row in rows) else ()


def _cells(statistic: Statistic, row: _Row, star: Star) -> Iterator[Cell]:
    direction = "lower" if statistic.spread else row.row.direction
    baseline = None
    for column, samples in enumerate(row.samples):
        value = None if samples is None else known(statistic.compute(samples))
        if column == 0:
            baseline = value
        if value is None or baseline is None:
            yield Cell(value, None)
            continue
        starred = statistic.main and column > 0 and star(statistic, row, column)
        yield Cell(value, known(gain(value, baseline, direction)), starred)


def _decimals(rows: Sequence[_Row], layout: Layout) -> int:
    """MMTests' own; for other rows as many as leave four significant digits to the smallest median, from 2 to 6."""
    first = rows[0].row
    if first.decimals is not None:
        return first.decimals if layout == "current" or first.workload.startswith("hackbench") else 2
    medians = (abs(samples.percentile(50)) for row in rows for samples in row.samples if samples)
    smallest = min((median for median in medians if median > 0), default=1.0)
    return min(max(3 - floor(log10(smallest)), 2), 6)
