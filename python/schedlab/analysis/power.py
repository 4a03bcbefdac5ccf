"""Power of the tests of a row: sign flips of pairs, and permutations of three labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import expm1, inf, log, log1p, pi, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, nctdtr, nctdtrinc, ndtr, ndtri, stdtr, stdtrit

from schedlab.analysis import labels, signflip
from schedlab.analysis.labels import LABELS

Floats = NDArray[np.float64]

SIMULATED_UP_TO = 20
"""Blocks up to which the power is simulated. With more blocks, p values are fine enough for the power of a t test."""

SIMULATED = 1_000_000
"""Number of sums of a simulated power: 1,000 samples with 1,000 sampled permutations, or fewer samples with more."""

SAMPLED = 4_096
"""Number of flips that the simulation of a test samples, if the test has more flips; of three labels a quarter."""

FEWEST_HITS = 20
"""Least expected number of hits among the sampled permutations at the level. Below it, all are simulated."""

SIMULATED_STRICT = 400
"""Samples of a simulated power with all permutations."""

GRID = np.array([0.0, 0.25, 0.5, 0.65, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0])
"""Effects of a simulated power, in effects that a t test finds with a power of 80 %."""

EFFICIENCY = 3 / pi
"""Efficiency of ranks for normal noise."""

TYPICAL_KURTOSIS = 4.0
"""Kurtosis of the log-ratios of recorded and skewed noise (benches/study): 3 for normal noise, 6 for heavy tails."""

GRID_OF_FREEDOM = 1.2
"""Ratio of neighbouring degrees of freedom."""

FAR = 8.0
"""Standard deviations beyond which a power is taken as 1."""

LEAST = 1e-6
"""Power below which, and above 1 less which, powers are not distinguished."""


@dataclass(frozen=True)
class Rule:
    """The limit ``level`` of a row's p value, for a joint test of ``rows`` rows. Only this row differs.

    Under Holm's correction ``rows`` is 1, and the level is the level of the first step. ``labels`` is the number of
    labels that the test permutes: 2 for sign flips, 3 with a control.
    """

    level: float
    rows: int = 1
    labels: int = 2

    def can_reject(self, blocks: int) -> bool:
        """Return whether a row can differ significantly over this many blocks, if its change is large enough."""
        return self.smallest_p(blocks) <= self.level * (1 + 1e-12)

    def smallest_p(self, blocks: int) -> float:
        """Return the smallest possible p of a row over this many blocks."""
        smallest = signflip.smallest_p if self.labels == 2 else labels.smallest_p
        return smallest(blocks, self.rows)


Power = Callable[[Floats], Floats]
"""Function from effects, in standard deviations of the log-ratio of two measurements, to powers."""


@cache
def curve(blocks: int, rule: Rule) -> Power:
    """Return the power of a row's test under a rule that can reject.

    Up to 20 blocks p values are so coarse that the power of a t test is too optimistic (73 % instead of 80 % at 8
    blocks and α/3, 56 % at 12 blocks and α/60). For these sizes permutations are counted in normal samples from a fixed
    random seed. The other rows of the rule are independent of the row and have no effect: under each permutation, they
    exceed the row's statistic as often as unchanged rows do. For more blocks, the power is the power of a t test
    (noncentral t), at the level of one of ``rows`` independent rows; at levels of 0.01 %, real powers are up to 15 %
    lower. Ranks have the efficiency 3/π.
    """
    freedom = (rule.labels - 1) * (blocks - 1)
    # The difference of two measurements has the variance 2, the variant less the mean of two others has 3/2.
    scale = sqrt(blocks * (1.0 if rule.labels == 2 else EFFICIENCY * 2 / 1.5))
    critical = _critical(blocks, rule, freedom)
    if blocks > SIMULATED_UP_TO:
        # scipy's distribution loses its digits far from the critical value.
        return lambda effects: np.asarray(1 - nctdtr(freedom, np.minimum(effects * scale, critical + FAR), critical))
    detectable_effect = float(nctdtrinc(freedom, 0.2, critical)) / scale if critical < inf else 10.0
    effects, simulated = GRID * detectable_effect, _flips(blocks, rule) if rule.labels == 2 else _labels(blocks, rule)
    while simulated(float(effects[-1])) < 0.99 and effects[-1] < 100:
        effects = 1.5 * effects
    powers = np.maximum.accumulate(np.clip([simulated(float(effect)) for effect in effects], LEAST, 1 - LEAST))
    normal = ndtri(powers)
    return lambda wanted: np.asarray(ndtr(np.interp(wanted, effects, normal)))


def freedom_of(deviations: Floats, blocks: int, kurtosis: float = TYPICAL_KURTOSIS) -> float:
    """Return the degrees of freedom of a standard deviation that was estimated from this number of blocks.

    Heavy tails make the estimate less certain: the relative variance of a variance is (κ − 1) / n, where 2 / n is its
    value for normal noise. κ is the kurtosis of the deviations, at least ``kurtosis``: few values hardly show it.
    """
    square = float(np.mean(deviations**2)) if len(deviations) and np.isfinite(deviations).all() else 0.0
    measured = float(np.mean(deviations**4)) / square**2 if square**2 > 0 else 0.0
    freedom = 2 * (blocks - 1) / (max(measured, kurtosis) - 1)
    # A grid: the detectable effects of many rows are computed once, and differ by less than 2 %.
    return float(round(GRID_OF_FREEDOM ** round(log(freedom, GRID_OF_FREEDOM)), 2))


def _critical(blocks: int, rule: Rule, freedom: int) -> float:
    """Return Student's t of a row whose p equals the rule's level; inf if no t has so small a p."""
    level, tests, test = rule.level, rule.rows, signflip if rule.labels == 2 else labels
    if blocks > test.EXACT_UP_TO:
        least = int(level / (rule.labels - 1) * (test.DRAWS + 1) * (1 + 1e-12))
        if least == 0:
            # The level is below the smallest p of drawn permutations, so only Hoeffding's bound can reject.
            square = 2 * log(2 * tests / level)
            return sqrt(square * (blocks - 1) / (blocks - square)) if square < blocks else inf
        # At most ``least`` − 1 of the drawn permutations may reach the sum: the median of a Poisson distribution.
        level = (rule.labels - 1) * (least - 1 / 3) / (test.DRAWS + 1)
    return float(stdtrit(freedom, 1 + expm1(log1p(-level) / tests) / 2))


def _flips(blocks: int, rule: Rule) -> Callable[[float], float]:
    """Return the function from an effect to the simulated power of sign flips."""
    # Number of flips that the test counts. The first flip flips no block. Complements only change a sum's sign.
    counted = 2 ** (blocks - 1) if blocks <= signflip.EXACT_UP_TO else signflip.DRAWS + 1
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
        statistic = sums[:, 0] / np.sqrt(((noise + effect) ** 2).sum(axis=1))
        t = statistic * np.sqrt((blocks - 1) / np.maximum(blocks - statistic**2, 1e-12))
        others = -np.expm1((rule.rows - 1) * np.log1p(-2 * stdtr(blocks - 1, -t)))
        return _power_among(_of_all(reached, sampled, counted), others, most, counted)

    return power


def _flips_of_test(blocks: int, sampled: int) -> NDArray[np.int8]:
    """Return ``sampled`` flips without their complements; the first flip flips no block."""
    if blocks > signflip.EXACT_UP_TO:
        drawn = signflip.flips(blocks, 0).flipped[: sampled - 1]
        return np.concatenate([np.zeros((1, blocks), dtype=np.int8), drawn])
    half = signflip.flips(blocks, 0).flipped[: 2 ** (blocks - 1)]
    return half[_spread_out(len(half), sampled)]


def _labels(blocks: int, rule: Rule) -> Callable[[float], float]:
    """Return the function from an effect to the simulated power of permutations of three labels."""
    counted = LABELS**blocks if blocks <= labels.EXACT_UP_TO else labels.DRAWS + 1
    strict = rule.level / 2 * (SAMPLED / 4) < FEWEST_HITS
    others = labels.arrangements(blocks, 0).others
    if blocks > labels.EXACT_UP_TO:
        others = np.concatenate([np.zeros((2 * blocks, 1), dtype=np.float32), others], axis=1)
    others = others[:, _spread_out(counted, counted if strict else min(SAMPLED // 4, counted))]
    sampled = others.shape[1]
    samples = min(SIMULATED_STRICT if strict else SIMULATED, SIMULATED // sampled, 2_000)
    noise = np.random.Generator(np.random.PCG64(1)).standard_normal((samples, blocks, LABELS))
    most = int(rule.level / 2 * counted * (1 + 1e-12))
    scores, sums = _standardised(noise)
    unchanged = np.sort((scores[:, :, 0].sum(axis=1)[:, None] + sums(others)).ravel()) if rule.rows > 1 else np.zeros(1)

    def power(effect: float) -> float:
        # A shift of √2 standard deviations of a measurement is a standard deviation of a log-ratio.
        scores, sums = _standardised(noise + sqrt(2) * effect * np.array([1.0, 0.0, 0.0]))
        reached = np.count_nonzero(sums(others) >= -1e-5, axis=1)
        places = np.searchsorted(unchanged, scores[:, :, 0].sum(axis=1) - 1e-5)
        exceeded = 1 - (places / len(unchanged)) ** (rule.rows - 1)
        return _power_among(_of_all(reached, sampled, counted), exceeded, most, counted)

    return power


def _standardised(values: Floats) -> tuple[Floats, Callable[[NDArray[np.float32]], NDArray[np.float32]]]:
    """Return the aligned ranks of samples, with a unit standard deviation of their sums over all arrangements, and the
    function from arrangements to the changes of these sums."""
    scores = labels.aligned_ranks(values)
    scores = scores / np.sqrt((scores**2).mean(axis=2).sum(axis=1))[:, None, None]
    changes = (scores[:, :, 1:] - scores[:, :, :1]).transpose(0, 2, 1).reshape(len(scores), -1).astype(np.float32)
    return scores, lambda others: np.asarray(changes @ others)


def _spread_out(count: int, sampled: int) -> NDArray[np.intp]:
    """Return ``sampled`` of ``count`` places, the first first: with a large odd stride, which favours no pattern."""
    return (np.arange(count) * 2_654_435_761 % count)[:sampled]


def _of_all(reached: NDArray[np.int64], sampled: int, counted: int) -> Floats:
    """Extrapolate hits from the sampled permutations, except the first, to all permutations except the first."""
    return np.asarray(1 + np.rint((reached - 1) * ((counted - 1) / (sampled - 1))))


def _power_among(hits: Floats, exceeded: Floats, most: int, counted: int) -> float:
    """Return the share of samples whose p is small enough.

    ``hits`` are the permutations that reach a sample's statistic, ``exceeded`` is the probability that another row
    exceeds this statistic under a permutation.
    """
    left = np.maximum(counted - hits, 0).astype(np.int64)
    return float(np.mean(np.where(hits <= most, bdtr(np.maximum(most - hits, 0), left, exceeded), 0.0)))
