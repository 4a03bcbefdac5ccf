"""What a design can show at all: detectable effects, blocks needed."""

from __future__ import annotations

from functools import cache
from math import ceil, expm1, inf, log, log1p, log2, sqrt

import numpy as np
from scipy.special import stdtrit

from schedlab.analysis.signflip import smallest_p

POWER = 0.8
"""Share of real effects of the stated size that a run should find (Cohen 1988, the customary 80 %)."""

SIMULATED_UP_TO = 10
"""Blocks up to which power is found by running the test; 2^9 pairs of flips of 2,000 samples take some 40 ms."""

MOST_BLOCKS = 100_000
"""Where the search for a number of blocks gives up."""


def blocks_for_a_verdict(alpha: float, tests: int) -> int:
    """Blocks below which no difference, however large, could be called one after a correction over ``tests``."""
    level = alpha / max(tests, 1)
    listed = max(2, ceil(log2(2 / level)))
    # Beyond the flips that can be listed it takes more blocks: see the smallest p there.
    return listed if smallest_p(listed) <= level else ceil(2 * log(2 / level))


def detectable(spread: float, blocks: int, alpha: float, power: float = POWER) -> float:
    """The smallest relative change (0.01 is 1 %) that ``blocks`` blocks find with this power at level ``alpha``.

    ``spread`` is the standard deviation of the paired log-ratios. Infinite below the blocks that a verdict needs.
    """
    exponent = standardised(blocks, alpha, power) * spread
    return expm1(exponent) if exponent < 100 else inf


@cache
def standardised(blocks: int, alpha: float, power: float = POWER) -> float:
    """The effect, in standard deviations of the log-ratios, that the sign-flip test finds with this power.

    Up to ten blocks its p values are so coarse that a t test's power would promise too much (73 % at 8 blocks and
    α/3 in place of 80 %): there the test itself is run on 2,000 normal samples from a fixed seed. Beyond, the t
    approximation (t₁₋α/₂ + t_power)/√n (Kalibera & Jones 2013, section 9, reason so in two levels).
    """
    if blocks < blocks_for_a_verdict(alpha, 1):
        return inf
    if blocks > SIMULATED_UP_TO:
        freedom = blocks - 1
        return (float(stdtrit(freedom, 1 - alpha / 2)) + float(stdtrit(freedom, power))) / sqrt(blocks)
    noise = np.random.Generator(np.random.PCG64(1)).standard_normal((2_000, blocks))
    # Half of the flips: those of the first block are the others turned around, with the same sums but for the sign.
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
    """Blocks that find a relative change of ``effect`` with this power after a correction over ``tests`` rows.

    Takes the strictest step of the correction (α / tests). None when more than 100,000 would be needed.
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
