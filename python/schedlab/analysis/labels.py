"""Permutation test of three labels: a variant, the baseline, and the A/A control, which measures the baseline again.

If the variant has no effect, its measurement in a block could have been any of the block's three measurements. The
test permutes which of the three is the variant's: 3ⁿ arrangements over n blocks, where an exchange of two has 2ⁿ. The
test compares sums of aligned ranks (Hodges & Lehmann 1962): the ranks of all measurements, after the mean of each block
is subtracted. The order within a block is random, so that drift, autocorrelation and differing blocks do not matter.

Each p is twice the smaller of two one-sided p values. Both rise or fall with a shift of the variant, because a shift
moves the variant's ranks in one direction and all other ranks in the other direction. The shifts that the test does not
reject are therefore an interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Floats = NDArray[np.float64]

LABELS = 3
"""Measurements of a block, in this order: variant, baseline, control."""

EXACT_UP_TO = 8
"""Number of blocks up to which all 3ⁿ arrangements are listed (at most 6,561). For more blocks, they are drawn.

The smallest p of 8 blocks is 3.0e-4, the smallest p of drawn arrangements is 2e-4: a further block never raises it.
"""

DRAWS = 9_999
"""Number of drawn arrangements: p near 0.05 has a standard error of about 0.003."""

DISTINCT_UP_TO = 39
"""Number of blocks up to which drawn arrangements are made to differ: 3³⁹ is the largest such number below 2⁶³."""

AT_ONCE = 1 << 20
"""Number of sums in a chunk: 4 MB of single-precision numbers."""

REACH = 3
"""Gaps on each side of an approximate bound of an interval that are tested first."""

_DIGITS = 12
"""Decimals of aligned values that count: values that differ by rounding alone are equal."""

_ROUNDING = 1e-6
"""Rounding error of single-precision sums, relative to the sum of all |scores|."""

_TOLERANCE = 2e-5
"""Difference of two standardised sums up to which they count as equal: rounding of single-precision sums."""


@dataclass(frozen=True)
class Tails:
    """One-sided p values: ``upper`` is small if the variant's values are high, ``lower`` if they are low."""

    upper: Floats
    lower: Floats

    @property
    def both(self) -> Floats:
        """The two-sided p: twice the smaller of the two, at most 1."""
        return np.asarray(np.minimum(1.0, 2 * np.minimum(self.upper, self.lower)))


def smallest_p(blocks: int, rows: int = 1) -> float:
    """Return the smallest possible two-sided p in a test of ``rows`` rows. It never rises with the number of blocks."""
    if blocks <= EXACT_UP_TO:
        return 2 / float(LABELS**blocks)
    # Scores of one variant with the highest rank in each block: (2, −1, −1). The sum is 2n, and each range is 3.
    return min(2 / (DRAWS + 1), 2 * rows * exp(-8 * blocks / 9))


def aligned_ranks(values: Floats) -> Floats:
    """Return the aligned ranks of measurements, shape (..., blocks, 3), each block's ranks centred at 0.

    Equal values share their mean rank. The sum of a label's scores is its rank sum less the expectation of this sum.
    """
    residuals = np.round(values - values.mean(axis=-1, keepdims=True), _DIGITS)
    flat = residuals.reshape(*residuals.shape[:-2], -1)
    order = np.argsort(flat, axis=-1, kind="stable")
    ordered = np.take_along_axis(flat, order, axis=-1)
    places = np.broadcast_to(np.arange(flat.shape[-1], dtype=np.float64), flat.shape)
    differ = ordered[..., 1:] != ordered[..., :-1]
    if not differ.all():
        starts, ends = np.ones(flat.shape, dtype=np.bool_), np.ones(flat.shape, dtype=np.bool_)
        starts[..., 1:] = ends[..., :-1] = differ
        first = np.maximum.accumulate(np.where(starts, places, 0), axis=-1)
        last = np.flip(np.minimum.accumulate(np.flip(np.where(ends, places, places[..., -1:]), -1), axis=-1), -1)
        places = (first + last) / 2
    ranks = np.empty_like(flat)
    np.put_along_axis(ranks, order, places, axis=-1)
    ranks = ranks.reshape(values.shape)
    return np.asarray(ranks - ranks.mean(axis=-1, keepdims=True))


def tails(scores: Floats, seed: int) -> Tails:
    """Return the one-sided p values of scores of shape (..., blocks, 3), each of shape (...).

    p is exact if all arrangements are listed, else (b+1)/(m+1), but at most Hoeffding's bound for such sums (1963,
    theorem 2) if no drawn arrangement reaches the observed sum. ``seed`` is the random seed of drawn arrangements.
    """
    *shape, blocks, _ = scores.shape
    scores = scores.reshape(-1, blocks, LABELS)
    size = np.abs(scores).sum(axis=(1, 2))
    differences = _differences(scores / np.where(size > 0, size, 1.0)[:, None, None])
    upper, lower = (np.zeros(len(scores), dtype=np.int64) for _ in range(2))
    for chunk in arrangements(blocks, seed).chunks(len(scores)):
        sums = differences @ chunk
        upper += np.count_nonzero(sums >= -_ROUNDING, axis=1)
        lower += np.count_nonzero(sums <= _ROUNDING, axis=1)
    return Tails(*(_p(hits, scores, 1).reshape(shape) for hits, scores in ((upper, scores), (lower, -scores))))


def p_value(values: Floats, seed: int) -> float:
    """Return the two-sided p of "the three labels are exchangeable", from logs of shape (blocks, 3)."""
    return float(tails(aligned_ranks(values), seed).both) if len(values) else 1.0


def p_within(values: Floats, margin: float, seed: int) -> float:
    """Return p of "the variant's shift lies outside ±margin": the larger of two one-sided tests (Schuirmann 1987)."""
    both = tails(aligned_ranks(np.stack([_shifted(values, margin), _shifted(values, -margin)])), seed)
    return float(max(both.lower[0], both.upper[1]))


def centre(values: Floats) -> float:
    """Return the variant's shift at which its rank sum equals its expectation (Hodges & Lehmann 1963).

    The shift is the median of the differences between the variant in one block and the baseline or the control in one
    block, both relative to their blocks: a pseudo-median.
    """
    return float(np.median(_crossings(values)))


def interval(values: Floats, confidence: float, seed: int) -> tuple[float, float] | None:
    """Return the shifts of the variant that :func:`p_value` does not reject at 1 − confidence: (low, high).

    The bounds are shifts at which two aligned ranks change their order. None if the test cannot reject anything with so
    few blocks: below 4 at 0.95.
    """
    level, blocks = (1 - confidence) * (1 + 1e-12), len(values)
    if smallest_p(blocks) > level:
        return None
    all_crossings = _crossings(values)
    crossings, counts = np.unique(np.round(all_crossings, _DIGITS), return_counts=True)
    if len(crossings) == 1:
        return float(crossings[0]), float(crossings[0])
    # The rank sum of the variant between two crossings is the number of higher crossings, less blocks².
    above = 2 * blocks**2 - np.cumsum(counts[:-1])
    middles = (crossings[:-1] + crossings[1:]) / 2

    def p_at(gaps: NDArray[np.intp]) -> Tails:
        """Return the p values of shifts in these gaps between crossings."""
        return tails(aligned_ranks(np.stack([_shifted(values, shift) for shift in middles[gaps]])), seed)

    # Gaps near a normal approximation of the bounds, with the spread of the rank sum at the centre.
    scores = aligned_ranks(_shifted(values, float(np.median(all_crossings))))
    half = -float(ndtri(level / 2)) * float(np.sqrt((scores**2).mean(axis=1).sum()))
    last = len(middles) - 1
    guesses = int(np.argmax(above - blocks**2 < half)), last - int(np.argmax((blocks**2 - above < half)[::-1]))
    windows = [np.arange(max(0, guess - REACH), min(last, guess + REACH) + 1) for guess in guesses]
    p = p_at(np.concatenate(windows))
    length = len(windows[0])
    low = _first(windows[0], p.upper[:length] > level / 2, last, lambda gaps: p_at(gaps).upper > level / 2)
    high = _first(windows[1], p.lower[length:] <= level / 2, last, lambda gaps: p_at(gaps).lower <= level / 2)
    return float(crossings[low]), float(crossings[high])


def by_block(rows: Sequence[Mapping[int, Floats]]) -> Floats:
    """Return scores by block as an array of shape (rows, blocks, 3), 0 where a row lacks the block."""
    blocks = sorted({block for row in rows for block in row})
    places, scores = {block: i for i, block in enumerate(blocks)}, np.zeros((len(rows), len(blocks), LABELS))
    for of_row, row in zip(scores, rows, strict=True):
        of_row[[places[block] for block in row]] = list(row.values())
    return scores


def step_down(scores: Floats, seed: int) -> Floats:
    """Return each row's two-sided p, adjusted over all rows: the probability of any false alarm is at most α.

    Westfall & Young's free step-down (1993) in each direction: the row with the highest rank sum, divided by its
    standard deviation over all arrangements, is compared with the highest of all rows under each arrangement, the next
    row with the highest of the remaining rows. p is twice the smaller of the p values of the two directions. The labels
    of a whole block are permuted for all rows at once, which preserves the rows' dependence.

    Args:
        scores: shape (rows, blocks, 3), centred in each block; 0 where a row lacks the block.
        seed: random seed of drawn arrangements.
    """
    rows, blocks, _ = scores.shape
    if rows == 0 or blocks == 0:
        return np.ones(rows)
    size = np.sqrt((scores**2).mean(axis=2).sum(axis=1))
    scaled = scores / np.where(size > 0, size, 1.0)[:, None, None]
    p = (_step_down(direction * scaled, seed) for direction in (1.0, -1.0))
    return np.asarray(np.minimum(1.0, 2 * np.minimum(*p)))


def _step_down(scaled: Floats, seed: int) -> Floats:
    """Return the adjusted one-sided p of each row, for rows with high sums."""
    blocks, observed = scaled.shape[1], scaled[:, :, 0].sum(axis=1)
    # From the smallest sum up, so that the maxima are cumulative.
    order = np.argsort(observed, kind="stable")
    scaled, observed = scaled[order], observed[order]
    differences, hits = _differences(scaled), np.zeros(len(scaled), dtype=np.int64)
    start, least = observed.astype(np.float32)[:, None], (observed - _TOLERANCE).astype(np.float32)[:, None]
    for chunk in arrangements(blocks, seed).chunks(len(scaled)):
        sums = differences @ chunk
        sums += start
        np.maximum.accumulate(sums, axis=0, out=sums)
        hits += np.count_nonzero(sums >= least, axis=1)
    adjusted = np.empty(len(scaled))
    adjusted[order] = np.maximum.accumulate(_p(hits, scaled, np.arange(1, len(scaled) + 1))[::-1])[::-1]
    return adjusted


@dataclass(frozen=True)
class Arrangements:
    """For each arrangement and block, whether the baseline's, or the control's, measurement counts as the variant's.

    ``others`` has shape (2 · blocks, arrangements): first the baseline in each block, then the control.
    """

    others: NDArray[np.float32]

    def chunks(self, rows: int) -> Iterator[NDArray[np.float32]]:
        """Yield the arrangements in chunks, for products with this number of rows."""
        part = max(1, AT_ONCE // max(rows, len(self.others)))
        for start in range(0, self.others.shape[1], part):
            yield self.others[:, start : start + part]


@lru_cache(maxsize=8)
def arrangements(blocks: int, seed: int) -> Arrangements:
    """Return all arrangements up to 8 blocks, else drawn arrangements. All rows use the same arrangements.

    Drawn arrangements differ from each other and from the measured arrangement, so that the smallest possible p is
    always 1/(m+1), as Hemerik & Goeman 2018 (theorem 2) allow.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    if blocks <= DISTINCT_UP_TO:
        exact = blocks <= EXACT_UP_TO
        codes = np.arange(LABELS**blocks) if exact else 1 + generator.choice(LABELS**blocks - 1, DRAWS, replace=False)
        labels = codes[:, None] // LABELS ** np.arange(blocks) % LABELS
    else:
        labels = generator.integers(0, LABELS, size=(DRAWS, blocks), dtype=np.int8)
    return Arrangements(np.concatenate([label == labels.T for label in range(1, LABELS)]).astype(np.float32))


def _differences(scores: Floats) -> NDArray[np.float32]:
    """Return the change of each row's sum if another label counts as the variant, shape (rows, 2 · blocks)."""
    changes = scores[:, :, 1:] - scores[:, :, :1]
    return changes.transpose(0, 2, 1).reshape(len(scores), -1).astype(np.float32)


def _p(hits: NDArray[np.int64], scores: Floats, rows: int | NDArray[np.int64]) -> Floats:
    """Return the one-sided p of each row from the arrangements that reach its sum.

    Drawn arrangements: at most Hoeffding's bound of the probability that any of ``rows`` such sums reaches the sum.
    """
    blocks = scores.shape[1]
    if blocks <= EXACT_UP_TO:
        return np.asarray(hits / float(LABELS**blocks))
    square = (np.ptp(scores, axis=2) ** 2).sum(axis=1)
    total = np.maximum(scores[:, :, 0].sum(axis=1), 0.0)
    bound = rows * np.exp(-2 * total**2 / np.where(square > 0, square, 1.0))
    return np.minimum((hits + 1) / (DRAWS + 1), np.where(hits == 0, bound, 1.0))


def _shifted(values: Floats, shift: float) -> Floats:
    """Return the values after the shift is subtracted from the variant's."""
    return values - shift * np.array([1.0, 0.0, 0.0])


def _crossings(values: Floats) -> Floats:
    """Return the shifts at which an aligned value of the variant equals an aligned value of another label, (2n²,)."""
    variant = values[:, 0] - values[:, 1:].mean(axis=1)
    others = values[:, 1:] - values[:, 1:].mean(axis=1, keepdims=True)
    return np.asarray((2 * variant[:, None, None] + variant[:, None]) / 3 - others[None]).ravel()


def _first(
    window: NDArray[np.intp],
    fulfilled: NDArray[np.bool_],
    last: int,
    holds: Callable[[NDArray[np.intp]], NDArray[np.bool_]],
) -> int:
    """Return the first place up to ``last`` at which a condition holds; ``last`` + 1 if it holds nowhere.

    The condition holds at every later place. ``fulfilled`` is the condition at the places of a first window. Each
    further window is twice as wide, because a test of ten places takes little more time than the test of a single
    place.
    """
    low, high, width = 0, last + 1, REACH
    while True:
        if fulfilled.all():
            high = int(window[0])
        elif fulfilled.any():
            return int(window[np.argmax(fulfilled)])
        else:
            low = int(window[-1]) + 1
        if low >= high:
            return low
        width *= 2
        window = np.arange(max(low, high - width), high) if fulfilled.all() else np.arange(low, min(high, low + width))
        fulfilled = holds(window)
