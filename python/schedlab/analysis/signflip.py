"""Sign-flip permutation test of paired block values, and the interval that it does not reject."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import exp, floor

import numpy as np
from numpy.typing import NDArray

EXACT_UP_TO = 15
"""Number of blocks up to which all 2^n flips are listed (at most 32,768). For more blocks, flips are drawn.

The smallest p of 15 blocks is 6.1e-5, the smallest p of drawn flips is 5e-5. If the flips of 16 blocks were listed
(3.1e-5), a further block would raise the smallest p, and a run could lose a verdict by growing.
"""

DRAWS = 19_999
"""Number of drawn flips: p near 0.05 has a binomial standard error of about 0.0015."""

DISTINCT_UP_TO = 40
"""Number of blocks up to which drawn flips are made to differ. For 41 blocks, two of 20,000 flips are equal in 1 of
10,000 draws; a flip that flips no block is among them in 1 of 50 million draws."""

AT_ONCE = 1 << 17
"""Number of values in a chunk of flips: 1 MB of doubles fits into a cache. Chunks bound the memory for 2,000 blocks."""


def p_value(differences: NDArray[np.float64], seed: int) -> float:
    """Return the two-sided p of "the differences are symmetric around 0", by flipping each block's sign.

    Args:
        differences: shape (blocks,), log-ratios paired by block.
        seed: random seed of the drawn flips, used only beyond 15 blocks.

    p is exact if all flips are listed, else (b+1)/(m+1), which is never 0 (Phipson & Smyth 2010). If no drawn flip
    reaches the observed sum, p is at most Hoeffding's bound for such sums (1963, theorem 2), so that runs with many
    blocks can have verdicts over many rows. 1 for an empty input.
    """
    return float(p_values(differences[:, None], seed)[0])


def p_values(differences: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Return :func:`p_value` of each column; ``differences`` has shape (blocks, columns)."""
    n, count = differences.shape
    if n == 0:
        return np.ones(count)
    total = differences.sum(axis=0)
    # Sums that differ by rounding alone count as equal. Otherwise rounding might exclude the observed sum from the
    # count.
    least = np.abs(total) - 1e-12 * np.abs(differences).sum(axis=0)
    hits, drawn = np.zeros(count, dtype=np.int64), flips(n, seed)
    for chunk in drawn.chunks(count):
        hits += np.count_nonzero(np.abs(total - 2 * (chunk @ differences)) >= least, axis=0)
    if n <= EXACT_UP_TO:
        return hits / float(2**n)
    square = np.maximum((differences**2).sum(axis=0), np.finfo(np.float64).tiny)
    bound = np.where(hits == 0, 2.0 * np.exp(-(total**2) / (2 * square)), 1.0)
    return np.minimum((hits + 1) / (DRAWS + 1), bound)


def smallest_p(blocks: int, rows: int = 1) -> float:
    """Return the smallest possible p of a row in a test of ``rows`` rows: all its blocks change in one direction.

    For a single row, :func:`p_value` is the test; for several rows, ``step_down`` in ``simultaneous.py``. The smallest
    p never rises with the number of blocks.
    """
    return 2 / float(2**blocks) if blocks <= EXACT_UP_TO else min(1 / (DRAWS + 1), 2 * rows * exp(-blocks / 2))


def interval(differences: NDArray[np.float64], confidence: float, seed: int) -> tuple[float, float] | None:
    """Return the shifts of the differences that :func:`p_value` does not reject at 1 − confidence: (low, high).

    After a shift is subtracted, flipping a subset of blocks does not reduce the sum if the subset's mean is at most the
    shift. The bounds are therefore order statistics of the means of subsets (Hartigan 1969, typical values). None if
    the test cannot reject anything with so few blocks: below 6 at 0.95.
    """
    n = len(differences)
    if n == 0:
        return None
    drawn, exact = flips(n, seed), n <= EXACT_UP_TO
    sums = drawn.sums(differences)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / drawn.sizes
        if not exact:
            # Listed subsets include all complements. For drawn subsets, add the complements: p counts both tails.
            means = np.concatenate([means, (differences.sum() - sums) / (n - drawn.sizes)])
    # An empty subset has no mean: the quotient is 0 / 0, or a rounding error / 0.
    means = means[np.isfinite(means)]
    # The last rejected shift has k - 1 means below it: with the observed flip, k flips count in each tail.
    k = floor((1 - confidence) * (2 ** (n - 1) if exact else DRAWS + 1) * (1 + 1e-12))
    if k < 1:
        return None
    means.partition((k - 1, len(means) - k))
    return float(means[k - 1]), float(means[len(means) - k])


@dataclass(frozen=True)
class Flips:
    """A 1 for each block that a flip flips, shape (flips, blocks), and the number of these blocks, shape (flips,)."""

    flipped: NDArray[np.int8]
    sizes: NDArray[np.float64]

    @classmethod
    def of_matrix(cls, flipped: NDArray[np.int8]) -> Flips:
        """Return the flips of this matrix."""
        return cls(flipped, flipped.sum(axis=1, dtype=np.int64).astype(np.float64))

    @classmethod
    def of_codes(cls, codes: NDArray[np.int64], blocks: int) -> Flips:
        """Return the flips that the binary digits of ``codes`` describe; the lowest digit is the first block."""
        return cls.of_matrix((codes[:, None] >> np.arange(blocks) & 1).astype(np.int8))

    def chunks(self, columns: int = 1) -> Iterator[NDArray[np.float64]]:
        """Yield the flips in chunks, as doubles of shape (part, blocks), for products with this number of columns."""
        part = max(1, AT_ONCE // max(self.flipped.shape[1], columns))
        for start in range(0, len(self.flipped), part):
            yield self.flipped[start : start + part].astype(np.float64)

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of the flipped blocks' values under each flip.

        Values of shape (blocks,) give shape (flips,), values of shape (blocks, columns) give (flips, columns).
        """
        return np.concatenate([chunk @ values for chunk in self.chunks()])


@lru_cache(maxsize=8)
def flips(blocks: int, seed: int) -> Flips:
    """Return all flips up to 15 blocks, else drawn flips. All rows use the same flips.

    Drawn flips differ from each other, and each of them flips a block. Only flips that leave the last block unflipped
    are drawn: their complements only change the sign of a sum. The smallest possible p of drawn flips is therefore
    always 1/(m+1), as Hemerik & Goeman 2018 (theorem 2) allow.
    """
    if blocks <= EXACT_UP_TO:
        return Flips.of_codes(np.arange(2**blocks), blocks)
    generator = np.random.Generator(np.random.PCG64(seed))
    if blocks <= DISTINCT_UP_TO:
        return Flips.of_codes(1 + generator.choice(2 ** (blocks - 1) - 1, size=DRAWS, replace=False), blocks)
    return Flips.of_matrix(generator.integers(0, 2, size=(DRAWS, blocks), dtype=np.int8))
