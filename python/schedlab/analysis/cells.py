"""Cells of a run: the values of one variant in one row, by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan, sqrt

import numpy as np
import polars as pl
from numpy.typing import NDArray

from schedlab.analysis.distributions import CellSamples

Key = tuple[str, str, str, str]
"""Workload, parameters (canonical JSON), metric, variant."""

Cell = Mapping[int, float]
"""Block → the mean of its iterations."""

Failures = Mapping[tuple[str, str, str], tuple[int, int]]
"""Failed and recorded trials by workload, parameters and variant."""

TOLERATED = 0.05
"""Share of failed trials above which the other trials of a cell are not a fair sample."""

_KEYS = ["workload", "parameters", "metric", "variant"]


def average_blocks(cells: Sequence[CellSamples]) -> pl.DataFrame:
    """Average each cell's metrics over its iterations.

    Columns: block, variant, workload, parameters, metric, position (mean index in the plan), value, iterations; sorted
    by the first five.
    """
    types = {"block": pl.Int64, "variant": pl.String, "workload": pl.String, "parameters": pl.String}
    types |= {"metric": pl.String, "position": pl.Float64, "value": pl.Float64, "iterations": pl.Int64}
    keys: dict[tuple[int, str, str, str, str], int] = {}
    for cell in cells:
        keys.setdefault((cell.block, cell.variant, cell.workload, cell.parameters, cell.metric), len(keys))
    index = [keys[cell.block, cell.variant, cell.workload, cell.parameters, cell.metric] for cell in cells]
    of_value = np.repeat(np.array(index, np.int64), [len(cell.values) for cell in cells])
    values = np.concatenate([np.empty(0), *(cell.values for cell in cells)])
    positions = np.concatenate([np.empty(0), *(cell.position + np.arange(len(cell.values)) for cell in cells)])
    measured = ~np.isnan(values)
    # bincount adds in the order of the plan, so that equal samples have equal means down to the last bit.
    counts, totals, places = (
        np.bincount(of_value[measured], weights, len(keys)) for weights in (None, values[measured], positions[measured])
    )
    lines = [
        (*key, places[i] / counts[i], totals[i] / counts[i], int(counts[i])) for key, i in keys.items() if counts[i]
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
    """Return each block's iterations, by the keys and from the columns of :func:`block_means`."""
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


def failed_too_often(failures: Failures, workload: str, parameters: str, variant: str) -> str:
    """Return why the trials of a cell are not a fair sample; empty if they are."""
    failed, recorded = failures.get((workload, parameters, variant), (0, 0))
    if recorded and failed / recorded > TOLERATED:
        return f"{failed} of {recorded} trials of {variant} failed; the others are not a fair sample"
    return ""


def fault(workload: str, parameters: str, variant: str, cell: Cell, failures: Failures) -> str:
    """Return why a cell cannot be judged together with others; empty if it can."""
    if not cell:
        return f"no measurement of {variant}"
    if any(value <= 0 for value in cell.values()):
        return f"a value of {variant} is 0 or below and has no ratio"
    return failed_too_often(failures, workload, parameters, variant)


def mean(cell: Cell) -> float:
    """Return the mean over blocks; nan without any."""
    return sum(cell.values()) / len(cell) if cell else nan


def spread(cell: Cell) -> float:
    """Return the sample standard deviation of block means; nan below two."""
    if len(cell) < 2:
        return nan
    centre = mean(cell)
    return sqrt(sum((value - centre) ** 2 for value in cell.values()) / (len(cell) - 1))
