"""Responses of a figure to factors, the shares of its variance, and the points that may be the best.

The unit of evidence is the block, or the seed of a simulation: every point has a value in each block, and an interval
is over blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, isnan, nan, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtr

from schedlab.analysis.multiplicity import adjust
from schedlab.analysis.paired import student

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
    """Share of the variance that one factor, two factors together or another source explains.

    Attributes:
        factors: the source.
        share: an unbiased estimate: 0 on average for a source without effect, and therefore negative at times.
        p: of an F test that the source has no effect, corrected for the number of sources (Holm); nan for noise.
    """

    factors: tuple[str, ...]
    share: float
    p: float


def mean(by_seed: Floats, confidence: float = CONFIDENCE) -> Mean:
    """Return the mean of values by seed with Student's interval (Student 1908); values of shape (seeds,)."""
    return Mean(*student(by_seed, confidence))


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
"""Sources of variance beside factors and pairs of factors. The seeds include all noise."""


def shares(values: Floats, levels: Mapping[str, Sequence[int]]) -> list[Share]:
    """Return the shares of the variance by main effects, interactions of two factors, other interactions, and noise.

    The sums of squares of a balanced factorial add up to the whole (Fisher 1925). Noise adds to every sum of squares,
    in proportion to its degrees of freedom; this part is removed (epsilon squared, Kelley 1935). The noise is the
    difference of points between seeds; with one seed, it is the highest interaction (Montgomery 2017, chapter 6.5). []
    when all values are equal, and for one factor with one seed.

    Args:
        values: of a full grid, of shape (points, seeds), without nan.
        levels: the level of each point by factor.
    """
    means, grand = values.mean(axis=1), float(values.mean())
    whole = float(((values - grand) ** 2).sum())
    # Sums of rounded numbers differ in their last digits even where all values are equal.
    least = 1e-24 * max(grand * grand, 1e-300) * values.size
    if whole <= least:
        return []
    sources = [source for source in _sources(means, levels) if source.freedom]
    count, seeds = values.shape
    if seeds > 1:
        left = values - means[:, np.newaxis] - values.mean(axis=0) + grand
        noise = _Source((SEEDS,), float((left**2).sum()) / seeds, (count - 1) * (seeds - 1))
    else:
        noise = sources.pop()
    if not sources:
        return []
    unit = noise.squares / noise.freedom if noise.squares * seeds > least else 0.0
    explained = [seeds * (source.squares - source.freedom * unit) / whole for source in sources]
    p_values = adjust([_f_test(source, unit, noise.freedom, least / seeds) for source in sources], "holm")
    parts = [Share(source.factors, share, p) for source, share, p in zip(sources, explained, p_values, strict=True)]
    return [*parts, Share((SEEDS,), 1 - sum(explained), nan)]


@dataclass(frozen=True)
class _Source:
    """A sum of squares of points' means, and its degrees of freedom."""

    factors: tuple[str, ...]
    squares: float
    freedom: int


def _sources(means: Floats, levels: Mapping[str, Sequence[int]]) -> list[_Source]:
    """Divide the squares of the points' means by main effects, pairs of factors, and higher interactions."""
    mains = {name: _Source((name,), *_between(means, np.asarray(of_point))) for name, of_point in levels.items()}
    pairs = []
    for first, second in combinations(levels, 2):
        joint = np.unique(np.column_stack([levels[first], levels[second]]), axis=0, return_inverse=True)[1].ravel()
        squares, freedom = _between(means, joint)
        parts = mains[first], mains[second]
        squares -= sum(part.squares for part in parts)
        pairs.append(_Source((first, second), max(squares, 0.0), freedom - sum(part.freedom for part in parts)))
    lower_orders = [*mains.values(), *pairs]
    squares = float(((means - means.mean()) ** 2).sum()) - sum(source.squares for source in lower_orders)
    freedom = len(means) - 1 - sum(source.freedom for source in lower_orders)
    return [*lower_orders, _Source((HIGHER,), max(squares, 0.0), freedom)]


def _between(means: Floats, groups: NDArray[np.int64]) -> tuple[float, int]:
    """Return the sum of squares between groups of points, and its degrees of freedom."""
    grand, names = means.mean(), np.unique(groups)
    squares = sum((groups == group).sum() * (means[groups == group].mean() - grand) ** 2 for group in names)
    return float(squares), len(names) - 1


def _f_test(source: _Source, unit: float, freedom: int, least: float) -> float:
    """Return the p of a source against the mean square of the noise, which may be 0."""
    if not unit:
        return 0.0 if source.squares > least else 1.0
    return float(fdtrc(source.freedom, freedom, source.squares / source.freedom / unit))


@dataclass(frozen=True)
class Index:
    """First-order index of a factor: the share of the variance of the points' means that the factor alone explains.

    ``p``: of an F test that the factor explains nothing, corrected for the number of factors (Holm).
    """

    factor: str
    first: float
    p: float


def first_order(values: Floats, shares_of_points: Mapping[str, Floats]) -> list[Index]:
    """Return first-order indices from drawn points (Plischke, Borgonovo & Smith 2013).

    The points are divided by each factor into bins of equal size. The index is the share of the squares between the
    bins without the part that noise and the other factors add (epsilon squared, Kelley 1935).

    Args:
        values: of shape (points, seeds), without nan and not all equal.
        shares_of_points: place of each point in each factor's range, from 0 to 1.
    """
    means = values.mean(axis=1)
    whole, count = float(((means - means.mean()) ** 2).sum()), len(means)
    most = round(count ** (1 / 3)) + 1
    firsts, p_values = [], []
    for places in shares_of_points.values():
        bins = np.unique(places, return_inverse=True)[1]
        if bins.max() >= most:
            bins = places.argsort(kind="stable").argsort() * most // count
        squares, freedom = _between(means, bins)
        left = count - 1 - freedom
        unit = max(whole - squares, 0.0) / left
        firsts.append((squares - freedom * unit) / whole)
        p_values.append(_f_test(_Source((), squares, freedom), unit, left, 0.0) if freedom else 1.0)
    corrected = adjust(p_values, "holm")
    return [Index(*fields) for fields in zip(shares_of_points, firsts, corrected, strict=True)]


def best_points(values: Floats, *, higher: bool) -> list[int]:
    """Return the points that may be the best, the best mean first.

    A point is left out when it is worse than the point with the best mean: one-sided t tests of the differences by
    seed, which the common random numbers pair. Bonferroni's correction counts the points that may have the best mean by
    luck, and Holm's correction the points that may equal the best. With one seed the best point remains.

    Args:
        values: of shape (points, seeds), without nan.
        higher: whether larger values are better.

    The probability that no best point is left out, of one or of several equal points, is :data:`CONFIDENCE`.
    """
    gains = values if higher else -values
    means, seeds = gains.mean(axis=1), values.shape[1]
    order = [int(point) for point in np.argsort(-means, kind="stable")]
    best, others = order[0], order[1:]
    if seeds < 2 or not others:
        return [best]
    differences = gains[best] - gains[others]
    error = differences.std(axis=1, ddof=1) / sqrt(seeds)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistics = differences.mean(axis=1) / error
    # Equal points have neither difference nor error.
    chances = [1.0 if isnan(t) else float(stdtr(seeds - 1, -t)) for t in statistics]
    corrected = adjust([min(1.0, len(others) * chance) for chance in chances], "holm")
    return [best, *(point for point, p in zip(others, corrected, strict=True) if p > 1 - CONFIDENCE)]
