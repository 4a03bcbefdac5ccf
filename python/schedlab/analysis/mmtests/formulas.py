"""The formulas behind MMTests' rows, over samples sorted from best to worst.

``docs/mmtests.md`` states each formula in words. Sums run over the sorted samples one by one, in MMTests' order:
figures agree to the last digit even where a standard deviation consists of rounding errors alone.
"""

from __future__ import annotations

from functools import cached_property
from math import isnan, nan, sqrt

import numpy as np
from numpy.typing import NDArray

from schedlab.results.metrics import Direction


class Samples:
    """The samples of one cell, best first. Statistics that cannot be computed from them are nan.

    Args:
        values: shape (samples,), at least one, finite, in any order.
        direction: whether lower or higher values are better.
    """

    def __init__(self, values: NDArray[np.float64], direction: Direction) -> None:
        ascending = np.sort(values)
        self.direction = direction
        self.best_first = ascending if direction == "lower" else ascending[::-1]
        self.n = len(values)

    @property
    def minimum(self) -> float:
        """The smallest sample, for either direction."""
        return float(self.best_first[0 if self.direction == "lower" else -1])

    @property
    def maximum(self) -> float:
        """The largest sample."""
        return float(self.best_first[-1 if self.direction == "lower" else 0])

    @cached_property
    def mean(self) -> float:
        """Harmonic mean (``Hmean``) where higher is better, arithmetic mean (``Amean``) where lower is better."""
        return self.best_mean(100)

    @cached_property
    def arithmetic_mean(self) -> float:
        """Σx / n."""
        return float(self._sums[-1]) / self.n if self.direction == "lower" else _in_turn(self.best_first) / self.n

    def best_mean(self, percent: float) -> float:
        """The mean of the best ⌊n·percent/100⌋ samples, at least one."""
        count = self._count(percent)
        if self.direction == "higher" and self.best_first[count - 1] <= 0:
            return nan  # a harmonic mean needs positive samples
        total = float(self._sums[count - 1])
        return count / total if self.direction == "higher" else total / count

    def percentile(self, percent: float) -> float:
        """The ⌊n·percent/100⌋-th sample from the best, which is number 1; not interpolated."""
        return float(self.best_first[self._count(percent) - 1])

    @cached_property
    def deviation(self) -> float:
        """Spread around the mean: √(Σ(x−mean)²/(n−1)), or around a harmonic mean H: H²·√(Σ(1/x−1/H)²/n)."""
        if self.direction == "lower":
            return self.standard_deviation
        if self.n < 2 or isnan(self.mean):
            return nan
        squares = _in_turn((1 / self.best_first - 1 / self.mean) ** 2)
        return sqrt(squares * self.mean**4 / self.n)

    @cached_property
    def standard_deviation(self) -> float:
        """√(Σ(x−x̄)²/(n−1)) around the arithmetic mean, for either direction."""
        return sqrt(self._squares / (self.n - 1)) if self.n > 1 else nan

    @cached_property
    def population_deviation(self) -> float:
        """√(Σ(x−x̄)²/n), MMTests' formula before 2017-06."""
        return sqrt(self._squares / self.n)

    @cached_property
    def _squares(self) -> float:
        return _in_turn((self.best_first - self.arithmetic_mean) ** 2)

    @cached_property
    def _sums(self) -> NDArray[np.float64]:
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = self.best_first if self.direction == "lower" else 1 / self.best_first
            return np.cumsum(terms)

    def _count(self, percent: float) -> int:
        return max(int(self.n * percent / 100), 1)

    def nearest_rank(self, percent: float) -> float:
        """The ascending sample of index ⌊(n−1)·percent/100 + ½⌋: quartiles and ``Max-P%`` before 2019-04."""
        ascending = self.best_first if self.direction == "lower" else self.best_first[::-1]
        return float(ascending[int((self.n - 1) * (percent / 100) + 0.5)])

    def old_best_mean(self, percent: float) -> float:
        """``BestP%Mean`` before 2017-11: mean of the lowest ⌊n·P/100⌋ + 1 samples, of all samples if that count is 1.

        Only for rows where lower is better: MMTests applied the formula to no other row of the supported benchmarks.
        """
        best = int(self.n * percent / 100)
        count = best + 1 if best else self.n
        return _in_turn(np.sort(self.best_first)[:count]) / count


def _in_turn(terms: NDArray[np.float64]) -> float:
    return float(np.cumsum(terms)[-1])


def variation(deviation: float, mean: float) -> float:
    """The coefficient of variation in per cent; nan for a mean of zero."""
    return deviation * 100 / mean if mean else nan


def gain(value: float, baseline: float, direction: Direction) -> float:
    """Return the gain of ``value`` over ``baseline`` in per cent: 100·x/base − 100, or 100 − 100·x/base.

    nan where the change is not a ratio, as in :func:`schedlab.analysis.gains.relative_change`. MMTests prints 100 or
    −99 for a baseline of zero, and from −5 to 5 a gain of 200 % where lower is better. Equal values have a gain of 0.
    MMTests formats a gain with 15 digits before it rounds to two decimals, which can matter at a tie.
    """
    if value == baseline:
        return 0.0
    if isnan(value) or isnan(baseline) or baseline <= 0 or value < 0:
        return nan
    share = value * 100 / baseline
    change = share - 100 if direction == "higher" else 100 - share
    return float(f"{change:.15g}")
