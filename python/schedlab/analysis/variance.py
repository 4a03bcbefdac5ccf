"""Components of a row's variance in a measured run: iterations within a block, and differences between blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
from numpy.typing import NDArray

from schedlab.analysis.power import freedom_of

Block = Mapping[int, Sequence[float]]
"""The values of one variant in one row, all above 0, by block."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Noise:
    """Standard deviations of logarithms, which are close to relative standard deviations: 0.01 is 1 %.

    Attributes:
        blocks: number of blocks that the estimates use.
        iterations: harmonic mean of the iterations in a block.
        within: deviation of an iteration within its block, over all variants; nan for one iteration a block.
        between: deviation of a variant's level from block to block, without the contribution of iterations.
        pair_within: deviation of a paired log-ratio due to iterations, for one iteration of each variant.
        pair_between: deviation of a paired log-ratio due to blocks, which no number of iterations reduces.
        clamped: whether an estimated variance between blocks was negative and replaced by 0. Method-of-moments
            estimates of small variances can be negative.
    """

    blocks: int
    iterations: float
    within: float
    between: float
    pair_within: float
    pair_between: float
    clamped: bool

    def of_ratio(self, iterations: int) -> float:
        """Return the standard deviation of a block's log-ratio with this number of iterations of each variant.

        nan if the components are unknown: a run with one iteration a block determines only the value for one iteration.
        """
        if np.isnan(self.pair_within):
            return self.pair_between if iterations == 1 else nan
        return sqrt(self.pair_between**2 + self.pair_within**2 / iterations)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the deviation of a paired log-ratio, for noise with typical tails."""
        return freedom_of(np.empty(0), self.blocks)

    @property
    def error(self) -> float:
        """Relative standard error of these deviations: 1 / √(2ν) for ν degrees of freedom."""
        return 1 / sqrt(2 * self.freedom)


def noise(baseline: Block, others: Sequence[Block]) -> Noise | None:
    """Return the components of a row's variance by the method of moments.

    The components are estimated by a one-way ANOVA (Searle, Casella & McCulloch 1992), averaged over the variants. None
    if no variant shares two blocks with the baseline.
    """
    pairs = [(variant, sorted(baseline.keys() & variant.keys())) for variant in others]
    pairs = [(variant, shared) for variant, shared in pairs if len(shared) > 1]
    if not pairs:
        return None
    levels = [_components(cell) for cell in (baseline, *(variant for variant, _ in pairs))]
    within = _mean([level.within for level in levels])
    between = _mean([level.between for level in levels])
    ratios = _mean([float(np.var(_ratios(baseline, *pair), ddof=1)) for pair in pairs])
    explained = _mean([levels[0].explained + level.explained for level in levels[1:]])
    single = np.isnan(within)
    pair_between = ratios if single else ratios - explained
    return Noise(
        blocks=max(len(shared) for _, shared in pairs),
        iterations=1 / _mean([level.inverse for level in levels]),
        within=sqrt(within),
        between=sqrt(max(between, 0.0)),
        pair_within=nan if single else sqrt(2 * within),
        pair_between=sqrt(max(pair_between, 0.0)),
        clamped=between < 0 or pair_between < 0,
    )


@dataclass(frozen=True)
class _Components:
    """Variances of one variant.

    ``within`` and ``between`` blocks; ``explained``: of a block's mean due to iterations; ``inverse``: mean over blocks
    of 1/n for n iterations.
    """

    within: float
    between: float
    explained: float
    inverse: float


def _components(cell: Block) -> _Components:
    logs = [np.log(np.asarray(values, dtype=np.float64)) for values in cell.values()]
    inverse = _mean([1 / len(values) for values in logs])
    variance_of_means = float(np.var([values.mean() for values in logs], ddof=1))
    freedom = sum(len(values) - 1 for values in logs)
    if freedom == 0:
        return _Components(nan, variance_of_means, 0.0, inverse)
    within = sum(float(((values - values.mean()) ** 2).sum()) for values in logs) / freedom
    return _Components(within, variance_of_means - within * inverse, within * inverse, inverse)


def _ratios(baseline: Block, variant: Block, blocks: Sequence[int]) -> Floats:
    return np.array([np.log(np.mean(variant[block]) / np.mean(baseline[block])) for block in blocks])


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
