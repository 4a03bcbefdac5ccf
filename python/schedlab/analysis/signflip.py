"""Sign-flip permutation test of paired block values, and the interval that it does not reject."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import exp, floor

import numpy as np
from numpy.typing import NDArray

EXACT_UP_TO = 15
"""Number of blocks up to which all 2^n flips are listed (at most 32,768); beyond, flips are drawn.

The smallest p of 15 blocks is 6.1e-5, that of drawn flips 5e-5. With 16 listed blocks (3.1e-5) a further block would
raise the smallest p, so that a run could lose a verdict by growing.
"""

DRAWS = 19_999
"""Number of random flips beyond that: p near 0.05 then has a binomial standard error of about 0.0015."""

DISTINCT_UP_TO = 40
"""Number of blocks up to which drawn flips are made to differ. Two of 20,000 flips of 41 blocks agree in 1 of 10,000
draws; one of them is the unflipped order in 1 of 50 million."""

AT_ONCE = 1 << 17
"""Values of a chunk of flips, 1 MB as doubles, which fits into a cache: tests of 2,000 blocks need no more memory."""


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
    # Sums that differ by rounding alone count as equal. Otherwise the observed flip may not count itself.
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
    """Return the smallest possible p of one of ``rows`` rows that are tested together, all of its blocks agreeing.

    For a single row it is that of :func:`p_value`, for several that of ``step_down`` in ``simultaneous.py``. It never
    rises with the number of blocks.
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
            # The complement of a listed subset is listed too. That of a drawn one is added, as both tails count in p.
            means = np.concatenate([means, (differences.sum() - sums) / (n - drawn.sizes)])
    # An empty subset has no mean: its sum is 0, or a rounding error, over 0.
    means = means[np.isfinite(means)]
    # The last rejected shift has k - 1 means below it: with the observed flip, k flips count in each tail.
    k = floor((1 - confidence) * (2 ** (n - 1) if exact else DRAWS + 1) * (1 + 1e-12))
    if k < 1:
        return None
    means.partition((k - 1, len(means) - k))
    return float(means[k - 1]), float(means[len(means) - k])


@dataclass(frozen=True)
class Flips:
    """The blocks that each flip flips, as 0 and 1, shape (flips, blocks), and their number, shape (flips,)."""

    flipped: NDArray[np.int8]
    sizes: NDArray[np.float64]

    @classmethod
    def of_matrix(cls, flipped: NDArray[np.int8]) -> Flips:
        """Return the flips of this matrix."""
        return cls(flipped, flipped.sum(axis=1, dtype=np.int64).astype(np.float64))

    @classmethod
    def of_codes(cls, codes: NDArray[np.int64], blocks: int) -> Flips:
        """Return the flips whose binary digits are these numbers; the lowest digit is the first block."""
        return cls.of_matrix((codes[:, None] >> np.arange(blocks) & 1).astype(np.int8))

    def chunks(self, columns: int = 1) -> Iterator[NDArray[np.float64]]:
        """Yield the flips in chunks, as doubles of shape (part, blocks), for products with so many columns."""
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
    """Return all flips, or the drawn ones. They are made once and used for every row.

    Drawn flips differ from each other, and none of them has the effect of no flip. The flips with the last block in its
    place stand for their complements, which only change the sign of a sum. The smallest possible p of drawn flips is
    therefore always 1/(m+1), as Hemerik & Goeman 2018 (theorem 2) allow.
    """
    if blocks <= EXACT_UP_TO:
        return Flips.of_codes(np.arange(2**blocks), blocks)
    generator = np.random.Generator(np.random.PCG64(seed))
    if blocks <= DISTINCT_UP_TO:
        return Flips.of_codes(1 + generator.choice(2 ** (blocks - 1) - 1, size=DRAWS, replace=False), blocks)
    return Flips.of_matrix(generator.integers(0, 2, size=(DRAWS, blocks), dtype=np.int8))
