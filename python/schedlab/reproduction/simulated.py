"""Simulated effects and levels of a report's rows, from the stored runs of its experiments."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from schedlab.analysis.distributions import CellSamples
from schedlab.reproduction.published import Effect, PublishedReport, PublishedTable, Row, effect, gain_of

Cell = tuple[str, str, str]
"""Workload, metric and variant."""

Blocks = Mapping[int, float]
"""Mean of a cell's samples, by block. A block is a random seed, which all variants share."""


@dataclass(frozen=True)
class Simulated:
    """A simulated effect.

    Attributes:
        gain: per cent, from the geometric mean of the blocks' ratios; positive where the column is better.
        error: its standard error over random seeds, in points; nan with one block.
        factor: the baseline's figure divided by the figure of the column.
        blocks: number of blocks.
    """

    gain: float
    error: float
    factor: float
    blocks: int


@dataclass(frozen=True)
class Counted:
    """A figure of a real kernel in a deterministic guest; means over random seeds.

    Attributes:
        figure: ``instructions``, also for a unit (``instructions/MB``), or the name of a counter.
        before: the figure under the baseline; ``after`` under the column.
        effect: the gain in instructions; None for a counter, because more events are neither better nor worse.
    """

    figure: str
    before: float
    after: float
    effect: Simulated | None


@dataclass(frozen=True)
class Comparison:
    """A published effect beside its simulation; ``simulated`` is None where the run has no figures of the row.

    ``counted`` has the figures of a real kernel; it is empty without a run in a guest.
    """

    table: PublishedTable
    row: Row
    column: int
    baseline: int
    published: Effect
    simulated: Simulated | None
    counted: tuple[Counted, ...] = ()

    @property
    def column_name(self) -> str:
        """Name of the column."""
        return self.table.columns[self.column]

    @property
    def baseline_name(self) -> str:
        """Name of the baseline's column."""
        return self.table.columns[self.baseline]

    @property
    def published_figure(self) -> float | None:
        """Mean of the column's printed figures; None where levels cannot be compared."""
        return float(np.mean(self.row.values[self.column])) if self.table.levels else None

    @property
    def published_baseline(self) -> float | None:
        """The same mean of the baseline."""
        return float(np.mean(self.row.values[self.baseline])) if self.table.levels else None

    @property
    def has_figures(self) -> bool:
        """Whether the effect was simulated or counted."""
        return self.simulated is not None or bool(self.counted)

    @property
    def is_wrong(self) -> bool:
        """Whether the published effect is beyond its noise, and its simulation does not have its sign."""
        simulated, published = self.simulated, self.published
        return simulated is not None and published.significant and published.gain * simulated.gain <= 0


@dataclass(frozen=True)
class Level:
    """A published figure of a table's first column, and the simulated figure in the same unit."""

    table: PublishedTable
    row: Row
    published: float
    simulated: float


class Figures:
    """The figures of a report's runs, by experiment."""

    def __init__(self, runs: Mapping[str, Iterable[CellSamples]]) -> None:
        self._cells: dict[tuple[str, Cell], list[tuple[Mapping[str, object], int, float]]] = defaultdict(list)
        for experiment, cells in runs.items():
            for cell in cells:
                if len(values := cell.samples):
                    key = experiment, (cell.workload, cell.metric, cell.variant)
                    self._cells[key].append((json.loads(cell.parameters), cell.block, float(np.mean(values))))

    def blocks(self, table: PublishedTable, row: Row, column: int) -> Blocks:
        """Return a printed cell's simulated figures by block, in the simulated unit; {} without a simulation."""
        key = table.experiment, (table.workload, table.metric, table.variants[column])
        cells = self._cells.get(key, [])
        return {
            block: value
            for parameters, block, value in cells
            if not table.parameter or parameters.get(table.parameter) == row.at
        }

    def comparisons(self, report: PublishedReport) -> list[Comparison]:
        """Return all effects of the report."""
        return [
            Comparison(
                table, row, column, baseline,
                effect(table, row, column, baseline),
                simulated_effect(self.blocks(table, row, baseline), self.blocks(table, row, column), table.better),
            )
            for table in report.table
            for row in table.rows
            for column, baseline in table.pairs
        ]  # fmt: skip

    def levels(self, report: PublishedReport) -> list[Level]:
        """Return the levels that can be compared and were simulated."""
        return [
            Level(table, row, float(np.mean(row.values[0])), table.scale * _geometric(list(blocks.values())))
            for table in report.table
            for row in table.rows
            if table.levels and (blocks := self.blocks(table, row, 0))
        ]


def simulated_effect(before: Blocks, after: Blocks, better: str) -> Simulated | None:
    """Return the effect over the blocks that both columns have; None without a common block."""
    shared = sorted(before.keys() & after.keys())
    if not shared:
        return None
    logs: NDArray[np.float64] = np.log([after[block] / before[block] for block in shared])
    ratio = float(np.exp(logs.mean()))
    error = 100 * ratio * float(np.std(logs, ddof=1)) / sqrt(len(logs)) if len(logs) > 1 else float("nan")
    return Simulated(gain_of(1.0, ratio, better), error, 1 / ratio, len(shared))


def _geometric(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))
