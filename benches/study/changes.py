"""Changes of level in a history: share of series with a false change, and share of planted changes that are found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from benches.study.noise import drifting, heavy_tailed, log_normal
from benches.study.recorded import recordings
from numpy.typing import NDArray

from schedlab.analysis.history import LEAST_RUNS, change_points, newest_shift

Floats = NDArray[np.float64]
Rule = Callable[[Sequence[float]], list[int]]

SPREAD = 0.01
"""Standard deviation of a run without season and drift."""

RUNS, NIGHTS, EVERY = 60, 100, 3
"""Runs of a history that is read once; runs of a history that is read again after every third run."""

READINGS = range(LEAST_RUNS, NIGHTS + 1, EVERY)
"""Numbers of runs at which the history is read."""

STEP = 1.03
"""Factor of the planted changes."""

AFTER = (3, 5, 10, 20)
"""Runs after a planted change, of :data:`RUNS`."""

PLANTED = 100
"""Series with a planted change for each number of runs after the change."""

SPAN = 40
"""Successive visits of a recording that make a series, as if each visit were a run."""

TRIALS = 6
"""Trials whose mean is a run."""


def wandering(correlation: float) -> Callable[[np.random.Generator, int, int], Floats]:
    """Return a function that draws series of runs with this correlation of neighbours (a stationary AR(1) process)."""

    def drawn(rng: np.random.Generator, rows: int, runs: int) -> Floats:
        from scipy.signal import lfilter

        fresh = rng.standard_normal((rows, runs))
        fresh[:, 1:] *= np.sqrt(1 - correlation**2)
        return np.asarray(1 + SPREAD * lfilter([1.0], [1.0, -correlation], fresh, axis=1))

    return drawn


def season(nights: float, amplitude: float) -> Callable[[np.random.Generator, int, int], Floats]:
    """Return a function that draws independent runs on a sine wave; the amplitude is in standard deviations."""

    def drawn(rng: np.random.Generator, rows: int, runs: int) -> Floats:
        phases = rng.uniform(0, 2 * np.pi, (rows, 1))
        wave = np.sin(2 * np.pi * np.arange(runs) / nights + phases)
        return np.asarray(1 + SPREAD * (rng.standard_normal((rows, runs)) + amplitude * wave))

    return drawn


def of_trials(kind: Callable[[np.random.Generator, int, int, int], Floats]) -> Callable[..., Floats]:
    """Return a function that draws runs as means of trials."""
    return lambda rng, rows, runs: kind(rng, rows, runs, TRIALS).mean(axis=2)


KINDS: dict[str, Callable[[np.random.Generator, int, int], Floats]] = {
    "independent": wandering(0.0),
    "AR(1) 0.3": wandering(0.3),
    "AR(1) 0.5": wandering(0.5),
    "AR(1) 0.7": wandering(0.7),
    "season of a week": season(7, 1),
    "season of 30 nights": season(30, 1),
    "season of 60 nights": season(60, 1),
    "season of 60 nights, twice as large": season(60, 2),
    "log-normal trials": of_trials(log_normal),
    "heavy-tailed trials": of_trials(heavy_tailed),
    "drift of 10 %": of_trials(drifting),
}
"""Kinds of noise, which draw series of runs from a generator, a number of series and a number of runs."""


def exchangeable(values: Sequence[float], alpha: float = 0.001, shuffles: int = 999) -> list[int]:
    """Return the likeliest change if a permutation test of the runs finds a change, as the only element.

    The rule is that of E-divisive (Matteson & James 2014) with a test of means (Antoch & Hušková 2001), which takes the
    runs as exchangeable and does not count how often the history is read.
    """
    rows = np.log(np.array([values]))
    before = np.arange(2, rows.shape[1] - 1)
    deviations = np.sqrt(before * (rows.shape[1] - before) / rows.shape[1])

    def largest(of: Floats) -> Floats:
        sums = np.cumsum(of - of.mean(axis=1, keepdims=True), axis=1)[:, before - 1]
        return np.asarray(np.abs(sums) / deviations)

    at_place, random, reached = largest(rows)[0], np.random.default_rng(1), 0
    for _ in range(0, shuffles, 111):
        shuffled = random.permuted(np.broadcast_to(rows, (111, rows.shape[1])), axis=1)
        reached += int((largest(shuffled).max(axis=1) >= at_place.max() * (1 - 1e-9)).sum())
        if reached + 1 > alpha * (shuffles + 1):
            return []
    return [int(before[at_place.argmax()])]


def places(values: Sequence[float]) -> list[int]:
    """Return the changes that a history shows."""
    return [change.index for change in change_points(values)]


RULES: tuple[Rule, Rule] = (places, exchangeable)

NEWEST: tuple[Rule, Rule] = (lambda values: [shift[0]] if (shift := newest_shift(np.log(values))) else [], exchangeable)
"""What the newest run of a series without earlier changes shows."""


@dataclass(frozen=True)
class Changes:
    """Shares for one kind of noise, each for the two :data:`RULES`.

    Attributes:
        series: number of series without a change.
        once: series with a change when they are read once, after :data:`RUNS` runs.
        ever: series with a change at any reading, after every third run up to :data:`NIGHTS`.
        found: planted changes that are found at their run or its neighbour, for each of :data:`AFTER`.
    """

    kind: str
    series: int
    once: tuple[float, ...]
    ever: tuple[float, ...]
    found: tuple[tuple[float, ...], ...]


def study(campaigns: int, seed: int) -> Iterable[Changes]:
    """Yield the shares for simulated noise, and for recorded noise in the recorded and in random order."""
    for number, (kind, draw) in enumerate(KINDS.items()):
        yield _simulated(kind, draw(np.random.default_rng([seed, number]), campaigns, NIGHTS))
    for recording in recordings():
        levels = recording.visits.mean(axis=1)
        yield _recorded(f"{recording.label}, as recorded", levels)
        yield _recorded(f"{recording.label}, shuffled", np.random.default_rng(seed).permutation(levels))


def _simulated(kind: str, levels: Floats) -> Changes:
    return Changes(
        kind,
        len(levels),
        tuple(_share(rule(row[:RUNS].tolist()) for row in levels) for rule in RULES),
        tuple(_share(any(rule(row[:end].tolist()) for end in READINGS) for row in levels) for rule in NEWEST),
        tuple(tuple(_found(levels[:PLANTED, :RUNS], after, rule) for rule in RULES) for after in AFTER),
    )


def _found(levels: Floats, after: int, rule: Rule) -> float:
    planted = levels.copy()
    planted[:, -after:] *= STEP
    return _share(any(abs(place - RUNS + after) <= 1 for place in rule(row.tolist())) for row in planted)


def _recorded(label: str, levels: Floats) -> Changes:
    rows = levels[: len(levels) // SPAN * SPAN].reshape(-1, SPAN)
    return Changes(label, len(rows), tuple(_share(rule(row.tolist()) for row in rows) for rule in RULES), (), ())


def _share(occurs: Iterable[object]) -> float:
    return float(np.mean([bool(each) for each in occurs]))
