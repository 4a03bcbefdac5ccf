"""The forest plot's axis: where a ratio lies between the plot's edges, and where the axis has its ticks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import asinh, isfinite, log
from typing import Protocol

_TICKS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 10_000.0)
"""Changes in per cent that may be labelled."""

_ROOM, _ROOM_NARROW = 14.0, 24.0
"""Per cent of the plot's width that a label needs: from 260 pixels on, and in the narrowest plot of 160."""


class Bounded(Protocol):
    """A ratio with its interval; nan where not known."""

    @property
    def ratio(self) -> float: ...

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


@dataclass(frozen=True)
class Tick:
    """A labelled place of the axis, in per cent of its width; a ``minor`` one has room in a wide plot only."""

    label: str
    place: float
    minor: bool = False


@dataclass(frozen=True)
class Axis:
    """A scale that is linear near no change and logarithmic beyond: a row of ±1 % and one of −70 % fit side by side.

    Places are asinh(log(ratio) / linear), as in the inverse hyperbolic sine transform (Johnson 1949); it needs no
    clipping, and halving and doubling are equally far from the middle.

    Attributes:
        linear: the log-ratio within which the scale is about linear: log(1 + delta).
        reach: the transformed value at the plot's edges.
    """

    linear: float
    reach: float

    def place(self, ratio: float) -> float:
        """Per cent of the plot's width, 50 for no change; clamped to the plot."""
        return round(min(max(50 + 50 * asinh(log(ratio) / self.linear) / self.reach, 0.0), 100.0), 2)

    @property
    def ticks(self) -> list[Tick]:
        """No change and, to both sides, as many round changes as have room, the widest first."""
        kept = [Tick("0 %", 50.0)]
        outwards = sorted((sign * size for size in _TICKS for sign in (-1, 1)), key=lambda percent: -abs(percent))
        for minor, room in ((False, _ROOM_NARROW), (True, _ROOM)):
            for percent in (percent for percent in outwards if percent > -100):
                there = 50 + 50 * asinh(log(1 + percent / 100) / self.linear) / self.reach
                far_from_others = all(abs(there - tick.place) >= room for tick in kept)
                if room / 2 <= there <= 100 - room / 2 and far_from_others:
                    kept.append(Tick(f"{percent:+g} %", round(there, 2), minor))
        return sorted(kept, key=lambda tick: tick.place)


def axis(shown: Iterable[Bounded], delta: float) -> Axis:
    """The axis that holds every ratio and interval that is shown, and ±delta at the least."""
    linear = log(1 + delta)
    ends = (end for each in shown for end in (each.ratio, each.low, each.high))
    farthest = max((abs(log(end)) for end in ends if isfinite(end) and end > 0), default=0.0)
    return Axis(linear, 1.05 * asinh(max(farthest, 2 * linear) / linear))
