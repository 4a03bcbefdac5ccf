"""Resolution of a design: minimum detectable effects, and numbers of blocks for an effect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import ceil, expm1, inf, log, log1p, log2, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, stdtr, stdtrit

from schedlab.analysis.signflip import EXACT_UP_TO, flips, smallest_p

POWER = 0.8
"""Power: probability that a run finds a real effect of the stated size (Cohen 1988, the customary 80 %)."""

SIMULATED_UP_TO = 20
"""Blocks up to which the power is simulated. Beyond, p values are fine enough for the t approximation."""

SIMULATED = 2_000_000
"""Sums of a simulated power, which take about 0.1 s: 2,000 samples up to 10 blocks, 488 from 13 blocks on."""

MOST_BLOCKS = 100_000
"""Upper limit of the search for a number of blocks."""


@dataclass(frozen=True)
class Rule:
    """The limit of the p value of a row that alone differs: ``level``, for a test of ``rows`` rows together.

    Under Holm's correction ``rows`` is 1, and the level is that of its first step.
    """

    level: float
    rows: int = 1

    def can_reject(self, blocks: int) -> bool:
        """Return whether a row can differ significantly over this many blocks, if its change is large enough."""
        return smallest_p(blocks, self.rows) <= self.level


def blocks_for_a_verdict(rule: Rule) -> int:
    """Return the number of blocks below which no difference can be significant."""
    listed = max(2, ceil(log2(2 / rule.level)))
    # Beyond the number of blocks whose flips are listed, the smallest p needs more blocks.
    return listed if rule.can_reject(listed) else ceil(2 * log(2 * rule.rows / rule.level))


def detectable(spread: float, blocks: int, rule: Rule, power: float = POWER) -> float:
    """Return the smallest relative change (0.01 is 1 %) that ``blocks`` blocks find with this power under the rule.

    ``spread`` is the standard deviation of the paired log-ratios. Infinite below the blocks that a verdict needs.
    """
    exponent = standardised(blocks, rule, power)
    # Without any spread every change is found, but only with enough blocks.
    exponent = exponent * spread if exponent < inf else inf
    return expm1(exponent) if exponent < 100 else inf


@cache
def standardised(blocks: int, rule: Rule, power: float = POWER) -> float:
    """Return the effect, in standard deviations of the log-ratios, that the test finds with this power in one row.

    Up to 20 blocks p values are so coarse that the power of a t test is too optimistic (73 % instead of 80 % at 8
    blocks and α/3, 56 % at 12 blocks and α/60). There the row's flips are counted in normal samples from a fixed random
    seed. Other rows of the rule are independent of it and unchanged: under each flip they exceed the row's statistic as
    often as Student's t does. Beyond, the effect is the t approximation (t₁₋α/₂ + t_power)/√n, as in Kalibera & Jones
    2013, section 9, for two levels, at the level of one of ``rows`` independent rows.
    """
    if blocks < blocks_for_a_verdict(rule):
        return inf
    freedom, level = blocks - 1, -expm1(log1p(-rule.level) / rule.rows)
    approximate = (float(stdtrit(freedom, 1 - level / 2)) + float(stdtrit(freedom, power))) / sqrt(blocks)
    if blocks > SIMULATED_UP_TO:
        return approximate
    of_effect = _simulation(blocks, rule)
    low, high = 0.8 * approximate, 2.0 * approximate
    while of_effect(high) < power:
        low, high = high, 2 * high
    while high - low > 0.005 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if of_effect(middle) >= power else (middle, high)
    return high


def _simulation(blocks: int, rule: Rule) -> Callable[[float], float]:
    """Return the function from an effect, in standard deviations, to the simulated power."""
    flipped = _half_of_flips(blocks)
    count, listed = len(flipped), 2 ** (blocks - 1) if blocks <= EXACT_UP_TO else len(flipped)
    noise = np.random.Generator(np.random.PCG64(1)).standard_normal((SIMULATED // max(count, 1_000), blocks))
    signs = 1.0 - 2.0 * flipped.T
    noises, ones = noise @ signs, signs.sum(axis=0)
    most, sums = int(rule.level * listed * (1 + 1e-12)), np.empty_like(noises)

    def power(effect: float) -> float:
        np.abs(np.add(noises, effect * ones, out=sums), out=sums)
        reached = np.count_nonzero(sums >= sums[:, :1] * (1 - 1e-12), axis=1)
        # The first flip is none, and the others stand for all listed ones.
        hits = 1 + np.rint((reached - 1) * ((listed - 1) / (count - 1)))
        statistic = sums[:, 0] / np.sqrt(((noise + effect) ** 2).sum(axis=1))
        return _power_among(hits, statistic, most, listed, blocks, rule.rows)

    return power


def _half_of_flips(blocks: int) -> NDArray[np.int8]:
    """Return half of the flips, as complements only change the sign of a sum; the first one flips no block.

    Beyond 13 blocks they are a part of them: the first of the drawn ones, or every so many-th of the listed ones.
    """
    if blocks <= EXACT_UP_TO:
        half = flips(blocks, 0).flipped[: 2 ** (blocks - 1)]
        # An odd stride over the listed flips is no pattern of their bits.
        order = np.arange(len(half)) * 2_654_435_761 % len(half)
        return half[order[:4_096]]
    drawn = flips(blocks, 0).flipped[:4_096].copy()
    drawn[0] = 0
    return drawn


def _power_among(
    hits: NDArray[np.float64], statistic: NDArray[np.float64], most: int, listed: int, blocks: int, rows: int
) -> float:
    """Return the share of samples whose p is small enough, given the flips that reach their statistic |Σd| / √Σd²."""
    rest = np.maximum(blocks - statistic**2, 1e-12)
    t = statistic * np.sqrt((blocks - 1) / rest)
    exceeded = -np.expm1((rows - 1) * np.log1p(-2 * stdtr(blocks - 1, -t)))
    left = np.maximum(listed - hits, 0).astype(np.int64)
    return float(np.mean(np.where(hits <= most, bdtr(np.maximum(most - hits, 0), left, exceeded), 0.0)))


def blocks_needed(spread: float, effect: float, rule: Rule, power: float = POWER) -> int | None:
    """Return the blocks that find a relative change of ``effect`` with this power under the rule.

    None above 100,000 blocks.
    """
    if not effect > 0:
        return None
    low = blocks_for_a_verdict(rule)
    if log1p(detectable(spread, MOST_BLOCKS, rule, power)) > log1p(effect):
        return None
    high = low
    while detectable(spread, high, rule, power) > effect:
        low, high = high, high * 2
    while low < high:
        middle = (low + high) // 2
        if detectable(spread, middle, rule, power) > effect:
            low = middle + 1
        else:
            high = middle
    return high
