"""Resolution of a design: minimum detectable effects, and numbers of blocks for an effect."""

from __future__ import annotations

from functools import cache
from math import ceil, expm1, inf, log, log1p, log2, sqrt

import numpy as np
from scipy.special import stdtrit

from schedlab.analysis.signflip import smallest_p

POWER = 0.8
"""Power: probability that a run finds a real effect of the stated size (Cohen 1988, the customary 80 %)."""

SIMULATED_UP_TO = 10
"""Blocks up to which the power is simulated; 2^9 pairs of flips of 2,000 samples take about 40 ms."""

MOST_BLOCKS = 100_000
"""Upper limit of the search for a number of blocks."""


def blocks_for_a_verdict(alpha: float, tests: int) -> int:
    """Return the number of blocks below which no difference can be significant after a correction over ``tests``."""
    level = alpha / max(tests, 1)
    listed = max(2, ceil(log2(2 / level)))
    # Beyond the number of blocks whose flips are listed, the smallest p needs more blocks.
    return listed if smallest_p(listed) <= level else ceil(2 * log(2 / level))


def detectable(spread: float, blocks: int, alpha: float, power: float = POWER) -> float:
    """Return the smallest relative change (0.01 is 1 %) that ``blocks`` blocks find with this power at level ``alpha``.

    ``spread`` is the standard deviation of the paired log-ratios. Infinite below the blocks that a verdict needs.
    """
    exponent = standardised(blocks, alpha, power) * spread
    return expm1(exponent) if exponent < 100 else inf


@cache
def standardised(blocks: int, alpha: float, power: float = POWER) -> float:
    """Return the effect, in standard deviations of the log-ratios, that the sign-flip test finds with this power.

    Up to ten blocks its p values are so coarse that the power of a t test is too optimistic (80 % instead of 73 % at
    8 blocks and α/3). There the test is run on 2,000 normal samples from a fixed random seed. Beyond, the effect is the
    t approximation (t₁₋α/₂ + t_power)/√n, as in Kalibera & Jones 2013, section 9, for two levels.
    """
    if blocks < blocks_for_a_verdict(alpha, 1):
        return inf
    if blocks > SIMULATED_UP_TO:
        freedom = blocks - 1
        return (float(stdtrit(freedom, 1 - alpha / 2)) + float(stdtrit(freedom, power))) / sqrt(blocks)
    noise = np.random.Generator(np.random.PCG64(1)).standard_normal((2_000, blocks))
    # Half of the flips suffice: a flip of all blocks only changes the sign of the sums.
    signs = 1.0 - 2.0 * ((np.arange(2 ** (blocks - 1))[:, None] << 1 >> np.arange(blocks)) & 1)
    noises, ones = noise @ signs.T, signs.sum(axis=1)
    most = int(alpha * 2 ** (blocks - 1))
    low, high, sums = 0.0, 8.0, np.empty_like(noises)
    for _ in range(12):
        middle = (low + high) / 2
        np.abs(np.add(noises, middle * ones, out=sums), out=sums)
        hits = np.count_nonzero(sums >= sums[:, :1] * (1 - 1e-12), axis=1)
        low, high = (low, middle) if np.mean(hits <= most) >= power else (middle, high)
    return high


def blocks_needed(spread: float, effect: float, alpha: float, tests: int, power: float = POWER) -> int | None:
    """Return the blocks that find a relative change of ``effect`` with this power, corrected over ``tests`` rows.

    The level is the strictest step of the correction (α / tests). None above 100,000 blocks.
    """
    if not effect > 0:
        return None
    level = alpha / max(tests, 1)
    low = blocks_for_a_verdict(alpha, tests)
    if log1p(detectable(spread, MOST_BLOCKS, level, power)) > log1p(effect):
        return None
    high = low
    while detectable(spread, high, level, power) > effect:
        low, high = high, high * 2
    while low < high:
        middle = (low + high) // 2
        if detectable(spread, middle, level, power) > effect:
            low = middle + 1
        else:
            high = middle
    return high
