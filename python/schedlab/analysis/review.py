"""Figures of the tables in which scheduler series are reviewed: means relative to the baseline, gains, variation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schedlab.analysis.distributions import ColumnRow, Columns
from schedlab.analysis.gains import relative_change
from schedlab.results.metrics import Direction

STATISTIC = "AMean"
"""Name of the arithmetic mean in this form."""


@dataclass(frozen=True)
class Cell:
    """One column of a row; None for unknown figures.

    Attributes:
        value: arithmetic mean of the samples, divided by the mean of the baseline.
        gain: improvement over the baseline in per cent, positive if better.
        variation: coefficient of variation: standard deviation of the samples in per cent of their mean.
    """

    value: float | None
    gain: float | None
    variation: float | None


@dataclass(frozen=True)
class Line:
    """A row: its parameters, and a cell for each column."""

    parameters: Mapping[str, str | int | float]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """The rows of one metric of a workload."""

    workload: str
    metric: str
    unit: str
    direction: Direction
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class View:
    """All tables over the same columns. The first column is the baseline."""

    columns: tuple[str, ...]
    tables: tuple[Table, ...]


def review(columns: Columns) -> View:
    """Return a table for each workload, metric, unit and direction, in the order of their first rows."""
    tables: dict[tuple[str, str, str, Direction], list[ColumnRow]] = {}
    for row in columns.rows:
        tables.setdefault((row.workload, row.metric, row.unit, row.direction), []).append(row)
    return View(columns.names, tuple(Table(*key, tuple(map(_line, rows))) for key, rows in tables.items()))


def _line(row: ColumnRow) -> Line:
    base = _mean(row.samples[0])
    cells = []
    for k, samples in enumerate(row.samples):
        mean = _mean(samples)
        change = None if base is None or mean is None else relative_change(base, mean, negate=row.direction == "lower")
        relative = None if base is None or mean is None or change is None else mean / base
        cells.append(Cell(relative, 0.0 if k == 0 and relative is not None else change, _variation(samples, mean)))
    return Line(row.parameters, tuple(cells))


def _mean(samples: NDArray[np.float64] | None) -> float | None:
    return float(samples.mean()) if samples is not None and samples.size else None


def _variation(samples: NDArray[np.float64] | None, mean: float | None) -> float | None:
    """Return the coefficient of variation; None for fewer than two samples or a mean that is not above 0."""
    if samples is None or mean is None or samples.size < 2 or mean <= 0:
        return None
    return 100 * float(samples.std(ddof=1)) / mean
