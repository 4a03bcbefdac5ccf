"""Wilcoxon's signed-rank test of paired log-ratios (1945), for the worst cases of blocks.

The largest of many values has an extreme-value distribution (Fisher & Tippett 1928; Gnedenko 1943). If a change
multiplies maxima with a heavy tail (Fréchet) by a factor, their log-ratio has a logistic distribution around the log of
that factor, and the signed-rank test is the locally most powerful rank test for its centre (Hájek & Šidák 1967). The
test is the sign-flip test of signed ranks, so that it needs no assumption besides exchangeable pairs, and takes part in
joint tests of rows.
"""

from __future__ import annotations

from bisect import bisect_left
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from schedlab.analysis.signflip import p_value, smallest_p

Floats = NDArray[np.float64]

_DIGITS = 12
"""Decimals of log-ratios that count: ratios that differ by rounding alone are equal."""


def signed_ranks(differences: Floats) -> Floats:
    """Return the rank of each |difference|, with its sign; equal sizes share their mean rank, and 0 has no sign.

    Zeros take part in the ranking (Pratt 1959). Infinite differences (a value of 0) have the highest ranks.
    """
    rounded = np.round(differences, _DIGITS)
    _, place, counts = np.unique(np.abs(rounded), return_inverse=True, return_counts=True)
    mean_ranks = np.cumsum(counts) - (counts - 1) / 2
    return np.asarray(np.sign(rounded) * mean_ranks[place], dtype=np.float64)


def centre(differences: Floats) -> float:
    """Return the median of all means of two differences (Hodges & Lehmann 1963)."""
    return float(np.median(_walsh(differences)))


def p_centre(differences: Floats, seed: int) -> float:
    """Return the two-sided p of "the differences are symmetric around 0", by flipping the signs of their ranks."""
    return p_value(signed_ranks(differences), seed)


def p_within(differences: Floats, margin: float, seed: int) -> float:
    """Return p of "the centre lies outside ±margin": the larger of two one-sided tests.

    The distribution of a flipped sum is symmetric, so that a one-sided p is half of the two-sided p.
    """
    return max(_p_below(differences - margin, seed), _p_below(-differences - margin, seed))


def _p_below(differences: Floats, seed: int) -> float:
    """Return the one-sided p of "the centre is at least 0"."""
    ranks = signed_ranks(differences)
    half = p_value(ranks, seed) / 2
    return half if ranks.sum() < 0 else 1 - half


def interval(differences: Floats, confidence: float, seed: int) -> tuple[float, float] | None:
    """Return the shifts of the differences that :func:`p_centre` does not reject at 1 − confidence: (low, high).

    The signed ranks of shifted differences change only where the shift is a mean of two differences (Tukey 1949), so
    that the bounds are such means. None if the test cannot reject anything with so few blocks.
    """
    level = (1 - confidence) * (1 + 1e-12)
    if smallest_p(len(differences)) > level:
        return None
    means, middle = np.unique(_walsh(differences)), centre(differences)

    def rejected(place: int) -> bool:
        """Whether shifts between the means at ``place`` and ``place + 1`` are rejected."""
        below, above = float(means[place]), float(means[place + 1])
        if isfinite(below) and isfinite(above):
            shift = (below + above) / 2
        else:
            shift = above - 1 if isfinite(above) else below + 1 if isfinite(below) else 0.0
        return p_centre(differences - shift, seed) <= level

    # If the centre is itself a mean, all shifts beside it may be rejected: many equal differences.
    upper = int(np.searchsorted(means, middle, side="right")) - 1
    lower = int(np.searchsorted(means, middle, side="left")) - 1
    high = upper + bisect_left(range(upper, len(means) - 1), True, key=rejected)
    low = lower + 1 - bisect_left(range(lower, -1, -1), True, key=rejected)
    return min(float(means[low]), middle), max(float(means[high]), middle)


def _walsh(differences: Floats) -> Floats:
    """Return the means of all pairs of differences, and the differences, rounded as the ranks are."""
    i, j = np.triu_indices(len(differences))
    with np.errstate(invalid="ignore"):
        means = np.round((differences[i] + differences[j]) / 2, _DIGITS)
    # Opposite infinities cancel: a cause that appears in a block and disappears in another block.
    return np.asarray(np.where(np.isnan(means), 0.0, means), dtype=np.float64)
