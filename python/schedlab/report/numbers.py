"""Numbers in the form that reports print. An unknown number (None or nan) is ``-``."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, inf, isfinite, log10

from schedlab.results.metrics import Direction

UNKNOWN = "-"

Number = float | None


def figure(value: Number, digits: int = 4) -> str:
    """Format a measured figure with this many significant digits.

    Only figures that would have more than a dozen zeros are in exponent notation.
    """
    if value is None or not isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    if not 1e-12 <= abs(value) < 1e15:
        return f"{value:.{digits - 1}e}"
    decimals = digits - 1 - floor(log10(abs(value)))
    return f"{value:.{max(decimals, 0)}f}"


def percent(value: Number, decimals: int = 1, *, signed: bool = False, unit: str = " %") -> str:
    """Format a number of per cent: ``1.6 %``. A number that rounds to 0 has no minus sign."""
    if value is None or not isfinite(value):
        return UNKNOWN
    return f"{value:{'+' if signed else ''}z.{decimals}f}{unit}"


def share(part: float) -> str:
    """Format a share as per cent with two decimals; a share below 0.005 % is marked as such."""
    return "<0.01 %" if 0 < part < 0.00005 else percent(100 * part, 2)


def change(ratio: Number) -> str:
    """Format a ratio as a signed change in per cent: ``-1.6 %``. A ratio below 0 is not a change."""
    if ratio is None or not 0 <= ratio < inf:
        return UNKNOWN
    return percent(100 * (ratio - 1), signed=True) if ratio < 11 else f"{ratio:.3g}×"


def sizes(ratios: Sequence[float]) -> str:
    """Format the sizes of changes without their signs: ``15 to 68 %``, ``3.0 %``, ``2.0 % to 12.3×``."""
    ordered = sorted(ratios, key=lambda ratio: abs(ratio - 1))
    low, high = (change(ratio).lstrip("+-") for ratio in (ordered[0], ordered[-1]))
    if low == high:
        return low
    return f"{low.removesuffix(' %') if high.endswith(' %') else low} to {high}"


def interval(low: Number, high: Number) -> str:
    """Format an interval of ratios as changes in per cent: ``-2.9 … -0.3``. An unknown end is left out."""
    known = [None if end is None else 100 * (end - 1) for end in (low, high)]
    ends = [percent(end, signed=True, unit="").removesuffix(UNKNOWN) for end in known]
    return " … ".join(ends).strip() if any(ends) else UNKNOWN


def rough(share: Number) -> str:
    """Format a share in per cent with two significant digits: ``12 %``."""
    return UNKNOWN if share is None else f"{figure(100 * share, 2)} %"


def points(share: Number) -> str:
    """Format a distance of changes with two significant digits: ``5.2 points``; 0.01 is a point."""
    return UNKNOWN if share is None else f"{figure(100 * share, 2)} points"


def factor(ratio: Number) -> str:
    """Format a ratio: ``×1.25``."""
    return UNKNOWN if ratio is None else f"×{ratio:.2f}"


def gains(low: Number, high: Number, between: str = " to ") -> str:
    """Format a range of gains in per cent: ``+4.1 to +9.0 %``."""
    first, last = percent(low, signed=True, unit=""), percent(high, signed=True)
    return last if first == last.removesuffix(" %") else f"{first}{between}{last}"


def nanoseconds(ns: float, digits: int = 4) -> str:
    """Format nanoseconds in the largest unit in which the value rounds to at least 1: ``11.22 ms``."""
    for size, unit in ((10**9, "s"), (10**6, "ms"), (1000, "µs")):
        if ns >= size * (1 - 0.5 * 10**-digits):
            return f"{figure(ns / size, digits)} {unit}"
    return f"{ns if isinstance(ns, int) else figure(ns, digits)} ns"


def bounds(low: Number, high: Number) -> str:
    """Format an interval of ratios with its unit: ``-2.9 … -0.3 %``."""
    ends = interval(low, high)
    return ends if ends == UNKNOWN else f"{ends} %"


def spread(percent: float) -> str:
    """Format a spread in per cent with two significant digits: ``2.0%``, ``0.46%``, ``12%``."""
    return f"{figure(percent, 2)}%"


def p_value(p: Number) -> str:
    """Format a p value with two digits."""
    if p is None or not isfinite(p):
        return UNKNOWN
    return f"{p:.2g}" if p >= 0.001 else "<0.001"


def improvement(ratio: Number, direction: Direction) -> str:
    """Format a ratio as a gain in per cent, positive if the variant is better, as changelogs print it: ``9.22%``."""
    return percent(None if ratio is None else _gain(ratio, direction), 2, unit="%")


def gain(ratio: Number, direction: Direction) -> str:
    """Format a ratio as a signed gain for a sentence: ``+9.2%``."""
    return percent(None if ratio is None else _gain(ratio, direction), signed=True, unit="%")


def gain_interval(low: Number, high: Number, direction: Direction) -> str:
    """Format an interval of ratios as gains, the smaller gain first: ``+7.0% to +11.2%``.

    An interval with an open end is ``-70.7% or less`` or ``+70.7% or more``.
    """
    smaller, larger = (gain(end, direction) for end in ((low, high) if direction == "higher" else (high, low)))
    if UNKNOWN not in (smaller, larger):
        return f"{smaller} to {larger}"
    if smaller == larger:
        return UNKNOWN
    return f"{larger} or less" if smaller == UNKNOWN else f"{smaller} or more"


def _gain(ratio: float, direction: Direction) -> float:
    """Return 100·x/base − 100 if more is better, 100 − 100·x/base if less is better."""
    return 100 * (ratio - 1) if direction == "higher" else 100 * (1 - ratio)
