"""Numbers as people read them in a report."""

from __future__ import annotations

from math import floor, isfinite, log10
from typing import Literal


def figure(value: float, digits: int = 4) -> str:
    """A measured figure with this many significant digits, never in exponent notation; ``-`` when not known."""
    if not isfinite(value):
        return "-"
    if value == 0:
        return "0"
    decimals = digits - 1 - floor(log10(abs(value)))
    return f"{value:.{max(decimals, 0)}f}"


def change(ratio: float) -> str:
    """A ratio as a signed change in per cent: ``-1.6 %``; ``-`` when not known."""
    if not isfinite(ratio):
        return "-"
    percent = 100 * (ratio - 1)
    return f"{percent:+.1f} %" if abs(percent) < 1000 else f"{ratio:.3g}×"


def interval(low: float, high: float) -> str:
    """An interval of ratios as changes in per cent: ``-2.9 … -0.3``; ``-`` when not known."""
    if not (isfinite(low) and isfinite(high)):
        return "-"
    return f"{100 * (low - 1):+.1f} … {100 * (high - 1):+.1f}"


def spread(percent: float) -> str:
    """A spread in per cent with two significant digits: ``2.0%``, ``0.46%``, ``12%``."""
    return f"{figure(percent, 2)}%"


def p_value(p: float) -> str:
    """A p value with two digits, ``-`` when not known."""
    if not isfinite(p):
        return "-"
    return f"{p:.2g}" if p >= 0.001 else "<0.001"


def improvement(ratio: float, direction: Literal["lower", "higher"]) -> str:
    """A ratio as a gain in per cent as changelogs print it, positive where the variant is better: ``9.22%``.

    100·x/base − 100 where more is better, 100 − 100·x/base where less is; ``-`` when not known.
    """
    if not isfinite(ratio):
        return "-"
    return f"{100 * (ratio - 1) if direction == 'higher' else 100 * (1 - ratio):.2f}%"
