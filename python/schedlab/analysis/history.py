"""Levels over many runs, and the runs at which they changed.

A series has a value for each run, in the order of time. A change point divides a part of the series in two; the test
is by permutation of the largest difference between two adjacent means (Antoch & Hušková 2001), and both halves are
searched again, as in E-divisive (Matteson & James 2014), which Apache Otava uses. The chance that a series of
exchangeable values has any change point is at most ``alpha``. Values of a machine that drifts are not exchangeable:
there, change points also show the drift.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import exp, nan, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

ALPHA = 0.001
"""Probability of a change point in a series without change. A site has hundreds of series, and searches each at each
run."""

SHUFFLES = 4_999
"""Permutations of a test; the least p is 1 / (SHUFFLES + 1)."""

SHORTEST = 2
"""Runs on either side of a change point. A single run that differs is not a change of level."""

LEAST_RUNS = 14
"""Runs from which a series can show a change: of 14 values, 2 of 3,432 orders have the largest difference in the
middle, of 13 values 2 of 1,716."""

_BATCH = 200
"""Permutations computed at once: 1,000 runs take 1.6 MB."""

_SEED = 20040
"""Random seed of the permutations, so that a site is made alike from the same runs."""

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
        p: of the permutation test.
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
    scaled = np.log(values) if is_geometric else values
    mean, back = float(scaled.mean()), exp if is_geometric else float
    if len(scaled) < 2:
        return Level(back(mean), nan, nan)
    half = float(stdtrit(len(scaled) - 1, 0.975)) * float(scaled.std(ddof=1)) / sqrt(len(scaled))
    return Level(back(mean), back(mean - half), back(mean + half))


def change_points(values: Sequence[float], alpha: float = ALPHA) -> list[ChangePoint]:
    """Return the change points of a series, in order. ``values`` are finite, in the order of time."""
    if len(values) < 2 * SHORTEST:
        return []
    plain = np.array(values, np.float64)
    is_geometric = bool((plain > 0).all())
    scaled = np.log(plain) if is_geometric else plain
    found = sorted(_search(scaled, 0, len(scaled), alpha, np.random.default_rng(_SEED)))
    ends = [0, *(index for index, _ in found), len(scaled)]
    means = [float(scaled[i:j].mean()) for i, j in itertools.pairwise(ends)]
    levels = [exp(mean) if is_geometric else mean for mean in means]
    return [ChangePoint(index, levels[k], levels[k + 1], p) for k, (index, p) in enumerate(found)]


def shown_at(values: Sequence[float], start: int, index: int) -> int:
    """Return the index of the value that first showed a change point, as the values came one by one.

    This is the least number of values after which the test finds a change since ``start``: a function of these values
    alone, whatever values follow.

    Args:
        values: of the series, as for :func:`change_points`.
        start: index of the previous change point, or 0.
        index: of the first value after the change.
    """
    for end in range(index + SHORTEST, len(values)):
        part = _scaled(values[start:end])
        if next(_search(part, 0, len(part), ALPHA, np.random.default_rng(_SEED)), None) is not None:
            return end - 1
    return len(values) - 1


def _scaled(values: Sequence[float]) -> Values:
    """Return logarithms where all values are above 0, otherwise the values."""
    plain = np.array(values, np.float64)
    return np.log(plain) if (plain > 0).all() else plain


def _search(
    values: Values, first: int, last: int, alpha: float, random: np.random.Generator
) -> Iterator[tuple[int, float]]:
    """Yield index and p of the change points between two indices, in no order."""
    part = values[first:last]
    if len(part) < 2 * SHORTEST or np.ptp(part) == 0:
        return
    statistic, index = _largest(part[np.newaxis, :])
    p = _p_value(part, float(statistic[0]), alpha, random)
    if p > alpha:
        return
    middle = first + int(index[0])
    yield middle, p
    yield from _search(values, first, middle, alpha, random)
    yield from _search(values, middle, last, alpha, random)


def _largest(rows: Values) -> tuple[Values, NDArray[np.int64]]:
    """Return, for each row, the largest standardised difference of two adjacent means, and the index between them."""
    before, deviations = _places(rows.shape[1])
    centred = rows - rows.mean(axis=1, keepdims=True)
    sums = np.abs(np.cumsum(centred, axis=1)[:, before - 1])
    scaled = sums / deviations
    place = scaled.argmax(axis=1)
    return scaled[np.arange(len(rows)), place], before[place]


def _places(size: int) -> tuple[NDArray[np.int64], Values]:
    """Return the numbers of values that may precede a change, and the deviation of their sum if the variance is 1."""
    before = np.arange(SHORTEST, size - SHORTEST + 1)
    return before, np.sqrt(before * (size - before) / size)


def _bound(part: Values, statistic: float) -> float:
    """Return an upper bound of the chance that a permutation reaches ``statistic``, which may be above 1.

    The sum of the first k values of a permutation is a sum of draws without replacement, whose chance to be large is at
    most that with replacement (Hoeffding 1963, theorem 4): Bernstein's inequality for each k, added up over all k.
    """
    before, deviations = _places(len(part))
    drawn = np.minimum(before, len(part) - before)
    sums = statistic * deviations
    largest = np.abs(part - part.mean()).max()
    return float(2 * np.exp(-(sums**2) / (2 * drawn * part.var() + largest * sums * 2 / 3)).sum())


def _p_value(part: Values, statistic: float, alpha: float, random: np.random.Generator) -> float:
    """Return the p of the permutation test; the test ends as soon as p is above ``alpha``.

    The least p needs no permutation where none is likely to reach ``statistic``.
    """
    if _bound(part, statistic) < 1 / (SHUFFLES + 1):
        return 1 / (SHUFFLES + 1)
    # Sums in another order differ in their last bits.
    least = statistic * (1 - 1e-9)
    reached, done = 0, 0
    while done < SHUFFLES and reached + 1 <= alpha * (SHUFFLES + 1):
        count = min(_BATCH, SHUFFLES - done)
        shuffled = random.permuted(np.broadcast_to(part, (count, len(part))), axis=1)
        reached += int((_largest(shuffled)[0] >= least).sum())
        done += count
    return (reached + 1) / (done + 1)
