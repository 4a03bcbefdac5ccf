"""Rules that people apply to trials in the usual arrangement: all trials of the baseline, then all trials of the
variant.

Each trial counts as an independent sample.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from schedlab.analysis.mmtests.formulas import Samples
from schedlab.analysis.mmtests.stars import Rule, intervals_apart, two_sided_t

Floats = NDArray[np.float64]
Calls = NDArray[np.bool_]

STAR_2018_LEVEL = 0.10
"""Nominal error rate of MMTests' older star."""


def welch(a: Floats, b: Floats, alpha: float = 0.05) -> Calls:
    """Mask of rows that differ by Welch's t test; ``a`` and ``b`` have shape (rows, samples)."""
    return np.asarray(stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue <= alpha)


def star_2018(a: Floats, b: Floats) -> Calls:
    """Mask of rows with MMTests' star of 2018-10 to 2024-11: a two-sided t test at p < 0.10."""
    return _starred(two_sided_t, a, b)


def star_2024(a: Floats, b: Floats) -> Calls:
    """Mask of rows with MMTests' star since 2024-11: the means differ by more than 1.96 (s₁ + s₂)."""
    return _starred(intervals_apart, a, b)


def _starred(rule: Rule, a: Floats, b: Floats) -> Calls:
    """Mask of rows starred by schedlab's implementation of an MMTests rule, for times (lower is better)."""
    return np.array(
        [rule(Samples(first, "lower"), Samples(second, "lower")) for first, second in zip(a, b, strict=True)]
    )
