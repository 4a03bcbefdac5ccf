"""A row on several machines: the mean ratio over machines, and how much the machines differ.

The model has random effects: the true log-ratios of the machines are spread around a mean with standard deviation tau,
and each machine's estimate is spread around its true log-ratio with a standard error from its blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import expm1, isfinite, log1p, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc, stdtr, stdtrit

from schedlab.analysis.multiplicity import adjust
from schedlab.analysis.paired import ratio_of

Floats = NDArray[np.float64]

LEAST_ERROR = 1e-6
"""Smallest standard error of a log-ratio. Without this limit, a machine with equal blocks would have all the weight."""

LEAST_OF_STEP = 0.25
"""Smallest standard error of the mean over machines, in steps of a machine's mean. Coarse figures, such as whole
numbers, often have equal means on two machines by chance: without this limit, 12 % of the summaries over two machines
are false alarms, with it 5 % at most (``benches/study/machines.py``)."""


@dataclass(frozen=True)
class Effect:
    """Estimate of one machine.

    Attributes:
        mean, error: the mean log-ratio, and its standard error.
        blocks: number of blocks, at least 2.
        step: smallest possible difference between two means; 0 if unknown or negligible.
    """

    mean: float
    error: float
    blocks: int
    step: float = 0.0

    @classmethod
    def of(cls, ratios: Floats, resolution: float = 0.0) -> Effect | None:
        """Return the effect from log-ratios of shape (blocks,); None for fewer than two blocks.

        ``resolution`` is the step of a block's log-ratio; inf if all values are equal, so that the step is unknown.
        """
        if len(ratios) < 2:
            return None
        error = float(ratios.std(ddof=1)) / sqrt(len(ratios))
        step = resolution / len(ratios) if isfinite(resolution) else 0.0
        return cls(float(ratios.mean()), max(error, LEAST_ERROR), len(ratios), step)


@dataclass(frozen=True)
class Combined:
    """Estimates of one row, combined over machines. Unknown numbers are nan.

    Attributes:
        ratio, low, high: mean ratio over machines with its interval.
        p: p of "the mean ratio is 1".
        p_equivalent: p of "the mean ratio lies outside ±delta".
        tau: standard deviation of the machines' true ratios, relative.
        i_squared: share of the spread of the estimates that differences between machines explain.
        q: weighted sum of squares of the machines' estimates around their mean (Cochran's Q).
        p_equal: p of "all machines have the same ratio".
        p_apart: by machine, p of "the machine's ratio equals the ratios of the other machines", adjusted for the number
            of machines.
    """

    ratio: float
    low: float
    high: float
    p: float
    p_equivalent: float
    tau: float
    i_squared: float
    q: float
    p_equal: float
    p_apart: Mapping[str, float]


def combine(effects: Mapping[str, Effect], delta: float, confidence: float) -> Combined | None:
    """Combine the estimates of machines with equal weights; None for fewer than two machines.

    The ratio, its interval and its p values are from Student's t of the machines' mean log-ratios, which does not use
    their standard errors. At α = 5 % this test is conservative for machines that differ in their noise or in the spread
    of their true ratios (Ibragimov & Müller, Journal of Business & Economic Statistics 28, 2010; Bakirov & Székely,
    Journal of Mathematical Sciences 139, 2006). A weighted mean trusts standard errors from few blocks: with three
    machines it is wrong in 10 % of all summaries.
    """
    if len(effects) < 2:
        return None
    means, _ = _arrays(list(effects.values()))
    step = float(np.mean([effect.step for effect in effects.values()]))
    error = max(float(means.std(ddof=1)) / sqrt(len(means)), LEAST_OF_STEP * step, LEAST_ERROR)
    return _combined(effects, float(means.mean()), error, delta, confidence)


def combine_weighted(effects: Mapping[str, Effect], delta: float, confidence: float) -> Combined | None:
    """Combine estimates whose standard errors differ by far, as rows of a table; None for fewer than two estimates.

    The random-effects model gives the weights. The interval is by Hartung & Knapp (Statistics in Medicine 20,
    2001), never narrower than with a scale of 1 (Röver, Knapp & Friede, BMC Medical Research Methodology 15, 2015). The
    p values are too small for few estimates: no verdict follows from them.
    """
    if len(effects) < 2:
        return None
    means, variances = _arrays(list(effects.values()))
    tau_squared, _ = _heterogeneity(means, variances)
    return _combined(effects, *_mean(means, variances + tau_squared), delta, confidence)


def _combined(effects: Mapping[str, Effect], mean: float, error: float, delta: float, confidence: float) -> Combined:
    """Return the figures for a mean log-ratio with its standard error, and how much the estimates differ.

    tau is the estimate of DerSimonian & Laird (Controlled Clinical Trials 7, 1986). p_equal is from Welch's test
    (Biometrika 38, 1951), because Q has no chi-squared distribution when the standard errors come from few blocks.
    """
    means, variances = _arrays(list(effects.values()))
    tau_squared, q = _heterogeneity(means, variances)
    freedom = len(effects) - 1
    half = float(stdtrit(freedom, 0.5 + confidence / 2)) * error
    margin = log1p(delta)
    return Combined(
        ratio=ratio_of(mean),
        low=ratio_of(mean - half),
        high=ratio_of(mean + half),
        p=2 * float(stdtr(freedom, -abs(mean) / error)),
        p_equivalent=float(max(stdtr(freedom, (mean - margin) / error), stdtr(freedom, (-margin - mean) / error))),
        tau=expm1(sqrt(tau_squared)),
        i_squared=max(0.0, 1 - freedom / q) if q > 0 else 0.0,
        q=q,
        p_equal=_p_equal(means, variances, [effect.blocks for effect in effects.values()]),
        p_apart=_p_apart(effects),
    )


def _arrays(effects: Sequence[Effect]) -> tuple[Floats, Floats]:
    """Return means and squared standard errors."""
    return np.array([each.mean for each in effects]), np.array([each.error**2 for each in effects])


def _heterogeneity(means: Floats, variances: Floats) -> tuple[float, float]:
    """Return tau² by the method of moments (DerSimonian & Laird 1986), and Cochran's Q."""
    weights = 1 / variances
    centre = float(weights @ means / weights.sum())
    q = float(weights @ (means - centre) ** 2)
    scale = float(weights.sum() - (weights**2).sum() / weights.sum())
    return max(0.0, (q - (len(means) - 1)) / scale), q


def _mean(means: Floats, variances: Floats) -> tuple[float, float]:
    """Return the weighted mean and its standard error (Hartung & Knapp 2001, with a scale of at least 1)."""
    weights = 1 / variances
    mean = float(weights @ means / weights.sum())
    scale = float(weights @ (means - mean) ** 2) / (len(means) - 1)
    return mean, sqrt(max(scale, 1.0) / float(weights.sum()))


def _p_equal(means: Floats, variances: Floats, blocks: Sequence[int]) -> float:
    """Return p of equal means with unequal variances (Welch 1951)."""
    count = len(means)
    weights = 1 / variances
    shares = weights / weights.sum()
    between = float(weights @ (means - shares @ means) ** 2) / (count - 1)
    spread = float(((1 - shares) ** 2 / (np.array(blocks) - 1)).sum())
    statistic = between / (1 + 2 * (count - 2) / (count**2 - 1) * spread)
    return float(fdtrc(count - 1, (count**2 - 1) / (3 * spread), statistic))


def _p_apart(effects: Mapping[str, Effect]) -> dict[str, float]:
    """Return p of each machine against the others (Viechtbauer & Cheung, Research Synthesis Methods 1, 2010).

    The machine is left out of the mean and of tau; Student's distribution has Satterthwaite's degrees of freedom.
    Adjusted by Holm's method. Two machines have the same p, because the data do not show which machine differs.
    """
    p_values = [_p_of(name, effects) for name in effects]
    if len(effects) == 2:
        return dict(zip(effects, p_values, strict=True))
    return dict(zip(effects, adjust(p_values, "holm"), strict=True))


def _p_of(name: str, effects: Mapping[str, Effect]) -> float:
    left_out, others = effects[name], [effect for other, effect in effects.items() if other != name]
    means, variances = _arrays(others)
    if len(others) == 1:
        tau_squared, mean, error = 0.0, float(means[0]), sqrt(float(variances[0]))
        freedom = others[0].blocks - 1
    else:
        tau_squared, _ = _heterogeneity(means, variances)
        mean, error = _mean(means, variances + tau_squared)
        freedom = len(others) - 1
    parts = ((left_out.error**2, left_out.blocks - 1), (tau_squared + error**2, freedom))
    total = sum(variance for variance, _ in parts)
    satterthwaite = total**2 / sum(variance**2 / degrees for variance, degrees in parts)
    return 2 * float(stdtr(satterthwaite, -abs(left_out.mean - mean) / sqrt(total)))
