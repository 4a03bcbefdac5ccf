"""What a design can show at all: smallest p values, detectable effects, blocks needed."""

from __future__ import annotations

from math import ceil, expm1, inf, log1p, log2, sqrt

from scipy.special import stdtrit

POWER = 0.8
"""Share of real effects of the stated size that a run should find (Cohen 1988, the customary 80 %)."""

MOST_BLOCKS = 100_000
"""Where the search for a number of blocks gives up."""


def smallest_p(blocks: int) -> float:
    """The smallest two-sided p that an exact sign-flip test over this many blocks can yield: 2 of 2^n flips."""
    return min(1.0, 2.0 ** (1 - blocks))


def blocks_for_a_verdict(alpha: float, tests: int) -> int:
    """Blocks below which no difference, however large, could be called one after a correction over ``tests``."""
    return max(2, ceil(log2(2 * max(tests, 1) / alpha)))


def detectable(spread: float, blocks: int, alpha: float) -> float:
    """The smallest relative change (0.01 is 1 %) that ``blocks`` blocks find with 80 % power at level ``alpha``.

    ``spread`` is the standard deviation of the paired log-ratios. Two-sided t approximation:
    (t₁₋α/₂ + t_power)·s/√n (Kalibera & Jones 2013, section 9, for the same reasoning in two levels).
    """
    if blocks < 2:
        return inf
    freedom = blocks - 1
    quantiles = float(stdtrit(freedom, 1 - alpha / 2)) + float(stdtrit(freedom, POWER))
    exponent = quantiles * spread / sqrt(blocks)
    return expm1(exponent) if exponent < 100 else inf


def blocks_needed(spread: float, effect: float, alpha: float, tests: int) -> int | None:
    """Blocks that find a relative change of ``effect`` with 80 % power after a correction over ``tests`` rows.

    Takes the strictest step of the correction (α / tests). None when more than 100,000 would be needed.
    """
    if not effect > 0:
        return None
    level = alpha / max(tests, 1)
    low = blocks_for_a_verdict(alpha, tests)
    if log1p(detectable(spread, MOST_BLOCKS, level)) > log1p(effect):
        return None
    high = low
    while detectable(spread, high, level) > effect:
        low, high = high, high * 2
    while low < high:
        middle = (low + high) // 2
        if detectable(spread, middle, level) > effect:
            low = middle + 1
        else:
            high = middle
    return high
