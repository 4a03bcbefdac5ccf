"""Levels over many runs, and the runs at which they changed.

A series has a value for each run, in the order of time, and is searched in this order: a shift of level that a test
(:mod:`schedlab.analysis.level_shift`) finds is a change point, from which the search begins again. The test allows that
neighbouring runs resemble each other.

A history is read again after each run. The level of the test is therefore spent over the runs since the last
change: a series of n runs is tested at ``alpha * (LEAST_RUNS - 1) / (n * (n - 1))``. These levels add up to ``alpha``
over all n from :data:`LEAST_RUNS` on. The chance that a series without change ever shows one is at most ``alpha``,
however often it is read, if the noise follows a model of the test and the bootstrap is exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import exp, nan

import numpy as np
from numpy.typing import NDArray

from schedlab.analysis.level_shift import LONGEST, SHORTEST, likeliest, likely_shift
from schedlab.analysis.paired import student

ALPHA = 0.1
"""Sum of the levels of all tests of a series. It bounds the probability that a series without change ever shows one, if
the noise follows a model of the test. Tests after neighbouring runs share most of their runs, so that the probability
is smaller for such noise: 0 to 5 % in the study ``benches/study/changes.py``. Other noise has more false changes, for
example 8 to 11 % with a slow season of twice the noise, and 30 to 50 % on three of four recordings of a shared
machine."""

LEAST_RUNS = 14
"""Runs from which a series can show a change. Fewer runs do not show how much neighbours resemble each other."""

STEP = 0.0625
"""Share of the runs since the last change by which the next test of a search has more runs."""

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Level:
    """A mean over the blocks of a run with its 95 % interval, which is nan for a single block."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class ChangePoint:
    """A change of level.

    Attributes:
        index: index of the first value after the change.
        before, after: means of the values from the previous change point, and until the next.
        p: of the test (:func:`~schedlab.analysis.level_shift.likely_shift`).
    """

    index: int
    before: float
    after: float
    p: float

    @property
    def ratio(self) -> float:
        """``after / before``; nan unless both are above 0."""
        return self.after / self.before if min(self.before, self.after) > 0 else nan


def level(blocks: Collection[float]) -> Level:
    """Return the mean over one block or more: geometric where all values are above 0, otherwise arithmetic.

    The interval is Student's, of the logarithms where the mean is geometric.
    """
    values = np.array(list(blocks), np.float64)
    is_geometric = bool((values > 0).all())
    mean, low, high = student(np.log(values) if is_geometric else values, 0.95)
    return Level(exp(mean), exp(low), exp(high)) if is_geometric else Level(mean, low, high)


def change_points(values: Sequence[float], alpha: float = ALPHA) -> list[ChangePoint]:
    """Return the change points of a series, in order. ``values`` are finite, in the order of time."""
    if len(values) < LEAST_RUNS:
        return []
    is_geometric = min(values) > 0
    scaled = _scaled(values)
    found = list(_search(scaled, alpha))
    ends = [0, *(index for index, _ in found), len(scaled)]
    # All runs between two changes show the place of a change better than the runs that first showed the change.
    for k in range(1, len(ends) - 1):
        ends[k] = likeliest(scaled, *ends[k - 1 : k + 2])
    means = [float(scaled[i:j].mean()) for i, j in itertools.pairwise(ends)]
    levels = [exp(mean) if is_geometric else mean for mean in means]
    return [ChangePoint(ends[k + 1], levels[k], levels[k + 1], p) for k, (_, p) in enumerate(found)]


def shown_at(values: Sequence[float], start: int, index: int) -> int:
    """Return the index of the value that first showed a change point, as the values came one by one.

    This is the least number of values after which the test finds a change since ``start``: a function of these values
    alone, whatever values follow.

    Args:
        values: of the series, as for :func:`change_points`.
        start: index of the previous change point, or 0.
        index: of the first value after the change.
    """
    for end in range(max(index + SHORTEST, start + LEAST_RUNS), len(values)):
        if newest_shift(_scaled(values[start:end])):
            return end - 1
    return len(values) - 1


def _scaled(values: Sequence[float]) -> Values:
    """Return logarithms where all values are above 0, otherwise the values."""
    plain = np.array(values, np.float64)
    return np.log(plain) if (plain > 0).all() else plain


def level_after(runs: int, alpha: float = ALPHA) -> float:
    """Return the level of the test of a series with this number of runs since its last change."""
    return alpha * (LEAST_RUNS - 1) / (runs * (runs - 1))


def newest_shift(values: Values, alpha: float = ALPHA) -> tuple[int, float] | None:
    """Return index and p of a change that the newest values show; None without a change.

    Args:
        values: all values since the last change, in the order of time, or their logarithms.
        alpha: probability that such values without change ever show one.
    """
    begin = max(0, len(values) - LONGEST)
    shift = likely_shift(values[begin:], level_after(len(values), alpha))
    return (begin + shift[0], shift[1]) if shift else None


def _search(values: Values, alpha: float) -> Iterator[tuple[int, float]]:
    """Yield index and p of the change points, in order.

    The values are read as the runs came, and each change ends the search of the values before, so that a later change
    does not hide an earlier one. Not every run is the last of a test: the next test has more runs by :data:`STEP`, and
    its runs overlap those of the test before.
    """
    start, end = 0, LEAST_RUNS
    while end <= len(values):
        if shift := newest_shift(values[start:end], alpha):
            start += shift[0]
            yield start, shift[1]
            end = start + LEAST_RUNS
        elif end == len(values):
            return
        else:
            end = min(end + int(min(max(STEP * (end - start), 1), LONGEST / 4)), len(values))
