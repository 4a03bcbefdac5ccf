"""Bisection with noise: the posterior of the first changed state, and the state that is worth measuring next.

States are numbered in order from 0, the reference. An observation is the log-ratio of a state to the reference, which
the same block measured. States before the change have the log-ratio 0, states from the change on a common log-ratio of
unknown size and sign. A second change is possible. The noise has unknown size and follows Student's t with 3 or 30
degrees of freedom, so that outliers do not decide. Each block measures the reference, so that successive blocks
show the noise without an effect.

The search is probabilistic bisection by Bayes' rule (Horstein 1963; Waeber, Frazier & Henderson 2013): the next state
is the state whose observation is expected to give the most information about the change in a second of its cost.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from math import log, log1p

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]

NONE, TWO = 0.1, 0.2
"""Prior probabilities of no change, and of two changes. All other states share the rest equally."""

CONFIDENCE = 0.95
"""Posterior probability at which a search ends."""

CREDIBLE = 0.99
"""Posterior probability of a credible set. A search ends at a lucky moment: sets of 95 % would contain fewer than 95 %
of changes that are as small as the noise (``benches/bisection.py``)."""

LARGEST = 2.0
"""Largest log-ratio of the prior: a factor of 7.4."""

EFFECT_STEP, NOISE_STEP = 1.1, 1.5
"""Ratios of neighbouring points of the grids of effects and of noise."""

NOISE_FROM, NOISE_TO = 0.01, 1.0
"""Range of the noise: from a part of the least effect, because counted figures have no noise, to a log-ratio."""

FREEDOM = (3.0, 30.0)
"""Degrees of freedom of the noise: with outliers, and almost normal."""

NEGLIGIBLE = 20.0
"""Log-likelihood below the best at which a noise does not count: a factor of 2e-9."""

START = 4
"""Number of first blocks that measure the last state."""

CLEAREST = 6.0
"""Largest distance and doubt of an effect that count for :func:`information`, in standard deviations of the noise."""


@dataclass(frozen=True)
class Grid:
    """The points at which likelihoods are computed.

    ``effects``: log-ratios of a changed state, equally probable, uniform in the logarithm of their size. ``scale`` and
    ``freedom``: the noise, shape (noises,).
    """

    effects: Floats
    scale: Floats
    freedom: Floats

    def log_likelihood(self, value: float) -> Floats:
        """Return the log-likelihood of a log-ratio, shape (effects + 1, noises); the last row is for no effect."""
        nu, effects = self.freedom, np.append(self.effects, 0.0)
        constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi) - np.log(self.scale)
        squares = ((value - effects[:, None]) / self.scale) ** 2
        return np.asarray(constant - (nu + 1) / 2 * np.log1p(squares / nu))


@lru_cache(maxsize=8)
def grid(delta: float) -> Grid:
    """Return the grid for relative changes from ``delta`` upwards."""
    least = log1p(delta)
    sizes = _points(least, max(LARGEST, 2 * least), EFFECT_STEP)
    noises = _points(NOISE_FROM * least, NOISE_TO, NOISE_STEP)
    return Grid(np.concatenate([-sizes[::-1], sizes]), np.tile(noises, len(FREEDOM)), np.repeat(FREEDOM, len(noises)))


def _points(first: float, last: float, step: float) -> Floats:
    return np.asarray(first * step ** np.arange(1 + round(log(last / first) / log(step))), dtype=np.float64)


@dataclass(frozen=True)
class Posterior:
    """Probabilities after the observations.

    Attributes:
        culprit: for each state, the probability that the state is the first state with the change, shape (states,); the
            reference has 0. If there are two changes, the state of the clearer change counts.
        no_change: probability of no change.
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

    def credible_set(self, level: float = CREDIBLE) -> list[int | None]:
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


class Evidence:
    """The likelihoods of all observations so far.

    Args:
        states: number of states with the reference, at least 2.
        delta: least relative change that counts, such as 0.01.
    """

    def __init__(self, states: int, delta: float) -> None:
        self._states = states
        self._grid = grid(delta)
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
        best = sums.max(axis=1).sum(axis=0)
        likely = best > best.max() - NEGLIGIBLE
        sums = sums[:, :, likely]
        totals = np.concatenate([np.zeros((1, *sums.shape[1:])), np.cumsum(sums, axis=0)])
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
            noise=float(weights.sum(axis=0) @ self._grid.scale[likely]),
        )


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
            if posterior.probability(posterior.candidates()) >= CONFIDENCE:
                break
            state = next_state(posterior, blocks, np.ones(states))
            evidence.add(state, float(rng.normal(log1p(effect) * (state >= place), noise)))
            blocks += 1
            if blocks % 2 == 0:
                evidence.add(0, float(rng.normal(0.0, noise)))
        counts.append(blocks)
    return sorted(counts)
