"""Rates that may be 0: false alarms, found changes and coverage of the verdicts on events per second."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from benches.study.false_alarms import ALPHA
from benches.study.judging import judge_run
from numpy.typing import NDArray

from schedlab.analysis.verdicts import Options, Verdict

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, float, tuple[int, ...]], Floats]
"""Function from a generator, a mean and a shape to numbers of events."""

BLOCKS = (8, 20)
SECONDS = 10.0
RATIOS = (0.3, 0.1, 0.0)
"""Changes of the rate in the columns of found changes."""

BURST = 20
"""Events in a burst."""


def _poisson(rng: np.random.Generator, mean: float, size: tuple[int, ...]) -> Floats:
    return rng.poisson(mean, size).astype(np.float64)


def _bursts(rng: np.random.Generator, mean: float, size: tuple[int, ...]) -> Floats:
    return BURST * rng.poisson(mean / BURST, size).astype(np.float64)


def _regular(rng: np.random.Generator, mean: float, size: tuple[int, ...]) -> Floats:
    """Draw the events of a timer: the number differs by its phase alone."""
    return np.floor(mean + rng.random(size))


def _boots(rng: np.random.Generator, mean: float, size: tuple[int, ...]) -> Floats:
    """Draw events whose rate differs between visits, by a gamma distribution of shape 2."""
    return rng.poisson(mean * rng.gamma(2, 0.5, size)).astype(np.float64)


KINDS: dict[str, tuple[Draw, float]] = {
    "Poisson, 1 a block": (_poisson, 1),
    "Poisson, 4 a block": (_poisson, 4),
    "Poisson, 10 a block": (_poisson, 10),
    "timer, 10 a block": (_regular, 10),
    "differing visits, 10 a block": (_boots, 10),
    f"bursts of {BURST}, 10 a block": (_bursts, 10),
    f"bursts of {BURST}, 40 a block": (_bursts, 40),
}
"""Kinds of events, and the mean number of the baseline's events in a block."""


@dataclass(frozen=True)
class Events:
    """Shares of campaigns for one kind of events.

    ``alarms``: campaigns without a change called better or worse. ``zeros``: campaigns without a change that have a
    value of 0. ``found``: campaigns called better, for each of :data:`RATIOS`. ``covered``: intervals that contain the
    ratio, for a ratio of 1 and each of :data:`RATIOS`. ``bound``: median upper end of the intervals for a ratio of 0.
    """

    kind: str
    blocks: int
    count: int
    alarms: float
    zeros: float
    found: tuple[float, ...]
    covered: tuple[float, ...]
    bound: float


def events(kind: str, blocks: int, campaigns: int, seed: int) -> Events:
    """Simulate campaigns with and without a change of the rate."""
    rng = np.random.default_rng([seed, blocks, list(KINDS).index(kind)])
    draw, mean = KINDS[kind]
    size = (campaigns, blocks, 1)
    judged: list[list[Verdict]] = []
    zeros = 0.0
    for ratio in (1.0, *RATIOS):
        baseline, variant = draw(rng, mean, size), draw(rng, ratio * mean, size) if ratio else np.zeros(size)
        if ratio == 1:
            zeros = float(((baseline == 0) | (variant == 0)).any(axis=(1, 2)).mean())
        judged.append(
            judge_run(baseline / SECONDS, variant / SECONDS, Options(ALPHA, correction="none"), seconds=SECONDS)
        )
    # Rows without any event have no interval.
    covered = [
        float(np.mean([v.low - 1e-9 <= ratio <= v.high + 1e-9 for v in verdicts if not np.isnan(v.low)]))
        for ratio, verdicts in zip((1.0, *RATIOS), judged, strict=True)
    ]
    unchanged, *changed = judged
    return Events(
        kind,
        blocks,
        campaigns,
        alarms=float(np.mean([v.word in ("better", "worse") for v in unchanged])),
        zeros=zeros,
        found=tuple(float(np.mean([v.word == "better" for v in verdicts])) for verdicts in changed),
        covered=tuple(covered),
        bound=float(np.nanmedian([v.high for v in changed[-1]])),
    )


def study(campaigns: int, seed: int) -> Iterator[Events]:
    """Yield the shares for each kind of events and number of blocks."""
    for kind in KINDS:
        for blocks in BLOCKS:
            yield events(kind, blocks, campaigns, seed)
