"""Outliers: share of clean runs with a warning, and share of runs in which a disturbed block is found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from benches.study.noise import KINDS, MANY_ROWS, draw, generator
from numpy.typing import NDArray

from schedlab.analysis.series import fence

Floats = NDArray[np.float64]

VARIANTS = 3
"""Variants of a run, all with the same distribution."""

DESIGNS = ((3, 8), (20, 8), (20, 20))
"""Rows and blocks of a run."""

INNER_FENCE = 1.5
"""Tukey's inner fences, in interquartile ranges, without any correction for the number of cells."""

SLOWER = (1.2, 1.5, 3.0)
"""Factors by which a single block of a single cell takes longer, in the columns about detection."""


@dataclass(frozen=True)
class Outliers:
    """Shares of runs with a value outside the fences, for one kind of noise.

    ``clean``: runs without any disturbance, for each of :data:`DESIGNS`; ``tukey``: the same runs with Tukey's inner
    fences. ``detected``: runs of the first design whose disturbed cell has a value outside, for each of :data:`SLOWER`.
    """

    kind: str
    clean: tuple[float, ...]
    tukey: tuple[float, ...]
    detected: tuple[float, ...]


def farthest(values: Floats) -> Floats:
    """Return the largest distance from the quartiles over the last axis, on logs, in interquartile ranges."""
    logs = np.log(values)
    low, high = np.percentile(logs, [25, 75], axis=-1)
    return np.asarray(np.maximum(logs.max(axis=-1) - high, low - logs.min(axis=-1)) / (high - low))


def runs(kind: str, rows: int, blocks: int, campaigns: int, seed: int) -> Floats:
    """Draw the values of clean runs with one iteration a block: shape (campaigns, cells, blocks)."""
    rng = generator(kind, seed, blocks)
    visits = draw(kind, rng, campaigns * rows, VARIANTS * blocks, 1, of_campaign=rows, of_block=VARIANTS)
    visits = visits.reshape(campaigns, rows, blocks, VARIANTS)
    order = rng.permuted(np.broadcast_to(np.arange(VARIANTS), (campaigns, 1, blocks, VARIANTS)), axis=-1)
    values = np.take_along_axis(visits, np.broadcast_to(order, visits.shape), axis=-1)
    return values.transpose(0, 1, 3, 2).reshape(campaigns, rows * VARIANTS, blocks)


def outliers(kind: str, campaigns: int, seed: int) -> Outliers:
    """Return the shares for one kind of noise."""
    clean, tukey, detected = [], [], []
    for rows, blocks in DESIGNS:
        values = runs(kind, rows, blocks, campaigns, seed)
        reach, beyond = fence(blocks, rows * VARIANTS), farthest(values)
        clean.append(float((beyond.max(axis=1) > reach).mean()))
        tukey.append(float((beyond.max(axis=1) > INNER_FENCE).mean()))
        if (rows, blocks) == DESIGNS[0]:
            for factor in SLOWER:
                disturbed = values[:, 0].copy()
                disturbed[:, 0] *= factor
                detected.append(float((farthest(disturbed) > reach).mean()))
    return Outliers(kind, tuple(clean), tuple(tukey), tuple(detected))


def study(campaigns: int, seed: int) -> Iterator[Outliers]:
    """Yield the shares for each kind of noise; ``15 % missing`` is log-normal noise."""
    for kind in (*KINDS, *MANY_ROWS):
        if kind != "15 % missing":
            yield outliers(kind, campaigns, seed)
