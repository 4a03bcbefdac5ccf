"""Many rows: p values corrected for the number of questions asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Correction = Literal["holm", "benjamini-hochberg", "none"]


def adjust(p_values: Sequence[float], correction: Correction) -> list[float]:
    """Adjusted p values in the order given; compare them with α itself.

    ``holm`` bounds the chance of any false alarm (Holm 1979), ``benjamini-hochberg`` the share of false ones among
    the alarms (Benjamini & Hochberg 1995).
    """
    if correction == "none":
        return list(p_values)
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    return _holm(p_values, order) if correction == "holm" else _step_up(p_values, order)


def _holm(p_values: Sequence[float], order: list[int]) -> list[float]:
    adjusted, worst = [1.0] * len(order), 0.0
    for rank, i in enumerate(order):
        worst = max(worst, min(1.0, (len(order) - rank) * p_values[i]))
        adjusted[i] = worst
    return adjusted


def _step_up(p_values: Sequence[float], order: list[int]) -> list[float]:
    adjusted, best = [1.0] * len(order), 1.0
    for rank in range(len(order), 0, -1):
        i = order[rank - 1]
        best = min(best, p_values[i] * len(order) / rank)
        adjusted[i] = best
    return adjusted
