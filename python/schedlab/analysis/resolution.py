"""Resolution of a design: minimum detectable effects, and numbers of blocks for an effect."""

from __future__ import annotations

from functools import cache
from itertools import count
from math import expm1, inf, isfinite, log1p

import numpy as np
from scipy.special import gammaincinv

from schedlab.analysis.power import Rule as Rule  # noqa: PLC0414 - re-exported for callers that size designs
from schedlab.analysis.power import curve

POWER = 0.8
"""Power: probability that a run finds a real effect of the stated size (Cohen 1988, the customary 80 %)."""

NODES = 24
"""Quantiles of an estimated standard deviation over which the power is averaged."""

LARGEST = 1e4
"""Effect in standard deviations above which the search for a detectable effect ends."""

MOST_BLOCKS = 100_000
"""Upper limit of the search for a number of blocks."""


def can_find(rule: Rule, blocks: int) -> bool:
    """Return whether this many blocks find a change with the usual power, if the change is large enough.

    In a joint test of many rows, the other rows reach the few values of the row's statistic by chance.
    """
    return rule.can_reject(blocks) and (rule.rows == 1 or standardised(blocks, rule) < inf)


def blocks_for_a_verdict(rule: Rule) -> int:
    """Return the number of blocks from which a difference can be found; the rule's level is above 0."""
    return next(blocks for blocks in count(2) if can_find(rule, blocks))


def detectable(spread: float, blocks: int, rule: Rule, power: float = POWER, freedom: float = inf) -> float:
    """Return the smallest relative change (0.01 is 1 %) that ``blocks`` blocks find with this power under the rule.

    ``spread`` is the standard deviation of the paired log-ratios, an estimate with ``freedom`` degrees of freedom. The
    result is inf if no change can be significant.
    """
    exponent = standardised(blocks, rule, power, freedom)
    # Without spread, a run with enough blocks finds every change.
    exponent = exponent * spread if exponent < inf else inf
    return expm1(exponent) if exponent < 100 else inf


@cache
def standardised(blocks: int, rule: Rule, power: float = POWER, freedom: float = inf) -> float:
    """Return the effect, in standard deviations of the log-ratios, that the test finds with this power in one row.

    ``freedom`` are the degrees of freedom of the estimate of that standard deviation; inf if it is known. An estimate
    from few blocks is too small in about half of the cases, and the power lost there exceeds the power won elsewhere.
    The result is the multiple of the *estimate* whose power is ``power`` on average over estimates (normal noise).
    """
    if not rule.can_reject(blocks):
        return inf
    power_at = curve(blocks, rule)
    # Quantiles of the estimate, divided by the standard deviation.
    shares = (np.arange(NODES) + 0.5) / NODES
    spreads = np.sqrt(2 * gammaincinv(freedom / 2, shares) / freedom) if freedom < inf else np.ones(1)
    low, high = 0.0, 1.0
    while power_at(high * spreads).mean() < power:
        low, high = high, 2 * high
        if high > LARGEST:
            return inf
    while high - low > 0.002 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if power_at(middle * spreads).mean() >= power else (middle, high)
    return high


def towards(detectable: float, ratio: float) -> float:
    """Return a minimum detectable effect in the direction of a measured ratio: a decrease is negative and above −1.

    The test works on the logarithmic scale, where increase and decrease have the same distance from 1: a run that finds
    an increase of 300 % finds a decrease of 75 %.
    """
    return -detectable / (1 + detectable) if ratio < 1 and isfinite(detectable) else detectable


def blocks_needed(spread: float, effect: float, rule: Rule, power: float = POWER, freedom: float = inf) -> int | None:
    """Return the blocks that find a relative change of ``effect`` with this power under the rule.

    ``spread`` and ``freedom`` are as for :func:`detectable`. None above 100,000 blocks.
    """
    if not effect > 0:
        return None
    low = blocks_for_a_verdict(rule)
    if log1p(detectable(spread, MOST_BLOCKS, rule, power, freedom)) > log1p(effect):
        return None
    high = low
    while detectable(spread, high, rule, power, freedom) > effect:
        low, high = high, high * 2
    while low < high:
        middle = (low + high) // 2
        if detectable(spread, middle, rule, power, freedom) > effect:
            low = middle + 1
        else:
            high = middle
    return high
