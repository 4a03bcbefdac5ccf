"""Sweeps whose factors have no effect or one effect: shares of the variance, and points that may be the best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import sqrt

import numpy as np
from benches.study.noise import KINDS, generator
from numpy.typing import NDArray

from schedlab.analysis.sensitivity import best_points, shares

Floats = NDArray[np.float64]

GRID = tuple(product(range(3), range(2), range(4)))
"""Points of the sweeps: three factors of three, two and four levels."""

LEVELS = {name: [point[place] for point in GRID] for place, name in enumerate("abc")}

BLOCKS = (1, 2, 4, 8)

NOISES = ("normal", "log-normal", "heavy-tailed", "two-level")

EFFECT = 0.02
"""Difference between neighbouring levels of the factor ``a`` where it has an effect: one standard deviation."""

WORSE = 0.10
"""Difference of the points with the first level of ``a`` from the other points, which are equal."""


@dataclass(frozen=True)
class Sweeps:
    """Shares for one kind of noise and one number of blocks.

    Attributes:
        raw: share of the squares between points without any effect, which noise alone makes.
        explained: mean share of all sources without effect; ``error`` is its standard error.
        alarms: sweeps without effect in which any source has p ≤ 5 %.
        found: sweeps with an effect of ``a`` in which its p is ≤ 5 %.
        lost: sweeps of equal points of which any is left out of the best region.
        kept: share of the clearly worse points that remain in the region.
    """

    kind: str
    blocks: int
    count: int
    raw: float
    explained: float
    error: float
    alarms: float
    found: float
    lost: float
    kept: float


def study(campaigns: int, seed: int) -> list[Sweeps]:
    """Return the shares for each kind of noise and number of blocks."""
    return [_sweeps(kind, blocks, campaigns, seed) for kind in NOISES for blocks in BLOCKS]


def _sweeps(kind: str, blocks: int, campaigns: int, seed: int) -> Sweeps:
    noise = KINDS[kind](generator(kind, seed, blocks), campaigns, len(GRID) * blocks, 1)
    logs = np.log(noise).reshape(campaigns, len(GRID), blocks)
    effect = np.array([[EFFECT * level] for level in LEVELS["a"]])
    worse = np.array([[WORSE * (level == 0)] for level in LEVELS["a"]])
    found = [shares(values, LEVELS) for values in logs]
    explained = [sum(share.share for share in each[:-1]) for each in found]
    regions = [best_points(values + worse, higher=False) for values in logs] if blocks > 1 else []
    return Sweeps(
        kind,
        blocks,
        campaigns,
        raw=float(np.mean([values.mean(axis=1).var() / values.var() for values in logs])),
        explained=float(np.mean(explained)),
        error=float(np.std(explained)) / sqrt(campaigns),
        alarms=_share(any(share.p <= 0.05 for share in each) for each in found),
        found=_share(shares(values + effect, LEVELS)[0].p <= 0.05 for values in logs),
        lost=_share(len(best_points(values, higher=False)) < len(GRID) for values in logs) if blocks > 1 else np.nan,
        kept=float(np.mean([sum(LEVELS["a"][p] == 0 for p in region) for region in regions])) / 8
        if regions
        else np.nan,
    )


def _share(occurs: Iterator[bool]) -> float:
    return float(np.mean(list(occurs)))
