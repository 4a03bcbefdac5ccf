"""The statistic by which a row's block values are compared: log-ratios, their signed ranks, or differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite, nan, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from schedlab.analysis import ranks
from schedlab.analysis.paired import EQUIVALENT_FROM, Estimate, estimate, p_equivalent, ratio_of
from schedlab.analysis.rates import Totals

Floats = NDArray[np.float64]

Kind = Literal["logs", "ranks", "differences"]
"""``logs``: the mean of log-ratios. ``ranks``: signed ranks of log-ratios, for worst cases. ``differences``: the mean
of differences, for rows with a value of 0, which has no logarithm.

The kind depends on the row and on whether any of its values is 0. An exchange of variant and baseline in a block
changes neither, so that the choice does not bias the test.
"""


@dataclass(frozen=True)
class Compared:
    """Block values of a variant and the baseline in the blocks that have both.

    ``events_per_unit`` is the number of events that a value of 1 stands for in a block, nan if the values do not count
    events.
    """

    kind: Kind
    baseline: Mapping[int, float]
    variant: Mapping[int, float]
    events_per_unit: float = nan

    @property
    def blocks(self) -> list[int]:
        """The blocks, in order."""
        return list(self.baseline)

    @property
    def values(self) -> Floats:
        """Log-ratios or differences, shape (blocks,); infinite where one of two worst cases is 0."""
        below, above = self._arrays()
        if self.kind == "differences":
            return above - below
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(above) - np.log(below)
        return np.where((above == 0) & (below == 0), 0.0, logs) if self.kind == "ranks" else logs

    @property
    def scores(self) -> Floats:
        """The figures whose signs the tests flip, shape (blocks,)."""
        return ranks.signed_ranks(self.values) if self.kind == "ranks" else self.values

    def by_block(self) -> dict[int, float]:
        """Return the scores by block."""
        return dict(zip(self.blocks, self.scores.tolist(), strict=True))

    def direction(self) -> float:
        """Return a number with the sign of the change; nan without blocks."""
        if not self.blocks:
            return nan
        return ranks.centre(self.values) if self.kind == "ranks" else float(self.values.mean())

    def p_equivalent(self, delta: float, resolution: float, seed: int) -> float:
        """Return p of "the ratio lies outside 1 ± delta"; 1 for rows with a value of 0, and below six blocks."""
        if self.kind == "logs":
            return p_equivalent(self.values, delta, resolution)
        if self.kind == "differences" or len(self.blocks) < EQUIVALENT_FROM:
            return 1.0
        values, margin = self.values, float(np.log1p(delta))
        if not np.isfinite(values).all():
            return 1.0
        # As for means: figures that spread less than a step of the metric can hide a change of one step.
        if np.ptp(values) < resolution:
            margin -= resolution
        return ranks.p_within(values, margin, seed) if margin > 0 else 1.0

    def estimate(self, confidence: float, seed: int) -> Estimate:
        """Return the ratio and its interval; ``spread`` is in units of log-ratios, or of the baseline's mean."""
        n = len(self.blocks)
        if self.kind == "logs" or n == 0:
            return estimate(self.values, confidence, seed)
        return self._of_ranks(confidence, seed) if self.kind == "ranks" else self._of_totals(confidence, seed)

    def means(self) -> tuple[float, float]:
        """Return the figures that stand for baseline and variant: medians of worst cases, means of differences."""
        middle = np.median if self.kind == "ranks" else np.mean
        below, above = self._arrays()
        return float(middle(below)), float(middle(above))

    def _arrays(self) -> tuple[Floats, Floats]:
        baseline, variant = (np.array(list(cell.values()), dtype=np.float64) for cell in (self.baseline, self.variant))
        return baseline, variant

    def _of_ranks(self, confidence: float, seed: int) -> Estimate:
        values, n = self.values, len(self.blocks)
        ratio = ratio_of(ranks.centre(values))
        if n == 1:
            return Estimate(ratio, nan, nan, nan, 1)
        student = float(stdtrit(n - 1, 0.5 + confidence / 2))
        bounds = ranks.interval(values, confidence, seed)
        if bounds is None:
            spread = float(values.std(ddof=1)) if np.isfinite(values).all() else nan
            mean = float(values.mean()) if isfinite(spread) else nan
            bounds = mean - student * spread / sqrt(n), mean + student * spread / sqrt(n)
        else:
            # The standard deviation of normal log-ratios with an interval of this width (Lehmann 1963): the standard
            # deviation of the values themselves may be infinite.
            spread = (bounds[1] - bounds[0]) * sqrt(n) / (2 * student) if all(map(isfinite, bounds)) else nan
        low, high = (ratio_of(bound) if isfinite(bound) else nan for bound in bounds)
        return Estimate(ratio, low, high, spread, n)

    def _of_totals(self, confidence: float, seed: int) -> Estimate:
        (below, above), n = self._arrays(), len(self.blocks)
        counts = (below * self.events_per_unit, above * self.events_per_unit)
        totals = Totals(below, above, counts if isfinite(self.events_per_unit) else None)
        if n == 1:
            return Estimate(totals.ratio, nan, nan, nan, 1)
        centre = float(below.mean())
        spread = float(self.values.std(ddof=1)) / centre if centre > 0 else nan
        return Estimate(totals.ratio, *totals.interval(confidence, seed), spread, n)


def compare(
    baseline: Mapping[int, float], variant: Mapping[int, float], *, worst: bool, events_per_unit: float = nan
) -> Compared:
    """Choose the statistic for block values, which are given by block.

    Raises ValueError for a value below 0, and if all values are 0.
    """
    blocks = sorted(baseline.keys() & variant.keys())
    below, above = ({block: cell[block] for block in blocks} for cell in (baseline, variant))
    least = min([*below.values(), *above.values()], default=inf)
    if least < 0:
        raise ValueError("a value below 0 has no ratio")
    if blocks and max(*below.values(), *above.values()) == 0:
        raise ValueError("all values are 0")
    kind: Kind = "ranks" if worst else "differences" if least == 0 else "logs"
    return Compared(kind, below, above, events_per_unit)
