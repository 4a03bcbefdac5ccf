"""The control as a second reference: an exchange of two labels against permutations of three.

Three tests judge the same campaigns of one row: sign flips of the log-ratio of variant and baseline, permutations of
the labels variant, baseline and control on aligned ranks, and permutations of the same labels on means. A campaign is
called if p is at or below α.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from benches.study import maxima
from benches.study.false_alarms import ALPHA
from benches.study.noise import KINDS as NOISE
from benches.study.noise import MANY_ROWS, SPREAD, WIDENED, draw
from benches.study.recorded import recordings
from numpy.typing import NDArray

from schedlab.analysis import labels
from schedlab.analysis.signflip import p_values

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, int], Floats]
"""Function from a generator, campaigns and blocks to times of shape (campaigns, blocks, 3): variant, baseline,
control. A time of nan is a lost trial."""

BLOCKS = (4, 6, 8, 12, 20)
EFFECTS = (1.0, 2.0)
"""Changes in the table of power, in robust standard deviations of the log-ratio of variant and baseline."""

TESTS = ("sign flips", "aligned ranks", "means")

AT_ONCE = 250
"""Campaigns that share drawn arrangements, and draw others than the next campaigns."""

LOST = 0.04
"""Share of lost trials: at random, or the slowest trials."""


def _in_random_order(visits: Floats, rng: np.random.Generator) -> Floats:
    """Assign the three visits of each block to the labels; shape (campaigns, blocks, 3)."""
    return np.asarray(rng.permuted(visits, axis=2))


def _of_noise(kind: str, rng: np.random.Generator, campaigns: int, blocks: int) -> Floats:
    visits = draw(kind, rng, campaigns, labels.LABELS * blocks, 1, of_block=labels.LABELS)
    return _in_random_order(visits.reshape(campaigns, blocks, labels.LABELS), rng)


def _of_maxima(kind: str, rng: np.random.Generator, campaigns: int, blocks: int) -> Floats:
    visits = maxima.KINDS[kind](rng, (campaigns, labels.LABELS * blocks, maxima.TRIALS)).max(axis=2)
    return _in_random_order(visits.reshape(campaigns, blocks, labels.LABELS), rng)


def _of_recording(label: str, rng: np.random.Generator, campaigns: int, blocks: int) -> Floats:
    """Draw spans of a recording; three successive visits are a block."""
    (source,) = (source for source in recordings() if source.label == label)
    visits, length = source.visits.mean(axis=1), labels.LABELS * blocks
    starts = rng.integers(0, len(visits) - length + 1, size=campaigns)
    spans = visits[starts[:, None] + np.arange(length)]
    return _in_random_order(spans.reshape(campaigns, blocks, labels.LABELS), rng)


def _normal(rng: np.random.Generator, campaigns: int, blocks: int) -> Floats:
    return np.asarray(1 + SPREAD * rng.standard_normal((campaigns, blocks, labels.LABELS)))


def _missing(rng: np.random.Generator, campaigns: int, blocks: int) -> Floats:
    times = _of_noise("log-normal", rng, campaigns, blocks)
    return np.where(rng.random(times.shape) < LOST, np.nan, times)


def _wider(label: int, rng: np.random.Generator, campaigns: int, blocks: int) -> Floats:
    """Draw normal trials; one label has a wider spread."""
    factors = np.where(np.arange(labels.LABELS) == label, WIDENED, 1.0)
    return 1 + factors * (_normal(rng, campaigns, blocks) - 1)


def _wider_log_normal(rng: np.random.Generator, campaigns: int, blocks: int) -> Floats:
    """Draw the kind :data:`benches.study.noise.WIDER`: skewed, and the variant has the baseline's mean."""
    delays = rng.lognormal(-4, 1, size=(campaigns, blocks, labels.LABELS))
    delays[:, :, 0] = WIDENED * delays[:, :, 0] + (1 - WIDENED) * float(np.exp(-3.5))
    return np.asarray(1 + delays)


def _boot_modes(rng: np.random.Generator, campaigns: int, blocks: int) -> Floats:
    times = _normal(rng, campaigns, blocks)
    return times * np.where(rng.random(times.shape) < 0.5, 1.1, 1.0)


def _coarse(rng: np.random.Generator, campaigns: int, blocks: int) -> Floats:
    return np.asarray(np.round(_normal(rng, campaigns, blocks) / SPREAD) * SPREAD)


def _losses(rng: np.random.Generator, campaigns: int, blocks: int) -> Floats:
    """Draw log-normal trials whose slowest are lost."""
    times = 1 + rng.lognormal(-4, 1, size=(campaigns, blocks, labels.LABELS))
    return np.where(times > np.quantile(times, 1 - LOST), np.nan, times)


def _correlated_within(rng: np.random.Generator, campaigns: int, blocks: int) -> Floats:
    """Draw a new AR(1) series of three visits for each block."""
    visits = NOISE["AR(1)"](rng, campaigns * blocks, labels.LABELS, 1)
    return _in_random_order(visits.reshape(campaigns, blocks, labels.LABELS), rng)


def _drifting_within(rng: np.random.Generator, campaigns: int, blocks: int) -> Floats:
    """Draw visits that slow down by 10 % within each block."""
    return _in_random_order(_normal(rng, campaigns, blocks) * np.linspace(1, 1.1, labels.LABELS), rng)


def _failing_block(rng: np.random.Generator, campaigns: int, blocks: int) -> Floats:
    """Draw normal trials; a trial of the first block takes three times as long."""
    times = _normal(rng, campaigns, blocks)
    times[np.arange(campaigns), 0, rng.integers(0, labels.LABELS, campaigns)] *= 3
    return times


def _exponential(rng: np.random.Generator, campaigns: int, blocks: int) -> Floats:
    return np.asarray(1 + rng.exponential(0.05, size=(campaigns, blocks, labels.LABELS)))


def _uniform(rng: np.random.Generator, campaigns: int, blocks: int) -> Floats:
    return np.asarray(1 + rng.uniform(-0.04, 0.04, size=(campaigns, blocks, labels.LABELS)))


KINDS: dict[str, Draw] = {
    **{kind: partial(_of_noise, kind) for kind in (*NOISE, *MANY_ROWS) if kind != "15 % missing"},
    "4 % missing": _missing,
    "variant wider": _wider_log_normal,
    **{f"maxima: {kind}": partial(_of_maxima, kind) for kind in ("Gumbel", "Fréchet, shape 0.5", "30 % × 10")},
    **{source.label: partial(_of_recording, source.label) for source in recordings()},
    "modes by boot": _boot_modes,
    "variant wider, normal": partial(_wider, 0),
    "control wider, normal": partial(_wider, 2),
    "coarse: steps of 1 sd": _coarse,
    "slowest 4 % lost": _losses,
    "AR(1) within blocks": _correlated_within,
    "drift within blocks": _drifting_within,
    "a failing block": _failing_block,
    "exponential": _exponential,
    "uniform": _uniform,
}


@dataclass(frozen=True)
class Called:
    """Shares of campaigns that each of :data:`TESTS` calls, for one kind of noise and number of blocks.

    ``alarms``: campaigns without a change. ``found``: campaigns with each change of :data:`EFFECTS`.
    """

    kind: str
    blocks: int
    count: int
    alarms: tuple[float, ...]
    found: tuple[tuple[float, ...], ...]


def p_of_tests(logs: Floats) -> Floats:
    """Return the p values of each test, shape (tests, campaigns).

    A lost trial has the value nan. As in ``judge``, the larger p counts of the complete blocks, and of all blocks with
    the worst value of the campaign in place of each lost trial.
    """
    lost = np.isnan(logs)
    if not lost.any():
        return _p_of_tests(logs)
    worst = np.where(lost, np.nanmax(logs, axis=(1, 2), keepdims=True), logs)
    # Sign flips use the blocks with variant and baseline.
    of_pairs = _p_of_complete(logs[:, :, :2], lambda pairs: _p_of_flips(pairs)[None])
    of_labels = _p_of_complete(logs, lambda blocks: _p_of_tests(blocks)[1:])
    return np.maximum(np.concatenate([of_pairs, of_labels]), _p_of_tests(worst))


def _p_of_complete(logs: Floats, p: Callable[[Floats], Floats]) -> Floats:
    """Return the p values by complete blocks; campaigns with equal numbers of such blocks are computed together."""
    complete = ~np.isnan(logs).any(axis=2)
    counts = complete.sum(axis=1)
    parts = {count: p(logs[counts == count][complete[counts == count]].reshape(-1, count, logs.shape[2]))
             for count in np.unique(counts[counts > 0]).tolist()}  # fmt: skip
    values = np.ones((len(next(iter(parts.values()))), len(logs)))
    for count, part in parts.items():
        values[:, counts == count] = part
    return values


def _p_of_flips(logs: Floats) -> Floats:
    starts = range(0, len(logs), AT_ONCE)
    return np.concatenate([p_values((each[:, :, 0] - each[:, :, 1]).T, start) for each, start in _parts(logs, starts)])


def _p_of_tests(logs: Floats) -> Floats:
    starts = range(0, len(logs), AT_ONCE)
    ranks, means = [
        np.concatenate([labels.tails(scores(each), start).both for each, start in _parts(logs, starts)])
        for scores in (labels.aligned_ranks, lambda each: each - each.mean(axis=2, keepdims=True))
    ]
    return np.stack([_p_of_flips(logs), ranks, means])


def _parts(logs: Floats, starts: range) -> Iterator[tuple[Floats, int]]:
    return ((logs[start : start + AT_ONCE], start) for start in starts)


def called(kind: str, blocks: int, campaigns: int, seed: int) -> Called:
    """Simulate campaigns without a change, and with each change."""
    rng = np.random.default_rng([seed, blocks, list(KINDS).index(kind)])
    logs = np.log(KINDS[kind](rng, campaigns, blocks))
    low, high = np.nanquantile(logs[:, :, 0] - logs[:, :, 1], (0.1587, 0.8413))
    # Half of the campaigns become faster, half slower.
    change = (high - low) / 2 * np.where(np.arange(campaigns) % 2, 1.0, -1.0)[:, None, None]
    alarms, *found = (
        tuple(float(share) for share in (p_of_tests(logs + effect * change * VARIANT) <= ALPHA).mean(axis=1))
        for effect in (0.0, *EFFECTS)
    )
    return Called(kind, blocks, campaigns, alarms, tuple(found))


VARIANT = np.array([1.0, 0.0, 0.0])
"""The label that a change shifts."""


def study(campaigns: int, seed: int) -> Iterator[Called]:
    """Yield the shares for each kind of noise and number of blocks."""
    for kind in KINDS:
        for blocks in BLOCKS:
            yield called(kind, blocks, campaigns, seed)
