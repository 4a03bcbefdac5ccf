"""Bisection with noise: the posterior of the first changed state, and the state that is worth measuring next.

States are numbered in order from 0, the reference. An observation is the log-ratio of a state to the reference, which
the same block measured. States before the change have the log-ratio 0, states from the change on a common log-ratio of
unknown size and sign. A second change is possible. The noise has unknown size and follows Student's t with 3 or 30
degrees of freedom, so that outliers do not decide; or each state of a block is in one of two modes, as machines whose
boots differ. Each block measures the reference, so that successive blocks show the noise without an effect.

Figures in coarse steps repeat. Equal figures look like noise that is far below a step and has rare outliers, so that
the scale of the noise is at least half a step: rounding both values of a log-ratio adds a triangular error with a
standard deviation of 0.41 steps (Sheppard 1897).

The search is probabilistic bisection by Bayes' rule (Horstein 1963; Waeber, Frazier & Henderson 2013): the next state
is the state whose observation is expected to give the most information about the change in a second of its cost.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]

NONE, TWO = 0.1, 0.2
"""Prior probabilities of no change, and of two changes. All other states share the rest equally."""

CONFIDENCE, STOP = 0.95, 0.99
"""Least share of searches that are right, and the posterior probability at which a search ends for this share.

A search ends at a lucky moment, and its model is not exact: if it ended at 95 %, more than 5 % of the searches would be
wrong if the change is as small as the noise, or is smaller than a step of the figures (``benches/bisection.py``)."""

CREDIBLE_POSTERIOR = 0.998
"""Posterior probability of a credible set, for which 99 % of the sets or more contain the change."""

LARGEST = 2.0
"""Largest log-ratio of the prior: a factor of 7.4."""

EFFECT_STEP, NOISE_STEP = 1.1, 1.5
"""Ratios of neighbouring points of the grids of effects and of noise."""

NOISE_FROM, NOISE_TO = 0.01, 1.0
"""Range of the noise: from a part of the least effect, because counted figures have no noise, to a log-ratio."""

FREEDOM = (3.0, 30.0)
"""Degrees of freedom of the noise: with outliers, and almost normal."""

MODE_FREEDOM = 3.0
"""Degrees of freedom of the noise within a mode."""

NEGLIGIBLE = 20.0
"""Log-likelihood below the best at which a noise does not count: a factor of 2e-9."""

FLOOR = 0.5
"""Least scale of the noise of figures in coarse steps, in steps."""

MODES = 0.25
"""Prior probability of noise with two modes."""

GAP_STEP, WITHIN = 1.15, (0.1, 0.2)
"""Ratio of neighbouring gaps between two modes, and scales of the noise within a mode, as parts of the gap. Each gap
between two points of the grid is within one scale of a point."""

START = 4
"""Number of first blocks that measure the last state. A search does not end earlier, because a few equal figures look
like noise that is too small."""

CLEAREST = 6.0
"""Largest distance and doubt of an effect that count for :func:`information`, in standard deviations of the noise."""


@dataclass(frozen=True)
class Grid:
    """The points at which likelihoods are computed.

    Attributes:
        effects: log-ratios of a changed state, equally probable, uniform in the logarithm of their size.
        scale: scale of the noise, shape (noises,).
        freedom: degrees of freedom of the noise, shape (noises,).
        gap: distance of the two modes of a state, shape (noises,); 0 for noise with one mode.
        log_prior: logarithm of the prior probability of each noise, shape (noises,).
    """

    effects: Floats
    scale: Floats
    freedom: Floats
    gap: Floats
    log_prior: Floats

    @cached_property
    def spread(self) -> Floats:
        """Scale of each noise with the spread of its modes, shape (noises,)."""
        return np.hypot(self.scale, self.gap * sqrt(0.5))

    def log_likelihood(self, value: float) -> Floats:
        """Return the log-likelihood of a log-ratio, shape (effects + 1, noises); the last row is for no effect."""
        far = value - np.append(self.effects, 0.0)[:, None]
        one, two = slice(None, self._unimodal), slice(self._unimodal, None)
        result = np.empty((len(far), len(self.scale)))
        result[:, one] = -(self.freedom[one] + 1) / 2 * np.log1p(far**2 * self._factor[one])
        # In a quarter of the blocks the state alone is in the slow mode, in a quarter the reference alone.
        power = (MODE_FREEDOM + 1) / 2
        modes = ((0.25, -self.gap[two]), (0.5, 0.0), (0.25, self.gap[two]))
        result[:, two] = np.log(
            sum(weight / (1 + (far + shift) ** 2 * self._factor[two]) ** power for weight, shift in modes)
        )
        return np.asarray(result + self._constant)

    @cached_property
    def _unimodal(self) -> int:
        return int(np.count_nonzero(self.gap == 0))

    @cached_property
    def _constant(self) -> Floats:
        nu = self.freedom
        constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi) - np.log(self.scale)
        return np.asarray(constant)

    @cached_property
    def _factor(self) -> Floats:
        return np.asarray(1 / (self.freedom * self.scale**2))


@lru_cache(maxsize=8)
def grid(delta: float, step: float) -> Grid:
    """Return the grid for relative changes from ``delta`` upwards, of figures in steps of this log-ratio."""
    least = log1p(delta)
    sizes = _points(least, max(LARGEST, 2 * least), EFFECT_STEP)
    floor = max(NOISE_FROM * least, FLOOR * step)
    noises = _points(floor, NOISE_TO, NOISE_STEP)
    gaps = np.repeat(_points(least, NOISE_TO, GAP_STEP), len(WITHIN))
    within = np.maximum(gaps * np.tile(WITHIN, len(gaps) // len(WITHIN)), floor)
    apart = within <= max(WITHIN) * gaps
    gaps, within = gaps[apart], within[apart]
    one, two = len(FREEDOM) * len(noises), len(gaps)
    return Grid(
        np.concatenate([-sizes[::-1], sizes]),
        np.concatenate([np.tile(noises, len(FREEDOM)), within]),
        np.concatenate([np.repeat(FREEDOM, len(noises)), np.full(two, MODE_FREEDOM)]),
        np.concatenate([np.zeros(one), gaps]),
        np.concatenate([np.full(one, log((1 - MODES) / one)), np.full(two, log(MODES / max(two, 1)))]),
    )


def _points(first: float, last: float, step: float) -> Floats:
    return np.asarray(first * step ** np.arange(1 + round(log(last / first) / log(step))), dtype=np.float64)


@dataclass(frozen=True)
class Posterior:
    """Probabilities after the observations.

    Attributes:
        culprit: for each state, the probability that the state is the first state with the change, shape (states,); the
            reference has 0. If there are two changes, the state of the clearer change counts.
        no_change: probability of no change: the last state equals the reference. A change that a later state takes
            back is not among the hypotheses.
        two_changes: probability of two changes, included in ``culprit``.
        effect: mean log-ratio after the change, if there is a change.
        effects: for each state, mean log-ratio after the change if the change is at this state, shape (states,).
        spreads: standard deviations of ``effects``.
        noise: mean scale of the noise.
    """

    culprit: Floats
    no_change: float
    two_changes: float
    effect: float
    effects: Floats
    spreads: Floats
    noise: float

    def credible_set(self, level: float = CREDIBLE_POSTERIOR) -> list[int | None]:
        """Return the fewest hypotheses with at least this probability, the most probable first; None: no change."""
        chances = np.append(self.culprit, self.no_change)
        order = np.argsort(-chances, kind="stable")
        count = 1 + int(np.searchsorted(np.cumsum(chances[order]), level))
        return [None if i == len(self.culprit) else int(i) for i in order[:count]]

    def candidates(self, skipped: Collection[int] = ()) -> list[int | None]:
        """Return the most probable hypothesis: one state, or adjacent states that no measurement tells apart.

        Args:
            skipped: states that cannot be measured. A change at such a state shows at the next state.
        """
        groups: list[list[int]] = [[]]
        for state in range(1, len(self.culprit)):
            groups[-1].append(state)
            if state not in skipped:
                groups.append([])
        best = max((group for group in groups if group), key=lambda group: self.culprit[group].sum())
        return list(best) if self.culprit[best].sum() > self.no_change else [None]

    def probability(self, candidates: Collection[int | None]) -> float:
        """Return the probability that one of these hypotheses is true."""
        return sum(self.no_change if state is None else float(self.culprit[state]) for state in candidates)

    def decides(self, blocks: int, skipped: Collection[int] = ()) -> bool:
        """Return whether a search ends after this many blocks."""
        return blocks >= START and self.probability(self.candidates(skipped)) >= STOP


class Evidence:
    """The likelihoods of all observations so far.

    Args:
        states: number of states with the reference, at least 2.
        delta: least relative change that counts, such as 0.01.
        step: smallest step between two figures, relative to the figures; 0 if unknown.
    """

    def __init__(self, states: int, delta: float, step: float = 0.0) -> None:
        self._states = states
        self._grid = grid(delta, log1p(step))
        self._sums: dict[int, Floats] = {}

    def add(self, state: int, value: float) -> None:
        """Add the log-ratio of a state to the reference. State 0 is the reference in two blocks: it shows the noise
        alone."""
        self._sums[state] = self._sums.get(state, 0.0) + self._grid.log_likelihood(value)

    def posterior(self) -> Posterior:
        """Return the posterior of the change.

        The time grows with the square of the number of measured states, whatever the number of states: changes between
        two neighbouring measured states all have the same likelihood.
        """
        measured = sorted(self._sums)
        # Gap g ends at the measured state g, the last gap at the last state. `ways` states of a gap may be the change.
        ways = np.diff([0, *measured, self._states - 1])
        shape = (-1, len(self._grid.effects) + 1, len(self._grid.scale))
        sums = np.array([self._sums[state] for state in measured]).reshape(shape)
        best = _best(sums) + self._grid.log_prior
        likely = best > best.max() - NEGLIGIBLE
        sums = sums[:, :, likely]
        priors = np.broadcast_to(self._grid.log_prior[likely], (1, *sums.shape[1:]))
        totals = np.concatenate([priors, priors + np.cumsum(sums, axis=0)])
        since, before = totals[:, :-1], totals[:, -1]
        gaps, others, prior = len(ways), self._states - 1, -log(len(self._grid.effects))
        # spans[g][h − g]: likelihood of a common change of the measured states g … h − 1, averaged over its size.
        spans = [_log_sum(since[g:] - since[g], axis=1) + prior for g in range(gaps)]
        to_end = np.array([span[-1] for span in spans])
        log_single = before + to_end
        pairs = np.full((gaps, gaps), -np.inf)
        for g in range(gaps):
            pairs[g, g:] = _log_sum(before[g] + spans[g] + to_end[g:], axis=1)
        two_ways = np.triu(np.outer(ways, ways), 1) + np.diag(ways * (ways - 1) / 2)
        with np.errstate(divide="ignore"):
            single = _log_sum(log_single, axis=1)
            log_one = single + np.log(ways) + log((1 - NONE - TWO) / others)
            log_two = pairs + np.log(two_ways) + log(TWO / max(others * (others - 1) / 2, 1))
            joint = since[-1] - since + before[:, None]
            ways_logs = np.log(ways)[:, None, None]
        log_none = float(_log_sum(before[-1], axis=0)) + log(NONE)
        total = float(_log_sum(np.concatenate([log_one, log_two.ravel(), [log_none]]), axis=0))
        in_gap = np.exp(log_one - total)
        # Of two changes, the change that explains more on its own counts. The other change may be too small to matter.
        rows, columns = np.indices(log_two.shape)
        np.add.at(in_gap, np.where(single[rows] >= single[columns], rows, columns), np.exp(log_two - total))
        of_gap = np.exp(joint - joint.max(axis=(1, 2), keepdims=True)).sum(axis=2)
        of_gap /= of_gap.sum(axis=1, keepdims=True)
        means = of_gap @ self._grid.effects
        spreads = np.sqrt(np.maximum(of_gap @ self._grid.effects**2 - means**2, 0.0))
        weights = np.exp(joint + ways_logs - joint.max()).sum(axis=0)
        weights /= weights.sum()
        return Posterior(
            culprit=np.concatenate([[0.0], np.repeat(in_gap / np.maximum(ways, 1), ways)]),
            no_change=float(np.exp(log_none - total)),
            two_changes=float(np.exp(log_two - total).sum()),
            effect=float(weights.sum(axis=1) @ self._grid.effects),
            effects=np.concatenate([[0.0], np.repeat(means, ways)]),
            spreads=np.concatenate([[0.0], np.repeat(spreads, ways)]),
            noise=float(weights.sum(axis=0) @ self._grid.spread[likely]),
        )


def _best(sums: Floats) -> Floats:
    """Return the largest log-likelihood of at most two changes under each noise, shape (noises,), by the recursion of
    Viterbi (1967).

    ``sums`` has shape (measured states, effects + 1, noises). An effect of its own for each state would favour noise
    that is too small.
    """
    none = np.zeros(sums.shape[2])
    first = second = np.full((sums.shape[1] - 1, sums.shape[2]), -np.inf)
    for of_state in sums:
        second = np.maximum(second, first.max(axis=0)) + of_state[:-1]
        first = np.maximum(first, none) + of_state[:-1]
        none = none + of_state[-1]
    return np.asarray(np.maximum(none, np.maximum(first.max(axis=0), second.max(axis=0))))


def _log_sum(logs: Floats, axis: int) -> Floats:
    """Return log Σ exp. scipy's function takes ten times as long for small arrays."""
    top = logs.max(axis=axis, keepdims=True)
    return np.asarray(np.squeeze(top, axis) + np.log(np.exp(logs - top).sum(axis=axis)))


def information(posterior: Posterior) -> Floats:
    """Return the information about the first changed state that a block of each state is expected to give.

    The block's log-ratio is taken as normal around 0 for states before the change. From the change on it is normal
    around the effect that this change would have, with the doubt about this effect added to the noise.

    Returns:
        Mutual information in nats, shape (states,).
    """
    means = np.clip(posterior.effects / posterior.noise, -CLEAREST, CLEAREST)[:, None]
    spreads = np.hypot(1.0, np.minimum(posterior.spreads / posterior.noise, CLEAREST))[:, None]
    at = np.arange(-2 * CLEAREST, 2 * CLEAREST, 0.1)
    changed = np.exp(-0.5 * ((at - means) / spreads) ** 2) / spreads
    unchanged = np.exp(-0.5 * at**2)
    yes = np.cumsum(posterior.culprit)[:, None]
    mixed = np.cumsum(posterior.culprit[:, None] * changed, axis=0) + np.maximum(1 - yes, 0.0) * unchanged
    return _entropy(mixed) - np.cumsum(posterior.culprit * _entropy(changed)) - (1 - yes[:, 0]) * _entropy(unchanged)


def _entropy(density: Floats) -> Floats:
    """Return the entropy of densities over the last axis, in nats."""
    density = density / density.sum(axis=-1, keepdims=True)
    return -np.asarray((density * np.log(density + 1e-300)).sum(axis=-1))


def next_state(posterior: Posterior, blocks: int, costs: Floats, skipped: Collection[int] = ()) -> int:
    """Return the state whose next block is expected to give the most information per cost.

    The first blocks measure the last state, because they show the sizes of the effect and of the noise.

    Args:
        posterior: the probabilities so far.
        blocks: number of blocks so far.
        costs: seconds that a block with each state takes, shape (states,).
        skipped: states that cannot be measured.
    """
    if blocks < START:
        return max(set(range(1, len(costs))) - set(skipped))
    worth = information(posterior) / costs
    worth[[0, *skipped]] = -1.0
    # Of states that give the same information, the state in the middle divides the others best.
    best = np.flatnonzero(worth >= worth.max() * (1 - 1e-9))
    return int(best[len(best) // 2])


def simulated_blocks(
    states: int, delta: float, effect: float, noise: float, limit: int, searches: int = 20
) -> list[int]:
    """Return the blocks of simulated searches, sorted, for a change at a random state and normal noise.

    Args:
        states: number of states with the reference.
        delta: least relative change that counts.
        effect: relative change from the planted state on.
        noise: standard deviation of a block's log-ratio, above 0.
        limit: most blocks of a search.
        searches: number of searches.
    """
    rng = np.random.default_rng(0)
    counts = []
    for place in rng.integers(1, states, searches):
        evidence, blocks = Evidence(states, delta), 0
        while blocks < limit:
            posterior = evidence.posterior()
            if posterior.decides(blocks):
                break
            state = next_state(posterior, blocks, np.ones(states))
            evidence.add(state, float(rng.normal(log1p(effect) * (state >= place), noise)))
            blocks += 1
            if blocks % 2 == 0:
                evidence.add(0, float(rng.normal(0.0, noise)))
        counts.append(blocks)
    return sorted(counts)
