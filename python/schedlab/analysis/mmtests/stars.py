"""MMTests' two rules for a star, needed to read its reports. schedlab's verdicts use neither."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan, sqrt
from types import MappingProxyType
from typing import Literal

from schedlab.analysis.mmtests.formulas import Samples

Stars = Literal["none", "verdicts", "mmtests-2018", "mmtests-2024"]
"""Rules for stars: none; the report's verdicts; MMTests' rule from 2018-10 to 2024-11; its rule since 2024-11."""

Rule = Callable[[Samples, Samples], bool]

_LEVEL = 0.10
_NORMAL_975 = 1.959963984540054
"""The normal distribution's 97.5 % quantile."""


def two_sided_t(baseline: Samples, other: Samples) -> bool:
    """From 2018-10 to 2024-11: p < 0.10 of t = |m₁−m₂| / √(s₁²/n₁ + s₂²/n₂) with n₁+n₂−2 degrees of freedom.

    The means are the printed means, harmonic means included. The deviations are around the arithmetic mean, and 0 for a
    single sample. If both deviations are 0, every difference has a star.
    """
    error = sqrt(sum(_or_zero(samples.standard_deviation) ** 2 / samples.n for samples in (baseline, other)))
    difference = abs(baseline.mean - other.mean)
    if isnan(difference):
        return False
    if error == 0:
        return difference > 0
    from scipy.special import stdtr

    return bool(2 * stdtr(baseline.n + other.n - 2, -difference / error) < _LEVEL)


def intervals_apart(baseline: Samples, other: Samples) -> bool:
    """Since 2024-11: |m₁−m₂| > 1.96·(s₁+s₂). s are deviations of samples, though a test needs deviations of means.

    If both deviations are 0, MMTests compares the difference itself with 1. A cell with a single sample has no star.
    """
    if isnan(baseline.deviation) or isnan(other.deviation):
        return False
    first, second = baseline.mean, other.mean
    # MMTests' order of additions, which decides where the spreads consist of rounding errors.
    if first < second:
        between = (first + _reach(baseline)) - first + second - (second - _reach(other))
    else:
        between = first - (first - _reach(baseline)) + (second + _reach(other)) - second
    difference = abs(first - second)
    return abs(difference / between if between else difference) > 1


def _reach(samples: Samples) -> float:
    return float(
        f"{_NORMAL_975 * samples.deviation:.7g}"
    )  # MMTests reads this product from R's output, which has 7 digits


def _or_zero(deviation: float) -> float:
    return 0.0 if isnan(deviation) else deviation


RULES: MappingProxyType[Stars, Rule] = MappingProxyType(
    {"mmtests-2018": two_sided_t, "mmtests-2024": intervals_apart},
)

FOOTERS: MappingProxyType[Stars, str] = MappingProxyType(
    {
        "mmtests-2018": "* MMTests' rule of 2018-10 to 2024-11: two-sided t-test, p < 0.10 cell by cell; no verdict",
        "mmtests-2024": "* MMTests' rule since 2024-11: |change| > 1.96 (s1 + s2), however many samples; no verdict",
        "verdicts": "* judged better or worse",
    }
)
