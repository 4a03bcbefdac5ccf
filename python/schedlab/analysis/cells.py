"""Cells of a run: the values of one variant in one row, by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from math import dist, exp, fsum, inf, log, nan, sqrt
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from schedlab.analysis.distributions import CellSamples
from schedlab.analysis.rows import RowKey
from schedlab.results.metrics import Direction

if TYPE_CHECKING:
    from schedlab.analysis.sequential import Course

Key = tuple[str, str, str, str]
"""Workload, parameters (canonical JSON), metric, variant."""

Cell = Mapping[int, float]
"""Block → the mean of its iterations."""

Recorded = Mapping[tuple[str, str, str], Mapping[int, int]]
"""Recorded trials by workload, parameters and variant, then by block, whatever their state; without warm-up."""

TOLERATED = 0.05
"""Share of lost trials above which the other trials of a cell are not a fair sample."""

Value = TypeVar("Value")

_KEYS = ["workload", "parameters", "metric", "variant"]


def average_blocks(cells: Sequence[CellSamples]) -> pl.DataFrame:
    """Average each cell's metrics over its iterations; a worst case is the worst of its iterations.

    Columns: block, variant, workload, parameters, metric, position (mean index in the plan), value, iterations, least
    and most (of the iterations' values); sorted by the first five columns. Values that are not finite are left out.
    """
    types = {"block": pl.Int64, "variant": pl.String, "workload": pl.String, "parameters": pl.String}
    types |= {"metric": pl.String, "position": pl.Float64, "value": pl.Float64, "iterations": pl.Int64}
    types |= {"least": pl.Float64, "most": pl.Float64}
    keys: dict[tuple[int, str, str, str, str], int] = {}
    for cell in cells:
        keys.setdefault((cell.block, cell.variant, cell.workload, cell.parameters, cell.metric), len(keys))
    index = [keys[cell.block, cell.variant, cell.workload, cell.parameters, cell.metric] for cell in cells]
    key_of_value = np.repeat(np.array(index, np.int64), [len(cell.values) for cell in cells])
    values = np.concatenate([np.empty(0), *(cell.values for cell in cells)])
    positions = np.concatenate([np.empty(0), *(cell.position + np.arange(len(cell.values)) for cell in cells)])
    measured = np.isfinite(values)
    # bincount adds in the order of the plan, so that equal samples have equal means down to the last bit.
    counts, totals, places = (
        np.bincount(key_of_value[measured], weights, len(keys))
        for weights in (None, values[measured], positions[measured])
    )
    least, most = np.full(len(keys), np.inf), np.full(len(keys), -np.inf)
    np.minimum.at(least, key_of_value[measured], values[measured])
    np.maximum.at(most, key_of_value[measured], values[measured])
    worst = {i: cell.direction for i, cell in zip(index, cells, strict=True) if cell.worst}

    def value(i: int) -> float:
        mean = float(totals[i] / counts[i])
        return float(most[i] if worst[i] == "lower" else least[i]) if i in worst else mean

    lines = [
        (*key, places[i] / counts[i], value(i), int(counts[i]), float(least[i]), float(most[i]))
        for key, i in keys.items()
        if counts[i]
    ]
    return pl.DataFrame(sorted(lines), schema=types, orient="row")


def block_means(samples: pl.DataFrame) -> dict[Key, dict[int, float]]:
    """Return means over a block's iterations, by (workload, parameters, metric, variant), then by block.

    ``samples`` has columns workload, parameters, metric, variant, block, value; iterations are not independent and
    never count as more than one block.
    """
    means = samples.group_by([*_KEYS, "block"]).agg(pl.col("value").mean()).sort([*_KEYS, "block"])
    cells: dict[Key, dict[int, float]] = {}
    for workload, parameters, metric, variant, block, value in means.iter_rows():
        cells.setdefault((workload, parameters, metric, variant), {})[block] = value
    return cells


def block_values(samples: pl.DataFrame) -> dict[Key, dict[int, list[float]]]:
    """Return each block's iterations; keys and columns as for :func:`block_means`."""
    values = samples.group_by([*_KEYS, "block"], maintain_order=True).agg(pl.col("value"))
    cells: dict[Key, dict[int, list[float]]] = {}
    for workload, parameters, metric, variant, block, iterations in values.iter_rows():
        cells.setdefault((workload, parameters, metric, variant), {})[block] = iterations
    return cells


def table(cell: Mapping[int, list[float]], blocks: list[int]) -> NDArray[np.float64]:
    """Return the iterations of these blocks, shape (blocks, iterations), padded with nan."""
    padded = np.full((len(blocks), max((len(cell[block]) for block in blocks), default=0)), nan)
    for row, block in enumerate(blocks):
        padded[row, : len(cell[block])] = cell[block]
    return padded


class Blocks:
    """The block means of a run, and its lost trials: trials that failed or lack the metric of a row.

    ``samples`` contains the samples of the blocks that count.

    Args:
        samples: columns workload, parameters, metric, variant, block, value: single iterations, or the block means of
            :func:`average_blocks`. Values that are not finite count as lost.
        recorded: recorded trials; without them no trial counts as lost.
        progress: interim analyses so far. The blocks up to the last analysis count; without an analysis, all blocks.
        worst: rows whose block value is the worst of its iterations, see :func:`schedlab.analysis.rows.worst_rows`.
    """

    def __init__(
        self,
        samples: pl.DataFrame,
        recorded: Recorded | None = None,
        progress: Course | None = None,
        worst: Mapping[RowKey, Direction] | None = None,
    ) -> None:
        self._worst = worst or {}
        last = progress.blocks if progress is not None and progress.taken else None
        samples = samples if last is None else samples.filter(pl.col("block") <= last)
        self.samples = samples
        if "iterations" not in samples.columns:
            value = pl.col("value")
            samples = samples.with_columns(value.alias("least"), value.alias("most"), pl.lit(1).alias("iterations"))
        frame = samples.filter(pl.col("value").is_finite()).group_by([*_KEYS, "block"])
        columns = (pl.col("value").mean(), pl.col("iterations").sum(), pl.col("least").min(), pl.col("most").max())
        self._cells: dict[Key, dict[int, tuple[float, int, float, float]]] = {}
        for workload, parameters, metric, variant, block, mean, count, least, most in (
            frame.agg(*columns).sort([*_KEYS, "block"]).rows()
        ):
            direction = self._worst.get((workload, parameters, metric))
            value = mean if direction is None else most if direction == "lower" else least
            self._cells.setdefault((workload, parameters, metric, variant), {})[block] = (value, count, least, most)
        self._recorded = {
            key: dict(by_block) if last is None else _upto(by_block, last) for key, by_block in (recorded or {}).items()
        }

    def upto(self, last: int) -> Blocks:
        """Return the blocks up to ``last``."""
        earlier = copy(self)
        earlier.samples = self.samples.filter(pl.col("block") <= last)
        earlier._cells = {key: _upto(cell, last) for key, cell in self._cells.items()}
        earlier._recorded = {key: _upto(trials, last) for key, trials in self._recorded.items()}
        return earlier

    def means(self, row: RowKey, variant: str) -> dict[int, float]:
        """Return the means over a block's iterations by block, in their order; the worst of a worst case."""
        return {block: mean for block, (mean, *_) in self._cells.get((*row, variant), {}).items()}

    def iterations(self, row: RowKey, variant: str) -> dict[int, int]:
        """Return the number of iterations with a value, by block."""
        return {block: count for block, (_, count, *_) in self._cells.get((*row, variant), {}).items()}

    def lost(self, row: RowKey, variant: str) -> dict[int, int]:
        """Return the number of lost trials by block, without blocks that lost no trial."""
        cell, recorded = self._cells.get((*row, variant), {}), self._recorded.get((*row[:2], variant), {})
        counts = {block: trials - (cell[block][1] if block in cell else 0) for block, trials in recorded.items()}
        return {block: count for block, count in counts.items() if count > 0}

    def count_lost(self, row: RowKey, variant: str) -> tuple[int, int]:
        """Return the numbers of lost and of recorded trials."""
        recorded = self._recorded.get((*row[:2], variant), {})
        return sum(self.lost(row, variant).values()), sum(recorded.values())

    def describe_lost(self, row: RowKey, *variants: str) -> str:
        """Compare the lost trials of variants: ``3 of 60 trials of new and 0 of 60 of base have no value``."""
        words: list[str] = []
        for name in variants:
            lost, trials = self.count_lost(row, name)
            words.append(f"{lost} of {trials}{'' if words else ' trials'} of {name}")
        return f"{' and '.join(words)} have no value"

    def not_fair(self, row: RowKey, variant: str) -> str:
        """Return why the trials of a cell are not a fair sample; empty if they are a fair sample."""
        lost, recorded = self.count_lost(row, variant)
        if recorded and lost / recorded > TOLERATED:
            return f"{lost} of {recorded} trials of {variant} failed or lack {row[2]}; the others are not a fair sample"
        return ""

    def fault(self, row: RowKey, variant: str) -> str:
        """Return why a cell cannot be judged together with other cells; empty if it can be judged."""
        cell = self.means(row, variant)
        if not cell:
            return f"no measurement of {variant}"
        if any(value <= 0 for value in cell.values()):
            return f"a value of {variant} is 0 or below and has no ratio"
        return self.not_fair(row, variant)

    def with_lost_as_worst(
        self, row: RowKey, variants: Sequence[str], direction: Direction
    ) -> dict[str, dict[int, float]]:
        """Return the variants' block means with the worst value of all variants in place of each lost trial."""
        values = [statistics for name in variants for statistics in self._cells.get((*row, name), {}).values()]
        if not values:
            return {name: {} for name in variants}
        worst = max(most for *_, most in values) if direction == "lower" else min(least for *_, least, _ in values)
        filled = {name: self.means(row, name) for name in variants}
        for name in variants:
            cell = self._cells.get((*row, name), {})
            for block, lost in self.lost(row, name).items():
                mean, count = cell[block][:2] if block in cell else (worst, 0)
                filled[name][block] = worst if row in self._worst else (mean * count + worst * lost) / (count + lost)
        return {name: dict(sorted(cell.items())) for name, cell in filled.items()}

    def resolution(self, row: RowKey, variants: Sequence[str]) -> float:
        """Return :func:`smallest_step` of the variants' values."""
        cells = [statistics for name in variants for statistics in self._cells.get((*row, name), {}).values()]
        return smallest_step([value for *_, least, most in cells for value in (least, most)])


def _upto(of_blocks: Mapping[int, Value], last: int) -> dict[int, Value]:
    return {block: value for block, value in of_blocks.items() if block <= last}


def smallest_step(values: Sequence[float]) -> float:
    """Return the smallest step between values, relative to their mean; inf if all values are equal.

    Equal values do not show that steps are small, however many digits they have: 100 operations in 3 s are 33.333333,
    and the next possible value is 33.666667.
    """
    distinct = np.unique(values)
    centre = abs(float(distinct.mean())) if len(distinct) else 0.0
    steps = np.diff(distinct)
    return float(steps.min(initial=inf, where=steps > 1e-9 * centre)) / centre if centre else inf


def mean(cell: Cell) -> float:
    """Return the mean over blocks; nan without blocks."""
    return sum(cell.values()) / len(cell) if cell else nan


def geometric_mean(cell: Cell) -> float:
    """Return the geometric mean over one block or more, whose values are above 0. Changes are ratios of such means."""
    # Divide by the first value, so that the mean of equal values is exact.
    first = next(iter(cell.values()))
    return first * exp(fsum(log(value / first) for value in cell.values()) / len(cell))


def spread(cell: Cell) -> float:
    """Return the sample standard deviation of block means; nan below two."""
    if len(cell) < 2:
        return nan
    centre = mean(cell)
    # Unlike a sum of squares, dist() does not overflow.
    return dist(cell.values(), [centre] * len(cell)) / sqrt(len(cell) - 1)
