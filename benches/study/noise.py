"""Kinds of noise: successive trials of a machine without changes, in order of time."""

from __future__ import annotations

from collections.abc import Callable
from math import exp

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Generator = np.random.Generator

SPREAD = 0.02
"""Standard deviation of a single trial with mean 1. Shares of false alarms and coverage do not depend on it."""

DRIFT = 0.10
"""Change of the drifting machine from the first trial to the last, up or down."""

MEMORY = 0.9
"""Correlation of successive trials in the kind AR(1)."""

DISTURBED, TAIL = 0.05, 1.5
"""Share of trials that a Pareto delay hits, and its exponent: below 2, its variance is infinite."""


def normal(rng: Generator, rows: int, visits: int, iterations: int) -> Floats:
    """Independent normal trials, shape (rows, visits, iterations) as in all kinds; a visit is one boot or setting."""
    return 1 + SPREAD * rng.standard_normal((rows, visits, iterations))


def log_normal(rng: Generator, rows: int, visits: int, iterations: int) -> Floats:
    """A minimum time of 1 plus skewed log-normal delays with mean 3 % and standard deviation 4 %."""
    return 1 + rng.lognormal(-4, 1, size=(rows, visits, iterations))


def heavy_tailed(rng: Generator, rows: int, visits: int, iterations: int) -> Floats:
    """Student's t with 3 degrees of freedom on logs, and one trial in twenty delayed by a Pareto time."""
    size = (rows, visits, iterations)
    delays = SPREAD * rng.pareto(TAIL, size) * (rng.random(size) < DISTURBED)
    return np.asarray(np.exp(SPREAD * rng.standard_t(3, size)) + delays, dtype=np.float64)


def drifting(rng: Generator, rows: int, visits: int, iterations: int) -> Floats:
    """Normal trials on a line that rises or falls by 10 % over the run."""
    line = np.linspace(-0.5, 0.5, visits * iterations).reshape(visits, iterations)
    return normal(rng, rows, visits, iterations) + DRIFT * rng.choice((-1, 1), size=(rows, 1, 1)) * line


def autoregressive(rng: Generator, rows: int, visits: int, iterations: int) -> Floats:
    """Stationary AR(1) with coefficient 0.9 between successive trials."""
    from scipy.signal import lfilter

    fresh = rng.standard_normal((rows, visits * iterations))
    fresh[:, 1:] *= np.sqrt(1 - MEMORY**2)
    series = lfilter([1.0], [1.0, -MEMORY], fresh, axis=1)
    return np.asarray(1 + SPREAD * series.reshape(rows, visits, iterations), dtype=np.float64)


def two_level(rng: Generator, rows: int, visits: int, iterations: int) -> Floats:
    """Every visit is a boot. Boots differ as much as trials within a boot."""
    boots = SPREAD * rng.standard_normal((rows, visits, 1))
    return normal(rng, rows, visits, iterations) + boots


KINDS: dict[str, Callable[[Generator, int, int, int], Floats]] = {
    "normal": normal,
    "log-normal": log_normal,
    "heavy-tailed": heavy_tailed,
    "drifting": drifting,
    "AR(1)": autoregressive,
    "two-level": two_level,
}

WIDER, WIDENED = "variant wider", 3.0
"""A kind beside these: log-normal, and the variant's delays have the baseline's mean but three times its spread."""

MEAN_DELAY = exp(-3.5)
"""Of the kind log-normal: the mean of exp(N(-4, 1))."""


def drawn(kind: str, rng: Generator, rows: int, visits: int, iterations: int) -> Floats:
    """Noise of a kind of :data:`KINDS`, or of :data:`WIDER` before the variant changes it."""
    return KINDS.get(kind, log_normal)(rng, rows, visits, iterations)


def seeded(kind: str, seed: int, blocks: int) -> Generator:
    """A generator for each kind and design of a study with this seed."""
    return np.random.default_rng([seed, blocks, [*KINDS, WIDER].index(kind)])


def of_variant(kind: str, samples: Floats) -> Floats:
    """The variant's noise: unchanged, except for :data:`WIDER`.

    There no figure falls below half of the shortest time, which moves no mean.
    """
    if kind != WIDER:
        return samples
    return np.maximum(1 + MEAN_DELAY + WIDENED * (samples - 1 - MEAN_DELAY), 0.5)
