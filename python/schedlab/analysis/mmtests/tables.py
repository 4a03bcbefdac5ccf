"""MMTests' tables: operations over columns, with gains and stars, computed from columns of samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10

import numpy as np

from schedlab.analysis.distributions import ColumnRow, Columns
from schedlab.analysis.mmtests.formulas import Samples, gain
from schedlab.analysis.mmtests.kinds import Kind, Layout, Statistic, kind_of, label_of
from schedlab.analysis.mmtests.stars import RULES, Stars
from schedlab.results.metrics import Direction, finite

_WIDTHS: dict[Layout, tuple[int, int]] = {"current": (18, 7), "2019": (12, 7), "2016": (12, 6)}
"""Widths of a value and of a gain in MMTests' layout."""

Verdicts = Mapping[tuple[int, str], bool]
"""Whether a cell has a star, by the index of its row in :class:`Columns` and the name of its column."""


@dataclass(frozen=True)
class Cell:
    """A figure and its gain over the baseline in per cent, positive if better; None for unknown numbers."""

    value: float | None
    gain: float | None
    star: bool = False


@dataclass(frozen=True)
class Line:
    """One line: an operation (``Hmean``) on one row (``tput-4``), with a cell for each column."""

    operation: str
    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """Rows with the same statistics: one benchmark, unit and direction.

    Attributes:
        workload: name of the benchmark.
        metrics: names of the metrics in the rows.
        unit, direction: of the values.
        decimals: digits of a value behind the decimal point.
        width, gain_width: widths of a value and of a gain in the layout.
        lines: operations over rows.
        parameters: names of the parameters in a label with several numbers (``time-4-100``); empty if the label is
            MMTests' label, or has a single number.
    """

    workload: str
    metrics: tuple[str, ...]
    unit: str
    direction: Direction
    decimals: int
    width: int
    gain_width: int
    lines: tuple[Line, ...]
    parameters: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Title, such as ``hackbench time by groups, size (s, lower is better)``."""
        by = f" by {', '.join(self.parameters)}" if self.parameters else ""
        return f"{self.workload} {', '.join(self.metrics)}{by} ({self.unit}, {self.direction} is better)"


@dataclass(frozen=True)
class View:
    """All tables over the same columns. The first column is the baseline. ``stars`` names the rule of the asterisks."""

    columns: tuple[str, ...]
    tables: tuple[Table, ...]
    stars: Stars = "none"


@dataclass(frozen=True)
class _Row:
    index: int
    row: ColumnRow
    label: str
    samples: tuple[Samples | None, ...]


HasStar = Callable[[Statistic, _Row, int], bool]


def view(
    columns: Columns,
    *,
    layout: Layout = "current",
    stars: Stars = "none",
    verdicts: Verdicts | None = None,
    every: bool = True,
) -> View:
    """Compute MMTests' figures for every row.

    Args:
        columns: samples by row and column; blocks are pooled, as MMTests pools its iterations.
        layout: set of rows.
        stars: rule for stars.
        verdicts: cells with a star under ``stars="verdicts"``.
        every: whether to include percentiles for which no cell of the table has enough samples, as MMTests does.

    Returns:
        A table for each workload, unit, direction and kind of rows, in the order of their first rows.
    """
    has_star = _star_rule(columns, stars, verdicts or {})
    tables: dict[tuple[object, ...], tuple[Kind, list[_Row]]] = {}
    for index, row in enumerate(columns.rows):
        kind = kind_of(row.workload, row.metric, layout)
        key = row.workload, row.unit, row.direction, row.decimals, id(kind)
        samples = tuple(_samples(cell, row) for cell in row.samples)
        tables.setdefault(key, (kind, []))[1].append(_Row(index, row, label_of(row, layout), samples))
    return View(
        columns.names, tuple(_table(kind, rows, layout, has_star, every) for kind, rows in tables.values()), stars
    )


def _samples(cell: np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None, row: ColumnRow) -> Samples | None:
    return Samples(cell, row.direction) if cell is not None and cell.size else None


def _star_rule(columns: Columns, stars: Stars, verdicts: Verdicts) -> HasStar:
    if stars == "verdicts":
        return lambda statistic, row, column: verdicts.get((row.index, columns.names[column]), False)
    rule = RULES.get(stars)
    if rule is None:
        return lambda statistic, row, column: False

    def by_rule(statistic: Statistic, row: _Row, column: int) -> bool:
        baseline, other = row.samples[0], row.samples[column]
        return statistic.ruled and baseline is not None and other is not None and rule(baseline, other)

    return by_rule


def _table(kind: Kind, rows: Sequence[_Row], layout: Layout, has_star: HasStar, every: bool) -> Table:
    first = rows[0].row
    most = max((samples.n for row in rows for samples in row.samples if samples), default=0)
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
            Line(statistic.name(first.direction), row.label, tuple(_cells(statistic, row, has_star)))
            for statistic in kind
            if every or most >= statistic.fewest
            for row in rows
        ),
        parameters=_parameters([row.row for row in rows]),
    )


def _parameters(rows: Sequence[ColumnRow]) -> tuple[str, ...]:
    """Names of the parameters in the labels, if all rows have the same parameters and several of them."""
    names = {tuple(row.parameters) for row in rows}
    return max(names) if len(names) == 1 and len(max(names)) > 1 and not any(row.label for row in rows) else ()


def _cells(statistic: Statistic, row: _Row, has_star: HasStar) -> Iterator[Cell]:
    direction = "lower" if statistic.spread else row.row.direction
    baseline = None
    for column, samples in enumerate(row.samples):
        value = None if samples is None else finite(statistic.compute(samples))
        if column == 0:
            baseline = value
        if value is None or baseline is None:
            yield Cell(value, None)
            continue
        star = statistic.main and column > 0 and has_star(statistic, row, column)
        yield Cell(value, finite(gain(value, baseline, direction)), star)


def _decimals(rows: Sequence[_Row], layout: Layout) -> int:
    """Return the digits behind the point: MMTests' number, or 2 to 6 so that the smallest median has four digits."""
    first = rows[0].row
    if first.decimals is not None:
        return first.decimals if layout == "current" or first.workload.startswith("hackbench") else 2
    medians = (abs(samples.percentile(50)) for row in rows for samples in row.samples if samples)
    smallest = min((median for median in medians if median > 0), default=1.0)
    return min(max(3 - floor(log10(smallest)), 2), 6)
