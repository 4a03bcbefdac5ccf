"""Is there a difference, and which ones are possible: sign-flip permutation of paired block values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import exp, floor

import numpy as np
from numpy.typing import NDArray

EXACT_UP_TO = 16
"""Blocks up to which all 2^n flips are listed (65,536 at the most); beyond, flips are drawn."""

DRAWS = 19_999
"""Random flips beyond that: p is then known to about ±0.0015 near 0.05 (binomial standard error)."""


def p_value(differences: NDArray[np.float64], seed: int) -> float:
    """Two-sided p of "the differences are symmetric around 0", by flipping each block's sign.

    Args:
        differences: shape (blocks,), log-ratios paired by block.
        seed: of the random flips, used only beyond 16 blocks.

    Exact where all flips can be listed, else p = (b+1)/(m+1), which is never 0 (Phipson & Smyth 2010). Where no drawn
    flip reaches the observed sum, p is no more than Hoeffding's bound for such sums (1963, theorem 2), so that many
    blocks can also answer many questions. An empty input gives 1.
    """
    n = len(differences)
    if n == 0:
        return 1.0
    total = float(differences.sum())
    # Sums that differ by rounding alone are equal: without this slack the observed flip may not count itself.
    slack = 1e-12 * float(np.abs(differences).sum())
    sums = np.abs(total - 2 * (flips(n, seed).flipped @ differences))
    hits = int(np.count_nonzero(sums >= abs(total) - slack))
    if n <= EXACT_UP_TO:
        return hits / float(2**n)
    drawn = (hits + 1) / (DRAWS + 1)
    return drawn if hits else min(drawn, 2.0 * exp(-(total**2) / (2 * float((differences**2).sum()))))


def smallest_p(blocks: int) -> float:
    """The smallest p that :func:`p_value` can have, however large the differences: that of blocks that all agree."""
    return 2 / float(2**blocks) if blocks <= EXACT_UP_TO else min(1 / (DRAWS + 1), 2 * exp(-blocks / 2))


def interval(differences: NDArray[np.float64], confidence: float, seed: int) -> tuple[float, float] | None:
    """The shifts of the differences that :func:`p_value` does not reject at 1 − confidence: (low, high).

    Flipping a subset of blocks makes the sum no smaller, after a shift is taken off, where the subset's mean is no
    larger than the shift. So the bounds are order statistics of the means of subsets (Hartigan 1969, typical values).
    None where the blocks are too few for the test to reject anything: below 6 at 0.95.
    """
    n = len(differences)
    if n == 0:
        return None
    drawn, exact = flips(n, seed), n <= EXACT_UP_TO
    sums = drawn.flipped @ differences
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / drawn.sizes
        if not exact:
            # A listed subset's complement is listed too; a drawn one's is added, as both tails count in p.
            means = np.concatenate([means, (differences.sum() - sums) / (n - drawn.sizes)])
    # Of an empty subset there is no mean: 0/0, or what rounding left of a sum over 0.
    means = means[np.isfinite(means)]
    # A shift with k - 1 means below it is the last that is rejected: with the observed flip, k count in each tail.
    k = floor((1 - confidence) * (2 ** (n - 1) if exact else DRAWS + 1) * (1 + 1e-12))
    if k < 1:
        return None
    means.partition((k - 1, len(means) - k))
    return float(means[k - 1]), float(means[len(means) - k])


@dataclass(frozen=True)
class Flips:
    """Which blocks each flip turns around, as 0 and 1, shape (flips, blocks), and how many, shape (flips,)."""

    flipped: NDArray[np.float64]
    sizes: NDArray[np.float64]


@lru_cache(maxsize=8)
def flips(blocks: int, seed: int) -> Flips:
    """All flips, or as many as are drawn: made once and used for every row, each of which they test alike."""
    if blocks <= EXACT_UP_TO:
        flipped = (np.arange(2**blocks)[:, None] >> np.arange(blocks)) & 1
    else:
        generator = np.random.Generator(np.random.PCG64(seed))
        flipped = generator.integers(0, 2, size=(DRAWS, blocks), dtype=np.int8)
    return Flips(flipped.astype(np.float64), flipped.sum(axis=1).astype(np.float64))
