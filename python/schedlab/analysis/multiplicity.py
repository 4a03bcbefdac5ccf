"""Correction of p values for the number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Correction = Literal["max-t", "holm", "benjamini-hochberg", "none"]
"""``max-t`` is a joint test of all rows by whole blocks (``simultaneous.py``); the other methods correct p values."""


def adjust(p_values: Sequence[float], correction: Correction) -> list[float]:
    """Return adjusted p values in their order, to be compared with α itself.

    ``holm`` bounds the probability of any false alarm (Holm 1979), ``benjamini-hochberg`` the share of false alarms
    among all alarms (Benjamini & Hochberg 1995). scipy has only the correction of Benjamini & Hochberg. ``scipy.stats``
    is imported only when used, because its loading takes longer than a whole report. p values of equivalence tests and
    of unpaired columns cannot be tested jointly; under ``max-t`` Holm's method corrects them.
    """
    if correction == "none" or not p_values:
        return list(p_values)
    if correction in ("holm", "max-t"):
        return _holm(p_values)
    from scipy.stats import false_discovery_control

    return [float(p) for p in false_discovery_control(p_values, method="bh")]


def _holm(p_values: Sequence[float]) -> list[float]:
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, worst = [1.0] * len(order), 0.0
    for rank, i in enumerate(order):
        worst = max(worst, min(1.0, (len(order) - rank) * p_values[i]))
        adjusted[i] = worst
    return adjusted


def confirmation_share(number: int) -> float:
    """Return the share of α that a confirmation of a search may spend, counted from 1: 0.8, 0.16, 0.032, ….

    The shares of all confirmations sum to 1, so that the probability of any false verdict is at most α, however often a
    search is resumed and confirmed (α spending: Foster & Stine 2008, section 2). The first confirmation has most,
    because few searches are confirmed again. At 4 % four blocks can decide with a control, six without a control. The
    ratio of 0.2 is a choice, not the result of an optimisation.
    """
    return 4 * 0.2**number
