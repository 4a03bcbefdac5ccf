"""What the order and the spread of a row's values tell: trends, neighbours that hang together, two modes, outliers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import expm1, sqrt

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import chdtrc, stdtr

from schedlab.analysis.cells import block_means
from schedlab.analysis.verdicts import Question
from schedlab.analysis.warnings import Kind, Warning

ALARM_P = 0.01
"""A trend, a correlation or a second mode is told when it is this improbable by chance, over all rows."""

DRIFT_SHARE = 0.01
"""A trend must also be at least 1 % from the first trial to the last."""

FEWEST = 12
"""Block means below which neither a correlation (over the row) nor modes (of a variant) are looked for."""

FENCE = 1.5
"""Tukey's inner fences: 1.5 interquartile ranges beyond the quartiles (Tukey 1977)."""


def warnings(samples: pl.DataFrame, questions: Sequence[Question], *, in_time: bool = True) -> Iterator[Warning]:
    """Every warning of these kinds; ``samples`` has each variant's value in each block, and its position.

    Where trials do not follow each other ``in_time``, as simulations do not, their order tells nothing.
    """
    rows = [(question, _deviations(samples, question)) for question in questions]
    if in_time:
        yield from _drift(rows)
        yield from _autocorrelation(rows)
    yield from _modes(rows)
    yield from _outliers(samples, questions)


Rows = Sequence[tuple[Question, pl.DataFrame]]


def _deviations(samples: pl.DataFrame, question: Question) -> pl.DataFrame:
    """The values of a row in their order, each with its log's ``deviation`` from the mean of its variant's."""
    row = samples.filter(
        (pl.col("workload") == question.workload)
        & (pl.col("parameters") == question.parameters)
        & (pl.col("metric") == question.metric)
        & (pl.col("value") > 0)
    ).with_columns(pl.col("value").log().alias("log"))
    return row.with_columns((pl.col("log") - pl.col("log").mean().over("variant")).alias("deviation")).sort("position")


def _drift(rows: Rows) -> Iterator[Warning]:
    """A linear trend of each variant's deviations over the order of trials, block means: iterations hang together."""
    for question, row in rows:
        if len(row) < 8:
            continue
        position = row["position"].to_numpy().astype(np.float64)
        change, p = _trend(position, row["deviation"].to_numpy())
        if p < ALARM_P / len(rows) and abs(change) >= DRIFT_SHARE:
            yield Warning(
                Kind.DRIFT,
                f"{question.workload} {question.metric} moved by {100 * change:+.1f} % from first trial to last",
            )


def _trend(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    """The relative change over the range of x of a least-squares line through y (logs), and its two-sided p."""
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
    """Neighbours alike beyond a trend: the deviations of block means, in the order in which they were measured.

    By the first term of the portmanteau statistic (Ljung & Box 1978), one-sided: only likeness misleads.
    """
    for question, row in rows:
        if len(row) < FEWEST:
            continue
        x, y = row["position"].to_numpy().astype(np.float64), row["deviation"].to_numpy()
        correlation, p = neighbours_alike(y - np.polyval(np.polyfit(x, y, 1), x))
        if p < ALARM_P / len(rows):
            yield Warning(
                Kind.AUTOCORRELATION,
                f"{question.workload} {question.metric}: neighbours in time resemble each other "
                f"(correlation {correlation:.2f})",
            )


def neighbours_alike(series: NDArray[np.float64]) -> tuple[float, float]:
    """The correlation of each value with the next, and its one-sided p; (0, 1) for a series without spread."""
    n, centred = len(series), series - series.mean()
    square = float((centred**2).sum())
    if square == 0:
        return 0.0, 1.0
    correlation = float((centred[1:] * centred[:-1]).sum()) / square
    p = float(chdtrc(1, n * (n + 2) * correlation**2 / (n - 1))) / 2
    return correlation, p if correlation > 0 else 1 - p


def _modes(rows: Rows) -> Iterator[Warning]:
    """Variants whose block means come in two heaps, by the dip test (Hartigan & Hartigan 1985)."""
    told: list[str] = []
    for question, row in rows:
        for (variant,), blocks in row.group_by("variant", maintain_order=True):
            if len(blocks) >= FEWEST and two_modes(blocks["deviation"].to_numpy(), ALARM_P / len(rows)):
                told.append(f"{question.workload} {question.metric} under {variant}")
    if told:
        yield Warning(Kind.MODES, f"block means come in two heaps: {_first(told)}")


def two_modes(values: NDArray[np.float64], alpha: float) -> bool:
    """Whether the values have more than one mode, at this level.

    Below 0.1 % the dip's p is no more than extrapolated, so that is the least that is asked. The test is against the
    uniform distribution, the flattest with one mode: values with a single heap pass it far more often than alpha says.
    """
    import diptest  # only reports need it

    # Figures that a tool prints with few digits repeat; repeated values alone are no modes.
    if len(np.unique(values)) < len(values) / 2:
        return False
    _, p = diptest.diptest(values)
    return bool(p < max(alpha, 0.001))


def _outliers(samples: pl.DataFrame, questions: Sequence[Question]) -> Iterator[Warning]:
    wanted = {(question.workload, question.parameters, question.metric) for question in questions}
    told: list[str] = []
    for (workload, parameters, metric, variant), blocks in block_means(samples).items():
        if (workload, parameters, metric) in wanted:
            told += [f"{workload} {variant} block {block}" for block in outlying(blocks)]
    if told:
        yield Warning(Kind.OUTLIERS, f"outside Tukey's fences: {_first(told)}")


def _first(told: Sequence[str]) -> str:
    """The first three, and how many more there are."""
    return ", ".join(told[:3]) + (f" and {len(told) - 3} more" if len(told) > 3 else "")


def outlying(blocks: dict[int, float]) -> list[int]:
    """The blocks whose value lies outside Tukey's fences; none below five blocks."""
    if len(blocks) < 5:
        return []
    low, high = np.percentile(list(blocks.values()), [25, 75])
    reach = FENCE * (high - low)
    return [block for block, value in blocks.items() if not low - reach <= value <= high + reach]
