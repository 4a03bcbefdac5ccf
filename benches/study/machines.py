"""The summary over machines: false alarms of its mean, and how often it reports machines that differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from schedlab.analysis.machines import Effect, combine

ALPHA, DELTA = 0.05, 0.01
MACHINES = (2, 3, 5, 10)
BLOCKS = (6, 12)
TAUS = (0.0, 0.02)
"""Standard deviations of the machines' true log-ratios: equal machines, and machines that differ by about 2 %."""

SPREADS = (0.005, 0.02, 0.05)
"""Standard deviations of log-ratios between blocks. Machine i has the element i modulo 3: machines differ in noise."""


@dataclass(frozen=True)
class Summary:
    """Shares of campaigns with each result, for a number of machines and blocks and a spread of true ratios.

    Attributes:
        mean: false alarms: the mean ratio differs from 1, although the expected ratio is 1.
        fixed: the same false alarms of a pooled analysis, which assumes tau = 0 and the normal distribution.
        unequal: the summary reports that the machines have different ratios: a false alarm if tau = 0.
        apart: the summary names a machine that disagrees with the others: a false alarm if tau = 0.
        covered: intervals that contain 1.
    """

    machines: int
    blocks: int
    tau: float
    mean: float
    fixed: float
    unequal: float
    apart: float
    covered: float


def simulate(machines: int, blocks: int, tau: float, campaigns: int, seed: int) -> Summary:
    """Simulate campaigns without a mean difference between variant and baseline."""
    random = np.random.default_rng([seed, machines, blocks, round(1e6 * tau)])
    counts = dict.fromkeys(("mean", "fixed", "unequal", "apart", "covered"), 0)
    for _ in range(campaigns):
        effects = {}
        for machine, true in enumerate(random.normal(0.0, tau, machines)):
            effect = Effect.of(random.normal(true, SPREADS[machine % len(SPREADS)], blocks))
            assert effect is not None
            effects[f"m{machine}"] = effect
        result = combine(effects, DELTA, 1 - ALPHA)
        assert result is not None
        weights = np.array([1 / effect.error**2 for effect in effects.values()])
        pooled = weights @ [effect.mean for effect in effects.values()] / np.sqrt(weights.sum())
        counts["mean"] += result.p <= ALPHA
        counts["fixed"] += abs(pooled) > 1.96
        counts["unequal"] += result.p_equal <= ALPHA
        counts["apart"] += min(result.p_apart.values()) <= ALPHA
        counts["covered"] += result.low <= 1 <= result.high
    return Summary(machines, blocks, tau, **{name: count / campaigns for name, count in counts.items()})


def study(campaigns: int, seed: int) -> Iterator[Summary]:
    """Yield the shares for each number of machines and blocks, for equal and for different machines."""
    for tau in TAUS:
        for machines in MACHINES:
            for blocks in BLOCKS:
                yield simulate(machines, blocks, tau, campaigns, seed)
