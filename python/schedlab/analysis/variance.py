"""Where a row's noise comes from: iterations within a block, or blocks that differ, from a run that was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan, sqrt

import numpy as np
from numpy.typing import NDArray

Block = Mapping[int, Sequence[float]]
"""The values of one variant in one row, all above 0, by block."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Noise:
    """Standard deviations of logarithms, so all but relative ones: 0.01 is 1 %.

    Attributes:
        blocks: how many they were measured over.
        iterations: in a block, on average (harmonic).
        within: of an iteration in its block, over all variants; nan for one iteration a block.
        between: of a block's level, the same variant in one block and another, beyond what iterations explain.
        pair_within: what iterations add to a paired log-ratio, for one iteration on either side.
        pair_between: what no number of iterations takes out of it: how much the effect itself differs by block.
        clamped: a variance between blocks came out below 0 and is taken for 0, as method-of-moments estimates do
            when it is small beside what iterations explain.
    """

    blocks: int
    iterations: float
    within: float
    between: float
    pair_within: float
    pair_between: float
    clamped: bool

    def of_ratio(self, iterations: int) -> float:
        """Standard deviation of a block's log-ratio with that many iterations on either side.

        nan where the components are not known: with one iteration a block nothing but its own design can be told.
        """
        if np.isnan(self.pair_within):
            return self.pair_between if iterations == 1 else nan
        return sqrt(self.pair_between**2 + self.pair_within**2 / iterations)

    @property
    def error(self) -> float:
        """Relative standard error of these deviations, for normal noise: 1 / √(2 (blocks − 1))."""
        return 1 / sqrt(2 * (self.blocks - 1))


def noise(baseline: Block, others: Sequence[Block]) -> Noise | None:
    """The components of a row's variance by the method of moments (one-way ANOVA; Searle, Casella & McCulloch 1992).

    The variants' components are averaged. None where no variant shares two blocks with the baseline.
    """
    pairs = [(variant, sorted(baseline.keys() & variant.keys())) for variant in others]
    pairs = [(variant, shared) for variant, shared in pairs if len(shared) > 1]
    if not pairs:
        return None
    levels = [_components(side) for side in (baseline, *(variant for variant, _ in pairs))]
    within = _mean([of_side.within for of_side in levels])
    between = _mean([of_side.between for of_side in levels])
    ratios = _mean([float(np.var(_ratios(baseline, *pair), ddof=1)) for pair in pairs])
    explained = _mean([levels[0].explained + of_side.explained for of_side in levels[1:]])
    single = np.isnan(within)
    pair_between = ratios if single else ratios - explained
    return Noise(
        blocks=max(len(shared) for _, shared in pairs),
        iterations=1 / _mean([of_side.inverse for of_side in levels]),
        within=sqrt(within),
        between=sqrt(max(between, 0.0)),
        pair_within=nan if single else sqrt(2 * within),
        pair_between=sqrt(max(pair_between, 0.0)),
        clamped=between < 0 or pair_between < 0,
    )


@dataclass(frozen=True)
class _Components:
    """Variances of one variant: within, between; that of a block's mean that iterations explain; mean of 1/n."""

    within: float
    between: float
    explained: float
    inverse: float


def _components(cell: Block) -> _Components:
    logs = [np.log(np.asarray(values, dtype=np.float64)) for values in cell.values()]
    inverse = _mean([1 / len(values) for values in logs])
    of_means = float(np.var([values.mean() for values in logs], ddof=1))
    freedom = sum(len(values) - 1 for values in logs)
    if freedom == 0:
        return _Components(nan, of_means, 0.0, inverse)
    within = sum(float(((values - values.mean()) ** 2).sum()) for values in logs) / freedom
    return _Components(within, of_means - within * inverse, within * inverse, inverse)


def _ratios(baseline: Block, variant: Block, blocks: Sequence[int]) -> Floats:
    return np.array([np.log(np.mean(variant[block]) / np.mean(baseline[block])) for block in blocks])


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
