"""Welch's test of two unpaired groups, for many rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """Count, mean and sample variance of a group in each row, each of shape (rows,)."""

    n: Floats
    mean: Floats
    variance: Floats

    @classmethod
    def of(cls, groups: Sequence[Floats]) -> Moments:
        """Return the moments of the groups; each row has an array of values. The variance is nan below two values."""
        return cls(
            np.array([len(values) for values in groups], dtype=np.float64),
            np.array([values.mean() if len(values) else np.nan for values in groups]),
            np.array([_variance(values) for values in groups]),
        )


def _variance(values: Floats) -> float:
    """Return the sample variance, exactly 0 for equal values: with a rounded mean it would be about 1e-32."""
    if len(values) < 2:
        return float(np.nan)
    return 0.0 if values.min() == values.max() else float(values.var(ddof=1))


@dataclass(frozen=True)
class Welch:
    """The difference of two means in each row, its standard error and degrees of freedom (Welch 1947), shape (rows,).

    Error and freedom are nan if a group has fewer than two values, or neither group has any spread. The formulas use
    ``scipy.special``. ``scipy.stats.ttest_ind(equal_var=False)`` gives the same figures, but loading ``scipy.stats``
    takes longer than a report on a hundred imported rows.
    """

    difference: Floats
    error: Floats
    freedom: Floats

    @property
    def p(self) -> Floats:
        """Two-sided p of "the means are equal"."""
        return np.asarray(2 * stdtr(self.freedom, -np.abs(self.difference) / self.error), dtype=np.float64)

    def half(self, confidence: float) -> Floats:
        """Return half the width of the two-sided interval."""
        return np.asarray(stdtrit(self.freedom, 0.5 + confidence / 2) * self.error, dtype=np.float64)

    def p_within(self, margin: float) -> Floats:
        """Return p of "the difference lies outside ± margin", by two one-sided tests (Schuirmann 1987)."""
        above = stdtr(self.freedom, (self.difference - margin) / self.error)
        below = stdtr(self.freedom, (-margin - self.difference) / self.error)
        return np.asarray(np.maximum(above, below), dtype=np.float64)

    def detectable(self, alpha: float | Floats, power: float) -> Floats:
        """Return the difference that a test at ``alpha`` finds with this power, by the t approximation."""
        return np.asarray(
            (stdtrit(self.freedom, 1 - np.asarray(alpha) / 2) + stdtrit(self.freedom, power)) * self.error,
            dtype=np.float64,
        )


def welch(baseline: Moments, variant: Moments) -> Welch:
    """Return the test of variant − baseline in each row."""
    below, above = baseline.variance / baseline.n, variant.variance / variant.n
    square = below + above
    with np.errstate(invalid="ignore", divide="ignore"):
        square = np.where(square > 0, square, np.nan)
        freedom = square**2 / (below**2 / (baseline.n - 1) + above**2 / (variant.n - 1))
    return Welch(variant.mean - baseline.mean, np.sqrt(square), freedom)
