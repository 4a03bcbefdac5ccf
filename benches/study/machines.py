"""The summary over machines: its false alarms and its power, and how often it reports machines that differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from schedlab.analysis.cells import smallest_step
from schedlab.analysis.machines import Effect, combine, combine_weighted

ALPHA, DELTA = 0.05, 0.01
BLOCKS = (6, 12)


@dataclass(frozen=True)
class Kind:
    """A kind of fleet.

    Attributes:
        name: name in the table.
        tau: standard deviation of the machines' true log-ratios.
        spreads: standard deviations of log-ratios between blocks. Machine i has the element i modulo their number.
        whole: whether the figures are whole numbers of about :data:`LEVEL`.
        machines: numbers of machines.
    """

    name: str
    tau: float = 0.0
    spreads: tuple[float, ...] = (0.005, 0.02, 0.05)
    whole: bool = False
    machines: tuple[int, ...] = (2, 3, 5, 10)


KINDS = (
    Kind("equal"),
    Kind("equal, the same noise", spreads=(0.02,), machines=(2, 3)),
    Kind("equal, whole numbers", whole=True, machines=(2, 3)),
    Kind("spread 2 %", tau=0.02),
)

SHIFT = 0.03
"""The change whose detection is counted, as a relative change."""

LEVEL, NOISE = 20, 0.35
"""Whole numbers: the mean of a block's figure, and its standard deviation. Most of the figures are equal."""


@dataclass(frozen=True)
class Summary:
    """Shares of campaigns with each result, for a kind of fleet and a number of machines and blocks.

    Attributes:
        mean: false alarms: the mean ratio differs from 1, although the expected ratio is 1.
        weighted: the same false alarms of the weighted mean with the interval of Hartung & Knapp.
        fixed: the same false alarms of a pooled analysis, which assumes tau = 0 and the normal distribution.
        covered: intervals that contain 1.
        unequal: the summary reports that the machines have different ratios: a false alarm if tau = 0.
        apart: the summary names a machine that disagrees with the others: a false alarm if tau = 0.
        found, found_weighted: with a change of :data:`SHIFT` on all machines, the mean ratio differs from 1.
    """

    kind: Kind
    machines: int
    blocks: int
    mean: float
    weighted: float
    fixed: float
    covered: float
    unequal: float
    apart: float
    found: float
    found_weighted: float


def simulate(kind: Kind, machines: int, blocks: int, campaigns: int, seed: int) -> Summary:
    """Simulate campaigns without a mean difference between variant and baseline, and with :data:`SHIFT`."""
    random = np.random.default_rng([seed, machines, blocks, KINDS.index(kind)])
    names = ("mean", "weighted", "fixed", "covered", "unequal", "apart", "found", "found_weighted")
    counts = dict.fromkeys(names, 0)
    for _ in range(campaigns):
        true = random.normal(0.0, kind.tau, machines)
        effects = _effects(true, blocks, random, kind)
        result = combine(effects, DELTA, 1 - ALPHA)
        assert result is not None
        weights = np.array([1 / effect.error**2 for effect in effects.values()])
        pooled = weights @ [effect.mean for effect in effects.values()] / np.sqrt(weights.sum())
        counts["mean"] += result.p <= ALPHA
        counts["weighted"] += _weighted_differs(effects)
        counts["fixed"] += abs(pooled) > 1.96
        counts["covered"] += result.low <= 1 <= result.high
        counts["unequal"] += result.p_equal <= ALPHA
        counts["apart"] += min(result.p_apart.values()) <= ALPHA
        changed = _effects(true + log(1 + SHIFT), blocks, random, kind)
        found = combine(changed, DELTA, 1 - ALPHA)
        counts["found"] += found is not None and found.p <= ALPHA
        counts["found_weighted"] += _weighted_differs(changed)
    return Summary(kind, machines, blocks, **{name: count / campaigns for name, count in counts.items()})


def _weighted_differs(effects: dict[str, Effect]) -> bool:
    result = combine_weighted(effects, DELTA, 1 - ALPHA)
    return result is not None and result.p <= ALPHA


def _effects(true: NDArray[np.float64], blocks: int, random: np.random.Generator, kind: Kind) -> dict[str, Effect]:
    """Draw the blocks of machines with these true log-ratios."""
    effects = {}
    for machine, log_ratio in enumerate(true):
        if kind.whole:
            levels = (LEVEL + random.uniform()) * np.exp(np.array([[0.0], [log_ratio]]))
            figures = np.maximum(np.round(random.normal(levels, NOISE, (2, blocks))), 1)
            effect = Effect.of(np.log(figures[1] / figures[0]), smallest_step(figures.ravel().tolist()))
        else:
            effect = Effect.of(random.normal(log_ratio, kind.spreads[machine % len(kind.spreads)], blocks))
        assert effect is not None
        effects[f"m{machine}"] = effect
    return effects


def study(campaigns: int, seed: int) -> Iterator[Summary]:
    """Yield the shares for each kind of fleet and number of machines and blocks."""
    for kind in KINDS:
        for machines in kind.machines:
            for blocks in BLOCKS:
                yield simulate(kind, machines, blocks, campaigns, seed)
