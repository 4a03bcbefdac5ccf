"""Ratio of totals of figures that may be 0, such as events per second: the sign-flip test of differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, inf, nan

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from schedlab.analysis.signflip import DRAWS, EXACT_UP_TO, flips

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Totals:
    """Values of both variants by block, at least 0; shape (blocks,).

    ``events`` are the numbers of events behind these values. Without them, a block with a value above 0 counts as a
    single event: its events may have a common cause.
    """

    baseline: Floats
    variant: Floats
    events: tuple[Floats, Floats] | None = None

    @property
    def ratio(self) -> float:
        """Ratio of the totals, variant / baseline; inf if only the baseline is 0, nan if both are 0."""
        below, above = float(self.baseline.sum()), float(self.variant.sum())
        return above / below if below > 0 else inf if above > 0 else nan

    def interval(self, confidence: float, seed: int) -> tuple[float, float]:
        """Return the smallest interval that contains both of these intervals of the ratio; (nan, nan) if all are 0.

        - The ratios ρ for which the sign-flip test does not reject "variant − ρ · baseline is symmetric around 0". This
          interval is exact if the change multiplies figures.
        - The conditional interval of a ratio of two Poisson totals (Przyborowski & Wilenski 1940; Clopper & Pearson
          1934). The first interval alone would end at a ratio of 0 where no event was counted; but events that are rare
          may be absent by chance. The totals are divided by the dispersion of the blocks (quasi-Poisson, McCullagh &
          Nelder 1989), as events in bursts show less.
        """
        by_flips, by_count = self._by_flips(confidence, seed), self._by_count(confidence)
        if by_count is None:
            return nan, nan
        return min(by_flips[0], by_count[0]), max(by_flips[1], by_count[1])

    def _by_flips(self, confidence: float, seed: int) -> tuple[float, float]:
        """Return order statistics of the ratios of subsets of blocks (compare ``signflip.interval``)."""
        n = len(self.baseline)
        drawn, exact = flips(n, seed), n <= EXACT_UP_TO
        below, above = drawn.sums(self.baseline), drawn.sums(self.variant)
        if not exact:
            below = np.concatenate([below, self.baseline.sum() - below])
            above = np.concatenate([above, self.variant.sum() - above])
        k = floor((1 - confidence) * (2 ** (n - 1) if exact else DRAWS + 1) * (1 + 1e-12))
        if k < 1:
            return 0.0, inf
        with np.errstate(invalid="ignore", divide="ignore"):
            ratios = above / below
        # The empty subset is not counted. Other subsets without any event reject no ratio.
        others = np.concatenate([drawn.sizes, n - drawn.sizes])[: len(ratios)] > 0
        no_event = (below == 0) & (above == 0)
        low = np.sort(np.where(no_event, 0.0, ratios)[others])[k - 1]
        high = np.sort(np.where(no_event, inf, ratios)[others])[-k]
        return float(low), float(high)

    def _by_count(self, confidence: float) -> tuple[float, float] | None:
        below, above = self.events or ((self.baseline > 0).astype(np.float64), (self.variant > 0).astype(np.float64))
        dispersion = max(1.0, *(_dispersion(counts) for counts in (below, above))) if self.events else 1.0
        x, m = float(above.sum()) / dispersion, float((above + below).sum()) / dispersion
        if m == 0:
            return None
        tail = (1 - confidence) / 2
        low = float(betaincinv(x, m - x + 1, tail)) if x > 0 else 0.0
        high = float(betaincinv(x + 1, m - x, 1 - tail)) if x < m else 1.0
        return low / (1 - low), high / (1 - high) if high < 1 else inf


def _dispersion(counts: Sequence[float] | Floats) -> float:
    """Return the variance of counts over their mean: 1 for a Poisson distribution; 0 without events or pairs."""
    values = np.asarray(counts, dtype=np.float64)
    mean = float(values.mean()) if len(values) else 0.0
    return float(values.var(ddof=1)) / mean if len(values) > 1 and mean > 0 else 0.0
