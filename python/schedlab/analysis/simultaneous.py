"""Simultaneous inference on several effects from the same blocks: steps of a stack, effects of a factorial.

A block's effects share measurements, so that they are dependent. Flipping the signs of a whole block preserves the
dependence. Each effect is compared with the largest of all effects under such flips (Westfall & Young 1993, max-T).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, inf, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from schedlab.analysis.signflip import DRAWS, EXACT_UP_TO, Flips, flips

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Joint:
    """Means over blocks with simultaneous intervals and p values, each of shape (effects,)."""

    estimates: Floats
    low: Floats
    high: Floats
    p: Floats


def joint(effects: Floats, confidence: float, seed: int) -> Joint:
    """Judge effects together; ``effects`` has shape (blocks, effects), at least two blocks, 0 meaning no effect.

    All intervals contain their effects simultaneously with this confidence. They are the values that a flip test does
    not reject; the test compares an effect, in units of its own root mean square, with the largest of all effects, the
    others around their means. With too few blocks for that they are Student's intervals after Bonferroni. In simulated
    campaigns of 6 to 12 blocks and 1 to 7 effects, normal, heavy-tailed and skewed, 95 % intervals covered 93 to 98 %.

    The p values bound the probability of any false alarm among the effects, by the step-down form of the same test.
    They are exact if all flips are listed. ``seed`` is the random seed of drawn flips.
    """
    drawn = flips(len(effects), seed)
    centred = effects - effects.mean(axis=0)
    low, high = _intervals(effects, _flipped(centred, drawn), drawn, confidence)
    return Joint(effects.mean(axis=0), low, high, _step_down(effects, drawn))


def _scale(effects: Floats) -> Floats:
    """Return n times the root mean square of each effect, which no flip changes; 1 for an effect of 0 in all blocks."""
    size = len(effects) * np.sqrt((effects**2).mean(axis=0))
    return np.asarray(np.where(size > 0, size, 1.0))


def _flipped(effects: Floats, drawn: Flips) -> Floats:
    """Return |sum| / scale of each effect under each flip, shape (flips, effects); monotonic in Student's |t|."""
    return np.asarray(np.abs(effects.sum(axis=0) - 2 * (drawn.flipped @ effects)) / _scale(effects))


def _step_down(effects: Floats, drawn: Flips) -> Floats:
    """Return p by Westfall & Young's free step-down: the largest effect against all, the next against the rest."""
    observed, under = np.abs(effects.sum(axis=0)) / _scale(effects), _flipped(effects, drawn)
    exact = len(effects) <= EXACT_UP_TO
    found, worst = np.empty(effects.shape[1]), 0.0
    order = np.argsort(-observed, kind="stable")
    # From the smallest up, so that the maxima are cumulative.
    maxima = np.maximum.accumulate(under[:, order[::-1]], axis=1)[:, ::-1]
    for rank, i in enumerate(order):
        hits = int(np.count_nonzero(maxima[:, rank] >= observed[i] - 1e-12))
        worst = max(worst, hits / len(under) if exact else (hits + 1) / (DRAWS + 1))
        found[i] = worst
    return found


def _intervals(effects: Floats, others: Floats, drawn: Flips, confidence: float) -> tuple[Floats, Floats]:
    """Return the bounds by inverting the test: order statistics of the values up to which each flip does not reject.

    A flip's sum around a value θ beyond the mean is no smaller than the unflipped one up to the larger mean of its two
    subsets of blocks; another effect's flipped |t| is no smaller than θ's up to |t| standard errors from the mean.
    """
    n, count = effects.shape
    mean, error = effects.mean(axis=0), effects.std(axis=0, ddof=1) / sqrt(n)
    half = float(stdtrit(n - 1, 1 - (1 - confidence) / (2 * count))) * error
    low, high = mean - half, mean + half
    exact = n <= EXACT_UP_TO
    k = floor((1 - confidence) * (len(others) if exact else DRAWS + 1) * (1 + 1e-12)) + exact
    if k < 1 + 2 * exact:
        return low, high
    sums = drawn.flipped @ effects
    with np.errstate(invalid="ignore", divide="ignore"):
        flipped_mean = sums / drawn.sizes[:, None]
        unflipped_mean = (effects.sum(axis=0) - sums) / (n - drawn.sizes)[:, None]
        students = others * np.sqrt((n - 1) / np.maximum(1 - others**2, 0.0))
    # A flip of no block or of all blocks has no bound.
    unbounded = (drawn.sizes == 0) | (drawn.sizes == n)
    for i in range(count):
        largest_other = np.delete(students, i, axis=1).max(axis=1, initial=0.0)
        reach = error[i] * largest_other if error[i] > 0 else np.zeros(len(largest_other))
        above = np.where(
            unbounded, inf, np.maximum(np.maximum(flipped_mean[:, i], unflipped_mean[:, i]), mean[i] + reach)
        )
        below = np.where(
            unbounded, -inf, np.minimum(np.minimum(flipped_mean[:, i], unflipped_mean[:, i]), mean[i] - reach)
        )
        highest, lowest = np.sort(above)[-k], np.sort(below)[k - 1]
        # The other effects may be so regular that many flips have no bound. Bonferroni's bounds remain then.
        low[i] = lowest if np.isfinite(lowest) else low[i]
        high[i] = highest if np.isfinite(highest) else high[i]
    return low, high
