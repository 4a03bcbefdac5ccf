"""The statistic by which a row's block values are compared: log-ratios, ranks, or differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite, nan, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from schedlab.analysis import labels, ranks
from schedlab.analysis.paired import EQUIVALENT_FROM, Estimate, estimate, p_equivalent, ratio_of
from schedlab.analysis.power import EFFICIENCY, freedom_of
from schedlab.analysis.rates import Totals
from schedlab.analysis.signflip import p_value, smallest_p

Floats = NDArray[np.float64]

Kind = Literal["logs", "aligned-ranks", "ranks", "differences"]
"""``logs``: the mean of log-ratios. ``aligned-ranks``: aligned ranks of the logs of variant, baseline and control.
``ranks``: for worst cases, aligned ranks if there is a control, else signed ranks of log-ratios. ``differences``: the
mean of differences, for rows with a value of 0, which has no logarithm.

The kind depends on the row and on whether any of its values is 0. An exchange of variant and baseline in a block
changes neither, so that the choice does not bias the test.
"""

NORMAL_KURTOSIS = 3.0

DOUBT = 0.05
"""Level of the t test of control against baseline, over blocks that are too few for the sign flips of the control."""


@dataclass(frozen=True)
class Compared:
    """Block values of a variant and the baseline in the blocks that have both.

    ``events_per_unit`` is the number of events that a value of 1 stands for in a block, nan if the values do not count
    events. ``control`` contains the A/A control in the same blocks; None if the tests compare two labels only.
    """

    kind: Kind
    baseline: Mapping[int, float]
    variant: Mapping[int, float]
    events_per_unit: float = nan
    control: Mapping[int, float] | None = None

    @property
    def blocks(self) -> list[int]:
        """The blocks, in order."""
        return list(self.baseline)

    @cached_property
    def values(self) -> Floats:
        """Log-ratios or differences, shape (blocks,); infinite where one of two worst cases is 0.

        With a control, the log-ratios of the variant and the geometric mean of baseline and control.
        """
        if self.control is not None:
            logs = self.logs
            return np.asarray(logs[:, 0] - logs[:, 1:].mean(axis=1))
        below, above = self._arrays()
        if self.kind == "differences":
            return above - below
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(above) - np.log(below)
        return np.where((above == 0) & (below == 0), 0.0, logs) if self.kind == "ranks" else logs

    @cached_property
    def logs(self) -> Floats:
        """Logarithms of variant, baseline and control, shape (blocks, 3); only with a control."""
        assert self.control is not None
        cells = (self.variant, self.baseline, self.control)
        return np.log(np.array([list(cell.values()) for cell in cells], dtype=np.float64).T)

    @cached_property
    def middle(self) -> float:
        """The pseudo-median of the log-ratios to baseline and control; only with a control."""
        return labels.centre(self.logs)

    @cached_property
    def scores(self) -> Floats:
        """The figures that the tests permute: of shape (blocks,) if they flip signs, of shape (blocks, 3) with a
        control."""
        if self.control is not None:
            return labels.aligned_ranks(self.logs)
        return ranks.signed_ranks(self.values) if self.kind == "ranks" else self.values

    def by_block(self) -> dict[int, Floats]:
        """Return the scores by block."""
        return dict(zip(self.blocks, self.scores, strict=True))

    def p_different(self, seed: int) -> float:
        """Return the two-sided p of "the labels are exchangeable"."""
        if self.control is None or not self.blocks:
            return p_value(self.scores, seed)
        return float(labels.tails(self.scores, seed).both)

    def direction(self) -> float:
        """Return a number with the sign of the change; nan without blocks."""
        if not self.blocks:
            return nan
        if self.control is not None:
            return self.middle
        return ranks.centre(self.values) if self.kind == "ranks" else float(self.values.mean())

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the estimated spread."""
        if self.control is None:
            finite = self.values[np.isfinite(self.values)]
            return freedom_of(finite - finite.mean() if len(finite) else finite, len(self.blocks))
        residuals = self.logs - self.logs.mean(axis=1, keepdims=True)
        # Three measurements of a block show heavy tails better than one log-ratio.
        return freedom_of((residuals - residuals.mean(axis=0)).ravel(), len(self.blocks), NORMAL_KURTOSIS)

    @property
    def is_control_doubtful(self) -> bool:
        """Whether the control differs from the baseline, over too few blocks for the sign flips that judge the control.

        A control that was disturbed would otherwise move the change of every variant, and no test could show it.
        """
        n = len(self.blocks)
        if self.control is None or n < 2 or smallest_p(n) <= DOUBT:
            return False
        differences = self.logs[:, 2] - self.logs[:, 1]
        error = float(differences.std(ddof=1)) / sqrt(n)
        return abs(float(differences.mean())) > float(stdtrit(n - 1, 1 - DOUBT / 2)) * error

    def p_equivalent(self, delta: float, resolution: float, seed: int) -> float:
        """Return p of "the ratio lies outside 1 ± delta"; 1 for rows with a value of 0, and with too few blocks.

        With a control, p is the larger p of the test of means and of the test of ranks: ranks ignore a few blocks with
        hangs, however long.
        """
        if self.kind == "logs":
            return p_equivalent(self.values, delta, resolution)
        if self.kind == "differences" or len(self.blocks) < EQUIVALENT_FROM:
            return 1.0
        values, margin = self.values, float(np.log1p(delta))
        if not np.isfinite(values).all():
            return 1.0
        of_means = p_equivalent(values, delta, resolution) if self.kind == "aligned-ranks" else 0.0
        # As for means: figures that spread less than a step of the metric can hide a change of one step.
        if values.std(ddof=1) < resolution:
            margin -= resolution
        if margin <= 0:
            return 1.0
        within = ranks.p_within if self.control is None else labels.p_within
        return max(of_means, within(values if self.control is None else self.logs, margin, seed))

    def estimate(self, confidence: float, seed: int) -> Estimate:
        """Return the ratio and its interval; ``spread`` is in units of log-ratios, or of the baseline's mean."""
        n = len(self.blocks)
        if self.kind == "logs" or n == 0:
            return estimate(self.values, confidence, seed)
        if self.control is not None:
            return self._of_labels(confidence, seed)
        return self._of_ranks(confidence, seed) if self.kind == "ranks" else self._of_totals(confidence, seed)

    def means(self) -> tuple[float, float]:
        """Return the figures that stand for baseline and variant: medians of worst cases, means of differences."""
        middle = np.median if self.kind == "ranks" else np.mean
        below, above = self._arrays()
        return float(middle(below)), float(middle(above))

    def _arrays(self) -> tuple[Floats, Floats]:
        baseline, variant = (np.array(list(cell.values()), dtype=np.float64) for cell in (self.baseline, self.variant))
        return baseline, variant

    def _of_labels(self, confidence: float, seed: int) -> Estimate:
        """Return the pseudo-median of the ratios variant / baseline and control, and the interval of its test.

        ``spread`` is the standard deviation of the log-ratio of two measurements, for normal noise with an interval of
        this width (Lehmann 1963): a few outliers enlarge the standard deviation, but hardly the interval. An interval
        without a width, of coarse figures, does not show the spread.
        """
        logs, values, n = self.logs, self.values, len(self.blocks)
        middle = self.middle
        if n == 1:
            return Estimate(ratio_of(middle), nan, nan, nan, 1)
        # The mean of baseline and control has half the variance of a measurement.
        per_pair = sqrt(2 / 1.5)
        bounds, tail = labels.interval(logs, confidence, seed), 0.5 + confidence / 2
        deviation = float(values.std(ddof=1))
        if bounds is None:
            half = float(stdtrit(n - 1, tail)) * deviation / sqrt(n)
            return Estimate(ratio_of(middle), ratio_of(middle - half), ratio_of(middle + half), deviation * per_pair, n)
        low, high = bounds
        half = float(stdtrit(2 * (n - 1), tail)) / sqrt(n * EFFICIENCY)
        spread = (high - low) / 2 / half if high > low else deviation
        return Estimate(ratio_of(middle), ratio_of(low), ratio_of(high), spread * per_pair, n)

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
    baseline: Mapping[int, float],
    variant: Mapping[int, float],
    *,
    worst: bool,
    events_per_unit: float = nan,
    control: Mapping[int, float] | None = None,
) -> Compared:
    """Choose the statistic for block values, which are given by block.

    With a ``control``, the blocks that have all three are compared, unless a value is 0.

    Raises ValueError for a value below 0, and if all values are 0.
    """
    blocks = sorted(baseline.keys() & variant.keys())
    below, above = ({block: cell[block] for block in blocks} for cell in (baseline, variant))
    least = min([*below.values(), *above.values()], default=inf)
    if least < 0:
        raise ValueError("a value below 0 has no ratio")
    if blocks and max(*below.values(), *above.values()) == 0:
        raise ValueError("all values are 0")
    shared = [] if control is None or least == 0 else [block for block in blocks if block in control]
    if control is not None and shared and min(control[block] for block in shared) > 0:
        below, above, third = ({block: cell[block] for block in shared} for cell in (baseline, variant, control))
        return Compared("ranks" if worst else "aligned-ranks", below, above, control=third)
    kind: Kind = "ranks" if worst else "differences" if least == 0 else "logs"
    return Compared(kind, below, above, events_per_unit)
