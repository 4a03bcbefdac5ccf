"""Size of a difference: ratios of block means, paired by block, and their interval."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, log, log1p, nan, sqrt
from sys import float_info

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from schedlab.analysis.signflip import interval

LARGEST_LOG = log(float_info.max)
"""Logarithm of the largest double, 709.8."""

EQUIVALENT_FROM = 6
"""Least number of blocks, or of values in either group, that can show equivalence."""


@dataclass(frozen=True)
class Estimate:
    """A ratio variant / baseline with its interval; ``spread`` is the standard deviation of the log-ratios.

    ``low`` and ``high`` are nan below two pairs of blocks.
    """

    ratio: float
    low: float
    high: float
    spread: float
    blocks: int


def ratio_of(logarithm: float) -> float:
    """Return exp(logarithm), or inf beyond the largest double, as in floating-point division."""
    return exp(logarithm) if logarithm < LARGEST_LOG else inf


def log_ratios(baseline: dict[int, float], variant: dict[int, float]) -> NDArray[np.float64]:
    """Return log(variant / baseline) for each block that has both, in block order; inputs are block → mean value.

    Raises ValueError for values of 0 and below, which have no ratio.
    """
    blocks = sorted(baseline.keys() & variant.keys())
    above = np.array([variant[block] for block in blocks], dtype=np.float64)
    below = np.array([baseline[block] for block in blocks], dtype=np.float64)
    if np.any(above <= 0) or np.any(below <= 0):
        raise ValueError("a value of 0 or below has no ratio")
    return np.asarray(np.log(above) - np.log(below), dtype=np.float64)


def student(values: NDArray[np.float64], confidence: float) -> tuple[float, float, float]:
    """Return the mean of values, of shape (n,), and its two-sided interval (Student 1908); nan below two values."""
    n, mean = len(values), float(values.mean())
    if n < 2:
        return mean, nan, nan
    half = float(stdtrit(n - 1, 0.5 + confidence / 2)) * float(values.std(ddof=1)) / sqrt(n)
    return mean, mean - half, mean + half


def estimate(ratios: NDArray[np.float64], confidence: float, seed: int = 0) -> Estimate:
    """Return the mean ratio and its two-sided interval, from log-ratios of shape (blocks,).

    The interval contains the ratios that the sign-flip test does not reject, so that it excludes 1 exactly if the
    unadjusted p is at or below 1 − confidence. The only assumption is that log-ratios are symmetric around their
    centre. This holds for a variant and a baseline of equal spread, with any distribution. Too few blocks for the test
    give Student's interval. A bootstrap interval (BCa; Efron 1987) covers only 80–90 % at 6–20 blocks. Blocks are
    paired as by Kalibera & Jones 2013. ``seed`` is the random seed of drawn flips.
    """
    n = len(ratios)
    if n == 0:
        return Estimate(nan, nan, nan, nan, 0)
    mean, *bounds = student(ratios, confidence)
    if n == 1:
        return Estimate(ratio_of(mean), nan, nan, nan, 1)
    low, high = interval(ratios, confidence, seed) or bounds
    return Estimate(ratio_of(mean), ratio_of(low), ratio_of(high), float(ratios.std(ddof=1)), n)


def steps_unknown(metric: str) -> str:
    """Return the reason why equal values do not show equivalence."""
    return f"all values are equal, so that the steps of {metric} are unknown: a change of less than a step may exist"


def p_equivalent(ratios: NDArray[np.float64], delta: float, resolution: float = 0.0) -> float:
    """Return p of "the ratio lies outside 1 ± delta", by two one-sided t tests (Schuirmann 1987).

    The margins are ±log(1 + delta), which are symmetric in variant and baseline. ``resolution`` is one step of the
    metric, relative to its values; inf if the values show no step. If log-ratios spread less than a step, they can hide
    a change of one step: the margins are then narrower by one step. p is 1 below six blocks, where equal values may be
    chance.
    """
    n = len(ratios)
    if n < EQUIVALENT_FROM:
        return 1.0
    mean, margin, spread = float(ratios.mean()), log1p(delta), float(ratios.std(ddof=1))
    if spread < resolution:
        margin -= resolution
    error = spread / sqrt(n)
    if margin <= 0 or error == 0:
        return 0.0 if abs(mean) < margin else 1.0
    return float(max(stdtr(n - 1, (mean - margin) / error), stdtr(n - 1, (-margin - mean) / error)))
