"""Coverage: share of nominal 95 % intervals that contain the true ratio."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from benches.study.arrange import drawn_orders, in_blocks
from benches.study.false_alarms import ITERATIONS
from benches.study.noise import KINDS, WIDER, drawn, of_variant, seeded
from benches.study.ours import judged
from numpy.typing import NDArray
from scipy import stats

from schedlab.analysis.bootstrap import bca
from schedlab.analysis.verdicts import Options

Floats = NDArray[np.float64]

DESIGNS = (6, 8, 12, 20)
TRUE = 1.03
"""The variant's true ratio: every one of its trials takes 3 % longer."""

CONFIDENCE = 0.95

BOOTSTRAPPED = 10
"""One campaign in ten is bootstrapped: each takes 10,000 resamples, as in the product."""


@dataclass(frozen=True)
class Coverage:
    """Shares of intervals that contain the true ratio: schedlab's, Student's and BCa's, on the same samples."""

    kind: str
    blocks: int
    ours: float
    student: float
    bca: float


def covered(kind: str, blocks: int, campaigns: int, seed: int) -> Coverage:
    """Simulate campaigns whose variant takes 3 % longer, and count."""
    series = drawn(kind, seeded(kind, seed, blocks), campaigns, 2 * blocks, ITERATIONS)
    baseline, variant = in_blocks(series, drawn_orders(seed, campaigns, blocks))
    variant = TRUE * of_variant(kind, variant)
    ours = judged(baseline, variant, Options(1 - CONFIDENCE))
    bounds = student(baseline, variant), bootstrapped(baseline[::BOOTSTRAPPED], variant[::BOOTSTRAPPED], seed)
    shares = [float(np.mean((low <= TRUE) & (high >= TRUE))) for low, high in ((ours.low, ours.high), *bounds)]
    return Coverage(kind, blocks, *shares)


def student(baseline: Floats, variant: Floats) -> tuple[Floats, Floats]:
    """Student's intervals of the ratio, on log-ratios of block means."""
    ratios = np.log(variant.mean(axis=2)) - np.log(baseline.mean(axis=2))
    found = stats.ttest_1samp(ratios, 0.0, axis=1).confidence_interval(CONFIDENCE)
    return np.exp(found.low), np.exp(found.high)


def bootstrapped(baseline: Floats, variant: Floats, seed: int) -> tuple[Floats, Floats]:
    """The product's hierarchical BCa intervals of the ratio."""
    bounds = [bca(*pair, CONFIDENCE, seed + i) for i, pair in enumerate(zip(baseline, variant, strict=True))]
    low, high = np.array(bounds).T
    return low, high


def study(campaigns: int, seed: int) -> Iterator[Coverage]:
    """Every kind and design, and the variant that is wider than its baseline."""
    for kind in (*KINDS, WIDER):
        for blocks in DESIGNS:
            yield covered(kind, blocks, campaigns, seed)
