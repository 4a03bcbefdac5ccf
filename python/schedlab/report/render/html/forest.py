"""The forest plot's axis: the places of ratios between the plot's edges, and its ticks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import asinh, log

_TICKS = (9900.0, 900.0, 300.0, 100.0, 50.0, 25.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1)
"""Increases in per cent that the axis can label, each together with the decrease of the inverse ratio."""

_ROOM, _ROOM_NARROW = 14.0, 24.0
"""Per cent of the plot's width that a label needs in a plot of 260 pixels or more, and in the narrowest, of 160."""


@dataclass(frozen=True)
class Tick:
    """A labelled place of the axis in per cent of its width; a ``minor`` tick has room in a wide plot only."""

    label: str
    place: float
    minor: bool = False


@dataclass(frozen=True)
class Axis:
    """A scale that is linear near no change and logarithmic beyond, so that it fits rows of ±1 % and of −70 %.

    Places are asinh(log(ratio) / linear), the inverse hyperbolic sine transform (Johnson 1949). The scale needs no
    clipping. Halving and doubling have the same distance from the middle.

    Attributes:
        linear: the log-ratio below which the scale is about linear: log(1 + delta).
        reach: the transformed value at the plot's edges.
    """

    linear: float
    reach: float

    def place(self, ratio: float) -> float:
        """Return per cent of the plot's width, 50 for no change; clamped to the plot. A ratio of 0 is at its edge."""
        if ratio <= 0:
            return 0.0
        return round(min(max(50 + 50 * asinh(log(ratio) / self.linear) / self.reach, 0.0), 100.0), 2)

    def span(self, low: float | None, high: float | None) -> tuple[float, float] | None:
        """Return the places of an interval's ends, an open end at the edge; None without an interval."""
        if low is None and high is None:
            return None
        return self.place(low or 0.0), 100.0 if high is None else self.place(high)

    @property
    def ticks(self) -> list[Tick]:
        """Marks for no change, and for as many pairs of a ratio and its inverse as have room, the largest first."""
        kept = [Tick("0 %", 50.0)]
        for minor, room in ((False, _ROOM_NARROW), (True, _ROOM)):
            for percent in _TICKS:
                ratio = 1 + percent / 100
                distance = 50 * asinh(log(ratio) / self.linear) / self.reach
                has_room = all(abs(50 + distance - tick.place) >= room for tick in kept)
                if distance <= 50 - room / 2 and has_room:
                    decrease = f"{100 * (1 / ratio - 1):.2g} %"
                    kept.append(Tick(decrease, round(50 - distance, 2), minor))
                    kept.append(Tick(f"+{percent:g} %", round(50 + distance, 2), minor))
        return sorted(kept, key=lambda tick: tick.place)


def axis(ends: Iterable[float | None], delta: float) -> Axis:
    """Return the axis that contains every known ratio, and at least ±delta."""
    linear = log(1 + delta)
    farthest = max((abs(log(end)) for end in ends if end is not None and end > 0), default=0.0)
    return Axis(linear, 1.05 * asinh(max(farthest, 2 * linear) / linear))
