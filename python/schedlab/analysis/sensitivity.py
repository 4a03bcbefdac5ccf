"""Responses of a figure to factors, the shares of its variance, and the points that may be the best.

The unit of evidence is the block, or the seed of a simulation: every point has a value in each block, and an interval
is over blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, nan, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Floats = NDArray[np.float64]

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Mean:
    """A mean over seeds with its interval; the bounds are nan for a single seed."""

    value: float
    low: float
    high: float

    def exponential(self) -> Mean:
        """Return the geometric mean that belongs to a mean of logarithms."""
        return Mean(exp(self.value), exp(self.low), exp(self.high))


@dataclass(frozen=True)
class Level:
    """The response at a level of a factor, as the mean over its points."""

    level: int
    mean: Mean
    points: int


@dataclass(frozen=True)
class Share:
    """Share of the variance of all values that one factor, two factors together or another source explains."""

    factors: tuple[str, ...]
    share: float


def mean(by_seed: Floats, confidence: float = CONFIDENCE) -> Mean:
    """Return the mean of values by seed with Student's interval (Student 1908); values of shape (seeds,)."""
    n, middle = len(by_seed), float(by_seed.mean())
    if n < 2:
        return Mean(middle, nan, nan)
    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * float(by_seed.std(ddof=1)) / sqrt(n)
    return Mean(middle, middle - half, middle + half)


def response(values: Floats, levels: Sequence[int]) -> list[Level]:
    """Return the response at each level of a factor.

    Args:
        values: of shape (points, seeds), without nan.
        levels: the level of each point.
    """
    of_point = np.asarray(levels)
    return [
        Level(int(level), mean(values[of_point == level].mean(axis=0)), int((of_point == level).sum()))
        for level in np.unique(of_point)
    ]


def surface(values: Floats, first: Sequence[int], second: Sequence[int]) -> dict[tuple[int, int], Mean]:
    """Return the response at each pair of levels of two factors that has a point.

    Args:
        values: of shape (points, seeds), without nan.
        first, second: the levels of each point.
    """
    pairs = np.column_stack([first, second])
    return {
        (int(a), int(b)): mean(values[(pairs == (a, b)).all(axis=1)].mean(axis=0)) for a, b in np.unique(pairs, axis=0)
    }


HIGHER, SEEDS = "higher interactions", "seeds"
"""Sources of variance beside factors and pairs of factors."""


def shares(values: Floats, levels: Mapping[str, Sequence[int]]) -> list[Share]:
    """Return the shares of the variance by main effects, interactions of two factors, other interactions, and seeds.

    The sums of squares of a balanced factorial add up to the whole (Fisher 1925). [] when all values are equal.

    Args:
        values: of a full grid, of shape (points, seeds), without nan.
        levels: the level of each point by factor.
    """
    means, grand = values.mean(axis=1), float(values.mean())
    whole = float(((values - grand) ** 2).sum())
    # Sums of rounded numbers differ in their last digits even where all values are equal.
    if whole <= 1e-24 * max(grand * grand, 1e-300) * values.size:
        return []
    seeds, mains, found = values.shape[1], {}, []
    for name, of_point in levels.items():
        mains[name] = seeds * _between(means, np.asarray(of_point))
        found.append(Share((name,), mains[name] / whole))
    pairs = 0.0
    for first, second in combinations(levels, 2):
        joint = np.unique(np.column_stack([levels[first], levels[second]]), axis=0, return_inverse=True)[1].ravel()
        together = seeds * _between(means, joint) - mains[first] - mains[second]
        pairs += together
        found.append(Share((first, second), max(together, 0.0) / whole))
    points = seeds * float(((means - grand) ** 2).sum())
    if len(levels) > 2:
        found.append(Share((HIGHER,), max(points - sum(mains.values()) - pairs, 0.0) / whole))
    return [*found, Share((SEEDS,), max(whole - points, 0.0) / whole)]


def _between(means: Floats, groups: NDArray[np.int64]) -> float:
    """Return the sum of squares between groups of points."""
    grand = means.mean()
    return float(sum(
        (groups == group).sum() * (means[groups == group].mean() - grand) ** 2 for group in np.unique(groups)
    ))  # fmt: skip


@dataclass(frozen=True)
class Index:
    """First-order index of a factor: the share of the variance of the points' means that the factor alone explains.
    ``half`` is half the width of its interval."""

    factor: str
    first: float
    half: float


def first_order(values: Floats, shares_of_points: Mapping[str, Floats], seed: int) -> list[Index] | None:
    """Return first-order indices from drawn points (Plischke, Borgonovo & Smith 2013) by SALib; None without SALib.

    Args:
        values: of shape (points, seeds), without nan.
        shares_of_points: place of each point in each factor's range, from 0 to 1.
        seed: random seed of the interval, which is a bootstrap over points.
    """
    try:
        from SALib.analyze import delta
    except ImportError:
        return None
    names = list(shares_of_points)
    problem = {"num_vars": len(names), "names": names, "bounds": [[0.0, 1.0]] * len(names)}
    points = np.column_stack([shares_of_points[name] for name in names])
    found = delta.analyze(problem, points, values.mean(axis=1), num_resamples=100, seed=seed % 2**32)
    return [
        Index(name, float(first), float(half))
        for name, first, half in zip(names, found["S1"], found["S1_conf"], strict=True)
    ]


def best_points(values: Floats, *, higher: bool) -> list[int]:
    """Return the points that may be the best, the best mean first.

    A point is left out when it is worse than the point with the best mean: one-sided t tests of the differences by
    seed, which the common random numbers pair, with Bonferroni's correction. With one seed the best point remains.

    Args:
        values: of shape (points, seeds), without nan.
        higher: whether larger values are better.

    The probability that no point is left out wrongly is :data:`CONFIDENCE`.
    """
    gains = values if higher else -values
    means, seeds = gains.mean(axis=1), values.shape[1]
    order = np.argsort(-means, kind="stable")
    best = int(order[0])
    if seeds < 2 or len(values) < 2:
        return [best]
    limit = float(stdtrit(seeds - 1, 1 - (1 - CONFIDENCE) / (len(values) - 1)))
    differences = gains[best] - gains
    error = differences.std(axis=1, ddof=1) / sqrt(seeds)
    within = differences.mean(axis=1) <= limit * error
    return [int(point) for point in order if point == best or within[point]]
