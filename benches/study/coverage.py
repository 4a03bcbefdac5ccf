"""Coverage: share of nominal 95 % intervals that contain the true ratio."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from benches.study.arrange import draw_orders, in_blocks
from benches.study.false_alarms import ITERATIONS
from benches.study.judging import AT_ONCE, judge_rows
from benches.study.noise import KINDS, WIDER, draw, generator, of_variant
from numpy.typing import NDArray
from scipy import stats

from schedlab.analysis.bootstrap import bca
from schedlab.analysis.labels import LABELS, interval
from schedlab.analysis.verdicts import Options

Floats = NDArray[np.float64]

DESIGNS = (6, 8, 12, 20)
CONTROLLED = (4, *DESIGNS)
"""Numbers of blocks of intervals with a control."""

TRUE = 1.03
"""True ratio of variant to baseline: each trial of the variant takes 3 % longer."""

CONFIDENCE = 0.95

BOOTSTRAPPED = 10
"""Only one campaign in this many is bootstrapped: a bootstrap draws 10,000 resamples, as in a report."""


@dataclass(frozen=True)
class Coverage:
    """Shares of intervals that contain the true ratio, for one kind of noise and one design.

    ``schedlab``: the interval of reports; ``student``: Student's interval; ``bca``: the interval of the hierarchical
    BCa bootstrap, for one campaign in :data:`BOOTSTRAPPED`. The samples of a campaign are the same for all methods.
    """

    kind: str
    blocks: int
    schedlab: float
    student: float
    bca: float


def coverage(kind: str, blocks: int, campaigns: int, seed: int) -> Coverage:
    """Simulate campaigns whose variant takes 3 % longer; return the shares of intervals that contain 3 %."""
    series = draw(kind, generator(kind, seed, blocks), campaigns, 2 * blocks, ITERATIONS)
    baseline, variant = in_blocks(series, draw_orders(seed, campaigns, blocks))
    variant = TRUE * of_variant(kind, variant)
    verdicts = judge_rows(baseline, variant, Options(1 - CONFIDENCE))
    intervals = (
        (verdicts.low, verdicts.high),
        student(baseline, variant),
        bootstrap(baseline[::BOOTSTRAPPED], variant[::BOOTSTRAPPED], seed),
    )
    shares = [float(np.mean((low <= TRUE) & (high >= TRUE))) for low, high in intervals]
    return Coverage(kind, blocks, *shares)


def student(baseline: Floats, variant: Floats) -> tuple[Floats, Floats]:
    """Return the bounds of Student's interval of each row's ratio, from the log-ratios of block means."""
    ratios = np.log(variant.mean(axis=2)) - np.log(baseline.mean(axis=2))
    interval = stats.ttest_1samp(ratios, 0.0, axis=1).confidence_interval(CONFIDENCE)
    return np.exp(interval.low), np.exp(interval.high)


def bootstrap(baseline: Floats, variant: Floats, seed: int) -> tuple[Floats, Floats]:
    """Return the bounds of schedlab's hierarchical BCa bootstrap interval of each row's ratio."""
    bounds = [bca(*pair, CONFIDENCE, seed + i) for i, pair in enumerate(zip(baseline, variant, strict=True))]
    low, high = np.array(bounds).T
    return low, high


def study(campaigns: int, seed: int) -> Iterator[Coverage]:
    """Yield the coverage for each kind of noise and each design, also for the variant with the wider distribution."""
    for kind in (*KINDS, WIDER):
        for blocks in DESIGNS:
            yield coverage(kind, blocks, campaigns, seed)


def with_control(kind: str, blocks: int, campaigns: int, seed: int) -> float:
    """Return the share of intervals with a control that contain 3 %, of campaigns with three visits in each block."""
    rng = np.random.default_rng([seed, blocks, [*KINDS, WIDER].index(kind), LABELS])
    visits = draw(kind, rng, campaigns, LABELS * blocks, ITERATIONS, of_block=LABELS)
    times = rng.permuted(visits.reshape(campaigns, blocks, LABELS, ITERATIONS), axis=2)
    times[:, :, 0] = TRUE * of_variant(kind, times[:, :, 0])
    bounds = [interval(logs, CONFIDENCE, i // AT_ONCE) for i, logs in enumerate(np.log(times.mean(axis=3)))]
    return float(np.mean([low <= np.log(TRUE) <= high for low, high in filter(None, bounds)]))


def study_with_control(campaigns: int, seed: int) -> dict[str, list[float]]:
    """Return the coverage with a control for each of :data:`CONTROLLED`, by kind of noise."""
    return {kind: [with_control(kind, blocks, campaigns, seed) for blocks in CONTROLLED] for kind in (*KINDS, WIDER)}
