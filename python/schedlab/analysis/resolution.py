"""Resolution of a design: minimum detectable effects, and numbers of blocks for an effect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import count
from math import expm1, inf, isfinite, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, nctdtrinc, stdtr, stdtrit

from schedlab.analysis.signflip import DRAWS, EXACT_UP_TO, flips, smallest_p

POWER = 0.8
"""Power: probability that a run finds a real effect of the stated size (Cohen 1988, the customary 80 %)."""

SIMULATED_UP_TO = 20
"""Blocks up to which the power is simulated. With more blocks, p values are fine enough for the power of a t test."""

SIMULATED = 2_000_000
"""Number of sums of a simulated power; they take about 0.1 s: 2,000 samples up to 10 blocks, 488 from 13 blocks on."""

SAMPLED = 4_096
"""Number of flips that the simulation of a test samples, if the test has more flips."""

FEWEST_HITS = 20
"""Least expected number of hits among the sampled flips at the level of the test. Below it, all flips are simulated."""

SIMULATED_STRICT = 400
"""Samples of a simulated power with all flips."""

MOST_BLOCKS = 100_000
"""Upper limit of the search for a number of blocks."""


@dataclass(frozen=True)
class Rule:
    """The limit ``level`` of a row's p value, for a joint test of ``rows`` rows. Only this row differs.

    Under Holm's correction ``rows`` is 1, and the level is the level of the first step.
    """

    level: float
    rows: int = 1

    def can_reject(self, blocks: int) -> bool:
        """Return whether a row can differ significantly over this many blocks, if its change is large enough."""
        return smallest_p(blocks, self.rows) <= self.level


def blocks_for_a_verdict(rule: Rule) -> int:
    """Return the number of blocks from which a difference can be significant; the rule's level is above 0."""
    return next(blocks for blocks in count(2) if rule.can_reject(blocks))


def detectable(spread: float, blocks: int, rule: Rule, power: float = POWER) -> float:
    """Return the smallest relative change (0.01 is 1 %) that ``blocks`` blocks find with this power under the rule.

    ``spread`` is the standard deviation of the paired log-ratios. The result is inf if no change can be significant.
    """
    exponent = standardised(blocks, rule, power)
    # Without spread, a run with enough blocks finds every change.
    exponent = exponent * spread if exponent < inf else inf
    return expm1(exponent) if exponent < 100 else inf


@cache
def standardised(blocks: int, rule: Rule, power: float = POWER) -> float:
    """Return the effect, in standard deviations of the log-ratios, that the test finds with this power in one row.

    Up to 20 blocks p values are so coarse that the power of a t test is too optimistic (73 % instead of 80 % at 8
    blocks and α/3, 56 % at 12 blocks and α/60). For these sizes the row's flips are counted in normal samples from a
    fixed random seed. The other rows of the rule are independent of the row and have no effect: under each flip, they
    exceed the row's statistic as often as Student's t does. For more blocks, the effect is the effect of a t test
    (noncentral t), at the level of one of ``rows`` independent rows. At levels of 0.01 % the real power is then 65 to
    78 % instead of 80 %.
    """
    if not rule.can_reject(blocks):
        return inf
    freedom, critical = blocks - 1, _critical(blocks, rule)
    effect = float(nctdtrinc(freedom, 1 - power, critical)) / sqrt(blocks) if critical < inf else inf
    if blocks > SIMULATED_UP_TO:
        return effect
    simulated_power = _simulation(blocks, rule)
    low, high = 0.8 * effect, 2.0 * effect
    while simulated_power(high) < power:
        low, high = high, 2 * high
    while high - low > 0.005 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if simulated_power(middle) >= power else (middle, high)
    return high


def _critical(blocks: int, rule: Rule) -> float:
    """Return Student's t of a row whose p equals the rule's level; inf if no t has so small a p."""
    level, tests = rule.level, rule.rows
    if blocks > EXACT_UP_TO:
        least = int(level * (DRAWS + 1) * (1 + 1e-12))
        if least == 0:
            # The level is below the smallest p of drawn flips, so only Hoeffding's bound can reject.
            square = 2 * log(2 * tests / level)
            return sqrt(square * (blocks - 1) / (blocks - square)) if square < blocks else inf
        # At most ``least`` − 1 of the drawn flips may reach the sum: the median of a Poisson distribution.
        level = (least - 1 / 3) / (DRAWS + 1)
    return float(stdtrit(blocks - 1, 1 + expm1(log1p(-level) / tests) / 2))


def _simulation(blocks: int, rule: Rule) -> Callable[[float], float]:
    """Return the function from an effect, in standard deviations, to the simulated power."""
    # Number of flips that the test counts. The first flip flips no block. Complements only change a sum's sign.
    counted = 2 ** (blocks - 1) if blocks <= EXACT_UP_TO else DRAWS + 1
    strict = rule.level * SAMPLED < FEWEST_HITS
    flipped = _flips_of_test(blocks, counted if strict else min(SAMPLED, counted))
    sampled = len(flipped)
    samples = SIMULATED_STRICT if strict else SIMULATED // max(sampled, 1_000)
    noise = np.random.Generator(np.random.PCG64(1)).standard_normal((samples, blocks))
    signs = 1.0 - 2.0 * flipped.T
    noises, ones = noise @ signs, signs.sum(axis=0)
    most, sums = int(rule.level * counted * (1 + 1e-12)), np.empty_like(noises)

    def power(effect: float) -> float:
        np.abs(np.add(noises, effect * ones, out=sums), out=sums)
        reached = np.count_nonzero(sums >= sums[:, :1] * (1 - 1e-12), axis=1)
        # Extrapolate from the sampled flips, except the first, to all flips except the first.
        hits = 1 + np.rint((reached - 1) * ((counted - 1) / (sampled - 1)))
        statistic = sums[:, 0] / np.sqrt(((noise + effect) ** 2).sum(axis=1))
        return _power_among(hits, statistic, most, counted, blocks, rule.rows)

    return power


def _flips_of_test(blocks: int, sampled: int) -> NDArray[np.int8]:
    """Return ``sampled`` flips without their complements; the first flip flips no block."""
    if blocks > EXACT_UP_TO:
        return np.concatenate([np.zeros((1, blocks), dtype=np.int8), flips(blocks, 0).flipped[: sampled - 1]])
    half = flips(blocks, 0).flipped[: 2 ** (blocks - 1)]
    # Sample with a large odd stride, which favours no pattern of bits.
    order = np.arange(len(half)) * 2_654_435_761 % len(half)
    return half[order[:sampled]]


def _power_among(
    hits: NDArray[np.float64], statistic: NDArray[np.float64], most: int, counted: int, blocks: int, rows: int
) -> float:
    """Return the share of samples whose p is small enough, given the ``hits``: flips that reach the observed statistic.

    ``statistic`` is |Σd| / √Σd² of each sample.
    """
    rest = np.maximum(blocks - statistic**2, 1e-12)
    t = statistic * np.sqrt((blocks - 1) / rest)
    exceeded = -np.expm1((rows - 1) * np.log1p(-2 * stdtr(blocks - 1, -t)))
    left = np.maximum(counted - hits, 0).astype(np.int64)
    return float(np.mean(np.where(hits <= most, bdtr(np.maximum(most - hits, 0), left, exceeded), 0.0)))


def towards(detectable: float, ratio: float) -> float:
    """Return a minimum detectable effect in the direction of a measured ratio: a decrease is negative and above −1.

    The test works on the logarithmic scale, where increase and decrease have the same distance from 1: a run that finds
    an increase of 300 % finds a decrease of 75 %.
    """
    return -detectable / (1 + detectable) if ratio < 1 and isfinite(detectable) else detectable


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
