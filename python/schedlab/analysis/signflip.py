"""Is there a difference: the sign-flip permutation test on paired block values."""

from __future__ import annotations

from functools import lru_cache

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

    Exact where all flips can be listed, else p = (b+1)/(m+1), which is never 0 (Phipson & Smyth 2010). An empty
    input gives 1.
    """
    n = len(differences)
    if n == 0:
        return 1.0
    observed = abs(differences.sum())
    # Sums that differ by rounding alone are equal: without this slack the observed flip may not count itself.
    slack = 1e-12 * float(np.abs(differences).sum())
    if n <= EXACT_UP_TO:
        bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        sums = np.abs((1 - 2 * bits) @ differences)
        return float(np.mean(sums >= observed - slack))
    hits = int(np.count_nonzero(np.abs(_signs(n, seed) @ differences) >= observed - slack))
    return (hits + 1) / (DRAWS + 1)


@lru_cache(maxsize=4)
def _signs(blocks: int, seed: int) -> NDArray[np.float64]:
    """The random flips, shape (draws, blocks): drawn once and used for every row, each of which they test alike."""
    generator = np.random.Generator(np.random.PCG64(seed))
    return np.asarray(generator.integers(0, 2, size=(DRAWS, blocks), dtype=np.int8) * 2.0 - 1.0, dtype=np.float64)
