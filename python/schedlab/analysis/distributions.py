"""Raw samples of columns side by side, for views of whole distributions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class CellSamples:
    """Samples of one metric in one cell: a variant in a row within a block.

    Attributes:
        position: index in the plan of the cell's first trial; iterations follow each other.
        values: one value for each iteration; nan where the trial failed or lacks the metric.
        worst: whether the value of a block is the worst of its iterations, and not their mean.
        imported: all samples of a cell that was imported, whose only value is their mean; None for measured cells.
    """

    block: int
    variant: str
    workload: str
    parameters: str
    position: int
    metric: str
    unit: str
    direction: str
    values: NDArray[np.float64]
    imported: NDArray[np.float64] | None = None
    worst: bool = False

    @property
    def iterations(self) -> NDArray[np.int64]:
        """Indices of the iterations that have a value."""
        return np.flatnonzero(~np.isnan(self.values))

    @property
    def samples(self) -> NDArray[np.float64]:
        """All samples of the source for an imported cell, else the value of each trial."""
        return self.values[self.iterations] if self.imported is None else self.imported


@dataclass(frozen=True)
class ColumnRow:
    """One row: the samples of every column, or None for a column without samples.

    ``label`` is the row's name in the report of the source, or empty; ``decimals`` is the number of digits that the
    source prints behind the point, or None.
    """

    workload: str
    metric: str
    unit: str
    direction: Literal["lower", "higher"]
    parameters: Mapping[str, str | int | float]
    samples: tuple[NDArray[np.float64] | None, ...]
    label: str = ""
    decimals: int | None = None


@dataclass(frozen=True)
class Columns:
    """Rows over named columns; each row has a cell for every name. The first column is the baseline."""

    names: tuple[str, ...]
    rows: tuple[ColumnRow, ...]


def spaced(values: NDArray[np.float64], most: int) -> list[float]:
    """Return the values sorted; of more than ``most`` values those evenly spaced in rank, with both ends."""
    ordered = np.sort(values)
    if len(ordered) > most:
        ordered = ordered[np.linspace(0, len(ordered) - 1, most).round().astype(int)]
    found: list[float] = ordered.tolist()
    return found
