"""Evidence and verdicts that may be inspected after every block: e-processes of log-ratios of unknown noise.

An e-process is the wealth of a gambler who bets on the sign of each block's log-ratio d. If d is symmetric around 0,
then 1 + tanh(λd) has mean 1 for every λ that is known before the block, so that the wealth, which is the product over
blocks, is a nonnegative martingale. By Ville's inequality (1939) the wealth reaches 1/α with probability α at most,
whatever the number of blocks and whatever the rule of stopping. 1 + tanh(λd) is the ratio of a normal density to its
symmetric part, 2f(d) / (f(d) + f(-d)), with λ = mean/variance; every test of symmetry that is valid under optional
stopping is such a bet, or is dominated by such a bet (Ramdas, Ruf, Larsson & Koolen 2020, "Admissible anytime-valid
sequential inference must rely on nonnegative martingales", section on symmetric distributions; de la Peña 1999 for the
bound exp(λd - λ²d²/2)).

With λ ≥ 0 a bet rises with d. The wealth is therefore also a supermartingale if d is symmetric around a centre below 0:
a large wealth is evidence against "the centre is 0 or less". λ is an effect size from :data:`EFFECTS` divided by the
spread of the earlier blocks, so that the unknown noise needs no prior. The wealth is the mean over the effect sizes
(Robbins 1970, method of mixtures). The spread does not depend on the centre, so that the wealth falls with the
hypothetical centre, and the centres that are not rejected are an interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log, log1p

import numpy as np
from numpy.typing import NDArray

from schedlab.analysis.cells import Blocks
from schedlab.analysis.paired import log_ratios, steps_unknown
from schedlab.analysis.rows import Question
from schedlab.analysis.verdicts import disagreement
from schedlab.results.words import Word

Floats = NDArray[np.float64]

EFFECTS = np.array([0.25, 0.5, 1.0, 2.0])
"""Effect sizes of the bets: the centre of the log-ratios in units of their spread. Each has a quarter of the stake."""

UNBET = 2
"""Number of first blocks without a bet, because their spread is unknown."""

TO_DEVIATION = 1.2533
"""Standard deviation of a normal distribution, divided by its mean absolute deviation: √(π/2)."""

SMALLEST = 1e-9
"""Least spread of log-ratios: counted figures have no noise."""

PRECISION = 1e-7
"""Largest error of a bound of an interval, as a log-ratio."""


def spreads(differences: Floats) -> Floats:
    """Return the spread of the blocks before each block, shape (..., blocks); inf for the first :data:`UNBET` blocks.

    The spread is the mean absolute deviation from the median, which a few outliers change little, scaled to the
    standard deviation of normal values. ``differences`` has shape (..., blocks).
    """
    result = np.full(differences.shape, inf)
    for block in range(UNBET, differences.shape[-1]):
        earlier = differences[..., :block]
        centre = np.median(earlier, axis=-1, keepdims=True)
        result[..., block] = np.maximum(TO_DEVIATION * np.abs(earlier - centre).mean(axis=-1), SMALLEST)
    return result


def log_wealth(differences: Floats, centre: float = 0.0, spread: Floats | None = None) -> Floats:
    """Return the logarithm of the wealth after each block, against "the differences' centre is ``centre`` or less".

    Args:
        differences: log-ratios, shape (..., blocks), in order of time.
        centre: the largest centre of the hypothesis.
        spread: :func:`spreads` of the differences, if already known.
    """
    spread = spreads(differences) if spread is None else spread
    bets = EFFECTS * ((differences - centre) / spread)[..., None]
    # log(1 + tanh x) = log 2 - log(1 + exp(-2x)), which does not overflow.
    wealth = np.cumsum(log(2) - np.logaddexp(0.0, -2 * bets), axis=-2)
    return np.asarray(np.logaddexp.reduce(wealth, axis=-1) - log(len(EFFECTS)))


@dataclass(frozen=True)
class Evidence:
    """The evidence of a candidate's blocks at a level.

    Attributes:
        low, high: bounds of the centre of the log-ratios. Each bound is wrong with a probability of at most the level,
            at all times together.
        log_above: largest logarithm of the wealth so far against "the centre is 0 or less".
        log_below: the same against "the centre is 0 or more".
    """

    low: float
    high: float
    log_above: float
    log_below: float


def evidence(differences: Floats, level: float) -> Evidence:
    """Return the evidence of log-ratios of shape (blocks,) at a level, such as 0.025.

    The best wealth so far counts: Ville's inequality bounds the probability that the wealth ever reaches 1/level.
    """
    if len(differences) <= UNBET:
        return Evidence(-inf, inf, 0.0, 0.0)
    spread = spreads(differences)
    return Evidence(
        low=_bound(differences, spread, level),
        high=-_bound(-differences, spread, level),
        log_above=_best(differences, 0.0, spread),
        log_below=_best(-differences, 0.0, spread),
    )


def weaker(first: Evidence, second: Evidence) -> Evidence:
    """Return what both analyses of the same blocks show."""
    return Evidence(
        low=min(first.low, second.low),
        high=max(first.high, second.high),
        log_above=min(first.log_above, second.log_above),
        log_below=min(first.log_below, second.log_below),
    )


def _best(differences: Floats, centre: float, spread: Floats) -> float:
    return max(float(log_wealth(differences, centre, spread).max()), 0.0)


def _bound(differences: Floats, spread: Floats, level: float) -> float:
    """Return the largest rejected centre; -inf if so few blocks reject no centre."""
    limit = -log(level)
    if (len(differences) - UNBET) * log(2) <= limit:
        return -inf
    # Below `low` every bet wins all that a bet can win, and at `high` every bet loses.
    high, width = float(differences.max()), 64 * float(np.max(spread[UNBET:])) + PRECISION
    low = float(differences.min()) - width
    if _best(differences, low, spread) < limit:
        return -inf
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (middle, high) if _best(differences, middle, spread) >= limit else (low, middle)
    return low


def share(position: int) -> float:
    """Return the share of α that the candidate at a position, from 1, may spend: 1/(j(j + 1)), which sums to 1.

    By the union bound the probability of any false verdict is at most α, for any number of candidates and any
    dependence between candidates, because each candidate's share is fixed before its first block (alpha spending:
    Foster & Stine 2008, section 2; Tian & Ramdas 2021, "Online control of the familywise error rate").
    """
    return 1 / (position * (position + 1))


def spent(candidates: int) -> float:
    """Return the share of α that this many candidates have spent: the sum of :func:`share`."""
    return candidates / (candidates + 1)


@dataclass(frozen=True)
class Anytime:
    """The verdict on a candidate after some blocks.

    Attributes:
        word: the verdict.
        logs: log-ratios of candidate to baseline in the blocks that have both, shape (blocks,).
        shown: evidence on the gain, which is positive if better.
        reason: why there is no verdict; empty if blocks are missing, or if there is a verdict.
    """

    word: Word
    logs: Floats
    shown: Evidence
    reason: str


def judge_candidate(
    blocks: Blocks, question: Question, baseline: str, candidate: str, alpha: float, delta: float
) -> Anytime:
    """Judge a candidate by all blocks so far. It may be judged again after every block.

    A trial is lost if it failed or has no value. A candidate whose slowest trials fail looks faster in its other
    trials. Three rules keep the bound on false verdicts:

    - A verdict needs the evidence of the measured blocks, and the evidence of all blocks with the worst value of the
      row in place of each lost trial, as in a run (:mod:`schedlab.analysis.judging`).
    - A candidate that lost more trials than the baseline is neither better nor equivalent, and a candidate that lost
      fewer is not worse. While the baseline loses no trial, the words *better* and *equivalent* therefore rest on
      complete blocks alone, so that the bound holds exactly, whatever makes the candidate's trials fail.
    - A variant that lost more than 5 % of its trials has no verdict.

    Args:
        blocks: the blocks with their lost trials.
        question: the row.
        baseline: name of the baseline.
        candidate: name of the candidate.
        alpha: probability of a false *better*, whatever the number of blocks; the same for the other words.
        delta: relative changes up to which the candidate is equivalent.

    Raises:
        ValueError: a value is 0 or below.
    """
    row, names = question.row, (baseline, candidate)
    sign = 1 if question.direction == "higher" else -1
    logs = log_ratios(blocks.means(row, baseline), blocks.means(row, candidate))
    measured = evidence(sign * logs, alpha)
    shown, lost = measured, [blocks.count_lost(row, name)[0] for name in names]
    if any(lost):
        filled = blocks.with_lost_as_worst(row, names, question.direction)
        shown = weaker(measured, evidence(sign * log_ratios(filled[baseline], filled[candidate]), alpha))
    resolution = blocks.resolution(row, names)
    words = [_word(each, logs, alpha, delta, resolution) for each in (measured, shown)]
    if reasons := [reason for name in names if (reason := blocks.not_fair(row, name))]:
        return Anytime(Word.INCONCLUSIVE, logs, shown, reasons[0])
    if words[0] is not words[1]:
        reason = disagreement(blocks.describe_lost(row, candidate, baseline), *words)
        return Anytime(Word.INCONCLUSIVE, logs, shown, reason)
    if (lost[1] > lost[0] and words[1] in (Word.BETTER, Word.EQUIVALENT)) or (
        lost[1] < lost[0] and words[1] is Word.WORSE
    ):
        reason = f"{blocks.describe_lost(row, candidate, baseline)}; without these trials the row would be {words[1]}"
        return Anytime(Word.INCONCLUSIVE, logs, shown, reason)
    coarse = words[1] is Word.INCONCLUSIVE and resolution == inf and len(logs) > 1
    return Anytime(words[1], logs, shown, steps_unknown(question.metric) if coarse else "")


def _word(shown: Evidence, logs: Floats, alpha: float, delta: float, resolution: float) -> Word:
    """Return the verdict that evidence on the gain shows.

    Equivalence is the conclusion that both bounds lie inside the margin (Schuirmann 1987). Figures in coarse steps
    narrow the margin, see :func:`schedlab.analysis.paired.p_equivalent`.
    """
    margin = log1p(delta)
    if len(logs) > 1 and float(logs.std(ddof=1)) < resolution:
        margin -= resolution
    if -margin < shown.low and shown.high < margin:
        return Word.EQUIVALENT
    limit = -log(alpha)
    if shown.log_above >= limit:
        return Word.BETTER
    return Word.WORSE if shown.log_below >= limit else Word.INCONCLUSIVE
