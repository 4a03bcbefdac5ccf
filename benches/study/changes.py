"""Changes of level in a history: share of series with a false change, and share of planted changes that are found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from benches.study.noise import KINDS, generator
from benches.study.recorded import recordings
from numpy.typing import NDArray

from schedlab.analysis.history import change_points

Floats = NDArray[np.float64]

RUNS, BLOCKS = 60, 6
"""Runs of a series, and trials whose mean is a run's level."""

STEPS = (1.02, 1.05, 1.10)
"""Factors of the planted changes."""

AFTER = (3, 10)
"""Runs after a planted change."""

PLANTED = 200
"""Series with a planted change for each factor and number of runs after the change."""

SPAN = 40
"""Successive visits of a recording that make a series, as if each visit were a run."""


@dataclass(frozen=True)
class Changes:
    """Shares for one kind of noise.

    ``false``: series without a change that have a change point. ``found``: planted changes that are found at their run
    or its neighbour, for each of :data:`AFTER` and each of :data:`STEPS`.
    """

    kind: str
    series: int
    false: float
    found: tuple[tuple[float, ...], ...]


def study(campaigns: int, seed: int) -> list[Changes]:
    """Return the shares for simulated noise, and for recorded noise in the recorded and in random order."""
    return [_simulated(kind, campaigns, seed) for kind in KINDS] + [
        _recorded(f"{recording.label}, {name}", recording.visits.mean(axis=1), is_shuffled, seed)
        for recording in recordings()
        for name, is_shuffled in (("as recorded", False), ("shuffled", True))
    ]


def _simulated(kind: str, campaigns: int, seed: int) -> Changes:
    levels = KINDS[kind](generator(kind, seed, RUNS), campaigns, RUNS, BLOCKS).mean(axis=2)
    false = np.mean([bool(change_points(row.tolist())) for row in levels])
    found = tuple(tuple(_found(levels[:PLANTED], step, after) for step in STEPS) for after in AFTER)
    return Changes(kind, campaigns, float(false), found)


def _found(levels: Floats, step: float, after: int) -> float:
    planted = levels.copy()
    planted[:, -after:] *= step
    return float(np.mean([_is_near(row.tolist(), len(row) - after) for row in planted]))


def _is_near(values: Sequence[float], index: int) -> bool:
    return any(abs(change.index - index) <= 1 for change in change_points(values))


def _recorded(label: str, levels: Floats, is_shuffled: bool, seed: int) -> Changes:
    values = np.random.default_rng(seed).permutation(levels) if is_shuffled else levels
    rows = values[: len(values) // SPAN * SPAN].reshape(-1, SPAN)
    return Changes(label, len(rows), float(np.mean([bool(change_points(row.tolist())) for row in rows])), ())
