"""Kinds of noise: simulated trials of an unchanged machine, in order of time.

Each function draws relative times of shape (rows, visits, iterations). A visit is the time in which a block measures
one variant, for example one boot; its iterations follow each other.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Generator = np.random.Generator

SPREAD = 0.02
"""Standard deviation of a trial with mean 1. False alarms and coverage do not depend on this value."""

DRIFT = 0.10
"""Relative change of a drifting machine's speed from the first trial to the last, up or down."""

MEMORY = 0.9
"""Correlation of successive trials in AR(1) noise."""

DISTURBED, TAIL = 0.05, 1.5
"""Share of trials with a Pareto-distributed delay, and the exponent: below 2, the variance is infinite."""


def normal(rng: Generator, rows: int, visits: int, iterations: int) -> Floats:
    """Draw independent normal trials."""
    return 1 + SPREAD * rng.standard_normal((rows, visits, iterations))


def log_normal(rng: Generator, rows: int, visits: int, iterations: int) -> Floats:
    """Draw trials with a minimum time of 1 and log-normal delays (mean 0.03, standard deviation 0.04)."""
    return 1 + rng.lognormal(-4, 1, size=(rows, visits, iterations))


def heavy_tailed(rng: Generator, rows: int, visits: int, iterations: int) -> Floats:
    """Draw trials whose logs follow Student's t with 3 degrees of freedom; delay one trial in twenty by a Pareto
    time."""
    size = (rows, visits, iterations)
    delays = SPREAD * rng.pareto(TAIL, size) * (rng.random(size) < DISTURBED)
    return np.asarray(np.exp(SPREAD * rng.standard_t(3, size)) + delays, dtype=np.float64)


def drifting(rng: Generator, rows: int, visits: int, iterations: int) -> Floats:
    """Draw normal trials around a line that rises or falls by 10 % over the run."""
    line = np.linspace(-0.5, 0.5, visits * iterations).reshape(visits, iterations)
    return normal(rng, rows, visits, iterations) + DRIFT * rng.choice((-1, 1), size=(rows, 1, 1)) * line


def autoregressive(rng: Generator, rows: int, visits: int, iterations: int) -> Floats:
    """Draw a stationary AR(1) series with coefficient 0.9."""
    from scipy.signal import lfilter

    fresh = rng.standard_normal((rows, visits * iterations))
    fresh[:, 1:] *= np.sqrt(1 - MEMORY**2)
    series = lfilter([1.0], [1.0, -MEMORY], fresh, axis=1)
    return np.asarray(1 + SPREAD * series.reshape(rows, visits, iterations), dtype=np.float64)


def two_level(rng: Generator, rows: int, visits: int, iterations: int) -> Floats:
    """Draw trials of visits that are boots. The standard deviation is the same between boots and within a
    boot."""
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


def outliers(rng: Generator, rows: int, visits: int, iterations: int) -> Floats:
    """Draw normal trials. One trial in fifty takes three times as long."""
    return normal(rng, rows, visits, iterations) * np.where(rng.random((rows, visits, iterations)) < 0.02, 3.0, 1.0)


MANY_ROWS: dict[str, Callable[[Generator, int, int, int], Floats]] = {
    "persistent modes": normal,
    "second visit 3 % slower": normal,
    "2 % outliers × 3": outliers,
    "correlated rows": normal,
    "15 % missing": log_normal,
}
"""Further kinds, for campaigns of many rows. :data:`DISTURBANCES` multiplies the noise of some kinds."""


def persistent_modes(rng: Generator, campaigns: int, blocks: int, visits: int) -> Floats:
    """Draw the speed of a machine with two modes 10 % apart. A mode lasts for eight visits on average."""
    switches = rng.random((campaigns, blocks * visits)) < 1 / 8
    modes = (np.cumsum(switches, axis=1) + rng.integers(0, 2, size=(campaigns, 1))) % 2
    return 1 + 0.1 * modes


def second_visit_slower(_: Generator, campaigns: int, blocks: int, visits: int) -> Floats:
    """Return 1.03 for the second visit of each block and 1 for the other visits."""
    return np.broadcast_to(np.tile(np.where(np.arange(visits) == 1, 1.03, 1.0), blocks), (campaigns, blocks * visits))


def common_disturbance(rng: Generator, campaigns: int, blocks: int, visits: int) -> Floats:
    """Draw a normal disturbance of each visit with the standard deviation of a trial."""
    return 1 + SPREAD * rng.standard_normal((campaigns, blocks * visits))


DISTURBANCES: dict[str, Callable[[Generator, int, int, int], Floats]] = {
    "persistent modes": persistent_modes,
    "second visit 3 % slower": second_visit_slower,
    "correlated rows": common_disturbance,
}
"""Disturbances of the machine by kind of noise. The arguments are a generator and the numbers of campaigns, of blocks
and of visits in a block. The result, of shape (campaigns, blocks x visits), multiplies the trials of every row of a
campaign, because all rows run on the same machine."""

WIDER, WIDENED = "variant wider", 3.0
"""Name of a further kind of log-normal noise, and the factor by which the variant's spread exceeds the baseline's.

Baseline and variant have equal means.
"""

MEAN_DELAY = exp(-3.5)
"""Mean delay of log-normal noise: the mean of exp(N(-4, 1))."""


def draw(
    kind: str, rng: Generator, rows: int, visits: int, iterations: int, *, of_campaign: int = 1, of_block: int = 2
) -> Floats:
    """Draw noise of a kind of :data:`KINDS` or :data:`MANY_ROWS`.

    Args:
        kind: name of the kind. For :data:`WIDER` the result is the baseline's noise; see :func:`of_variant`.
        rng: random generator.
        rows: number of rows of all campaigns.
        visits: number of visits of all blocks.
        iterations: trials in a visit.
        of_campaign: number of adjacent rows that belong to one campaign and share the machine's disturbances.
        of_block: number of adjacent visits that belong to one block.
    """
    noise = (KINDS | MANY_ROWS).get(kind, log_normal)(rng, rows, visits, iterations)
    if kind in DISTURBANCES:
        shared = DISTURBANCES[kind](rng, rows // of_campaign, visits // of_block, of_block)
        noise = noise * np.repeat(shared, of_campaign, axis=0)[:, :, None]
    return noise


def generator(kind: str, seed: int, blocks: int) -> Generator:
    """Return the random generator for one kind of noise and one design of the study with this random seed."""
    return np.random.default_rng([seed, blocks, [*KINDS, WIDER, *MANY_ROWS].index(kind)])


def of_variant(kind: str, samples: Floats) -> Floats:
    """Turn drawn noise into the variant's noise: widen the noise for :data:`WIDER`, otherwise return it unchanged."""
    return 1 + MEAN_DELAY + WIDENED * (samples - 1 - MEAN_DELAY) if kind == WIDER else samples
