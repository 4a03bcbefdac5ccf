"""Warnings from the order and the spread of a row's values: trends, autocorrelation, two modes, outliers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import exp, expm1, inf, log1p, sqrt

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtri, stdtr

from schedlab.analysis.cells import block_means
from schedlab.analysis.verdicts import Question
from schedlab.analysis.warnings import Kind, Warning

ALARM_P = 0.01
"""Level of the warnings for a trend, a correlation or a second mode, over all rows."""

DRIFT_SHARE = 0.01
"""Smallest trend from the first trial to the last that causes a warning."""

FEWEST = 12
"""Block means below which correlation (over the row) and modes (of a variant) are not tested."""

OUTER_FENCE = 3.0
"""Least distance of a fence: Tukey's outer fences, three interquartile ranges beyond the quartiles (Tukey 1977)."""

OUTLIER_P = 0.05
"""Share of clean runs of the reference shape that have a warning about outliers."""

SHAPE = 1.0
"""Standard deviation of the log-normal distribution whose shape is the reference of the fences (skewness 6)."""

SIMULATED_VALUES = 4_000_000
"""Largest number of values for the simulation of a fence; they take about 0.2 s."""

NAMED = 3
"""Cells that a warning names; further cells are counted."""


def warnings(samples: pl.DataFrame, questions: Sequence[Question], *, in_time: bool = True) -> Iterator[Warning]:
    """Yield every warning of these kinds.

    Args:
        samples: the value of each variant in each block, with its position in the order of trials.
        questions: the rows.
        in_time: whether trials follow each other in time. The order of simulations carries no information.
    """
    rows = [(question, _deviations(samples, question)) for question in questions]
    if in_time:
        yield from _drift(rows)
        yield from _autocorrelation(rows)
    yield from _modes(rows)
    yield from _outliers(samples, questions)


Rows = Sequence[tuple[Question, pl.DataFrame]]


def _deviations(samples: pl.DataFrame, question: Question) -> pl.DataFrame:
    """Return a row's values by position, with the ``deviation`` of each log from the mean log of its variant."""
    row = samples.filter(
        (pl.col("workload") == question.workload)
        & (pl.col("parameters") == question.parameters)
        & (pl.col("metric") == question.metric)
        & (pl.col("value") > 0)
    ).with_columns(pl.col("value").log().alias("log"))
    return row.with_columns((pl.col("log") - pl.col("log").mean().over("variant")).alias("deviation")).sort("position")


def _drift(rows: Rows) -> Iterator[Warning]:
    """Warn about a linear trend of the block means over the order of trials. Iterations would be dependent."""
    for question, row in rows:
        if len(row) < 8:
            continue
        position = row["position"].to_numpy().astype(np.float64)
        change, p = trend(position, row["deviation"].to_numpy())
        if p < ALARM_P / len(rows) and abs(change) >= DRIFT_SHARE:
            yield Kind.DRIFT.warning(workload=question.workload, metric=question.metric, change=100 * change)


def trend(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """Return the relative change of a least-squares line through y (logs) over the range of x, and its two-sided p."""
    centred = x - x.mean()
    square = float((centred**2).sum())
    if square == 0:
        return 0.0, 1.0
    slope = float((centred * y).sum()) / square
    residual = y - y.mean() - slope * centred
    error = sqrt(float((residual**2).sum()) / (len(x) - 2) / square)
    change = expm1(slope * float(x.max() - x.min()))
    if error == 0:
        return change, 1.0 if slope == 0 else 0.0
    return change, 2 * float(stdtr(len(x) - 2, -abs(slope) / error))


def _autocorrelation(rows: Rows) -> Iterator[Warning]:
    """Warn about correlation of neighbouring block means beyond a trend, in the order of measurement.

    The test is the first term of the portmanteau statistic (Ljung & Box 1978). It is one-sided, because only a positive
    correlation makes p values too small.
    """
    for question, row in rows:
        if len(row) < FEWEST:
            continue
        x, y = row["position"].to_numpy().astype(np.float64), row["deviation"].to_numpy()
        correlation, p = autocorrelation(y - np.polyval(np.polyfit(x, y, 1), x))
        if p < ALARM_P / len(rows):
            yield Kind.AUTOCORRELATION.warning(
                workload=question.workload, metric=question.metric, correlation=correlation
            )


def autocorrelation(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the correlation of each value with the next value, and its one-sided p; (0, 1) for equal values."""
    n, centred = len(values), values - values.mean()
    square = float((centred**2).sum())
    if square == 0:
        return 0.0, 1.0
    correlation = float((centred[1:] * centred[:-1]).sum()) / square
    p = float(chdtrc(1, n * (n + 2) * correlation**2 / (n - 1))) / 2
    return correlation, p if correlation > 0 else 1 - p


def _modes(rows: Rows) -> Iterator[Warning]:
    """Warn about variants whose block means have two modes, by the dip test (Hartigan & Hartigan 1985)."""
    cells: list[str] = []
    for question, row in rows:
        for (variant,), blocks in row.group_by("variant", maintain_order=True):
            if len(blocks) >= FEWEST and two_modes(blocks["deviation"].to_numpy(), ALARM_P / len(rows)):
                cells.append(f"{question.workload} {question.metric} under {variant}")
    if cells:
        yield Kind.MODES.warning(cells=_first(cells))


def two_modes(values: NDArray[np.float64], alpha: float) -> bool:
    """Return whether the values have more than one mode, at level ``alpha`` or 0.1 %, whichever is higher.

    Below 0.1 % the dip test's p is extrapolated. The null hypothesis of the test is the uniform distribution, the
    flattest unimodal distribution. The test rejects other unimodal distributions far less often than ``alpha``.
    """
    import diptest  # loaded only for reports with enough blocks

    # Tools that print few digits print equal figures for different values. Equal figures alone are not modes.
    if len(np.unique(values)) < len(values) / 2:
        return False
    _, p = diptest.diptest(values)
    return bool(p < max(alpha, 0.001))


def _outliers(samples: pl.DataFrame, questions: Sequence[Question]) -> Iterator[Warning]:
    """Warn about block means outside fences around the quartiles of their cell. The level is over all cells."""
    rows = {question.row for question in questions}
    means = {key: blocks for key, blocks in block_means(samples).items() if key[:3] in rows}
    outliers: list[str] = []
    for (workload, _, _, variant), blocks in means.items():
        outliers += [f"{workload} {variant} block {block}" for block in outlying(blocks, len(means))]
    if outliers:
        yield Kind.OUTLIERS.warning(blocks=_first(outliers))


def _first(names: Sequence[str]) -> str:
    """Return the first names, and the number of the others."""
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def outlying(blocks: Mapping[int, float], cells: int = 1) -> list[int]:
    """Return the blocks whose values lie outside fences around the quartiles; none below five blocks.

    ``cells`` is the number of cells that are inspected together. The fences are on the logs of the values, so that a
    time and its rate have the same outliers; on the values themselves if any value is 0 or below. If the quartiles are
    equal, as for a metric in coarse steps, the unit of distances is the smallest step between values.
    """
    if len(blocks) < 5:
        return []
    values = np.array(list(blocks.values()))
    values = np.log(values) if (values > 0).all() else values
    # The quartiles of np.percentile, which takes ten times as long for the few values of a cell.
    low, high = np.interp([0.25 * (len(values) - 1), 0.75 * (len(values) - 1)], range(len(values)), np.sort(values))
    unit = high - low or np.diff(np.unique(values)).min(initial=inf)
    distances = np.maximum(low - values, values - high) / unit
    if distances.max() <= OUTER_FENCE:
        return []
    reach = fence(len(blocks), cells)
    return [block for block, distance in zip(blocks, distances, strict=True) if distance > reach]


@cache
def fence(blocks: int, cells: int) -> float:
    """Return the distance of the fences from the quartiles, in interquartile ranges.

    A few blocks do not show the shape of their distribution. Most clean runs with skewed values cross fences that are
    made for normal values. The reference is therefore a skewed distribution, log-normal with :data:`SHAPE`. 5 % of
    clean runs with this number of ``cells`` from the reference have a value outside the fences. Runs with lighter tails
    (normal, exponential, Student's t with 3 degrees of freedom) have such values less often. The distance is a quantile
    of cells simulated from a fixed random seed, as for the fences of Hoaglin & Iglewicz 1987. If too few cells are
    simulated for the wanted quantile, a less extreme quantile is simulated, and the difference of the reference's two
    quantiles is added.
    """
    share = -expm1(log1p(-OUTLIER_P) / cells)
    draws = int(min(max(200 / share, 10_000), SIMULATED_VALUES / blocks))
    values = np.random.Generator(np.random.PCG64(3)).lognormal(0, SHAPE, (draws, blocks))
    low, high = np.percentile(values, [25, 75], axis=1)
    beyond = (values.max(axis=1) - high) / (high - low)
    reached = max(share, 10 / draws)
    quantile, wanted, quartile = (exp(SHAPE * float(ndtri(1 - p))) for p in (reached / blocks, share / blocks, 0.25))
    return max(OUTER_FENCE, float(np.quantile(beyond, 1 - reached)) + (wanted - quantile) / (quartile - 1 / quartile))
