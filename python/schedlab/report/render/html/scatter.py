"""Scatter plots of predicted over measured figures; ``templates/scatter.html.j2`` draws them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import asinh, ceil, floor, log10

SIZE, MARGIN = 320, 34
"""Width and height of a plot, and the room for its labels, in units of its view box."""

_TICKS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)

_LABEL = 26
"""Least distance of two labels, in units of the view box: the width of a label of four characters."""


_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Change:
    """A change in per cent from left to right, the predicted change from bottom to top, whether the first is beyond
    its noise, and the sentence that the mouse shows."""

    x: float
    y: float
    significant: bool
    tip: str


@dataclass(frozen=True)
class Point:
    """A place in the plot, with the sentence that the mouse shows."""

    x: float
    y: float
    significant: bool
    tip: str


@dataclass(frozen=True)
class Scatter:
    """Points, and ticks that hold for both axes. ``zero`` is the label of the tick of no change."""

    points: Sequence[Point]
    ticks: Sequence[tuple[str, float]]
    zero: str = "0"
    size: int = SIZE
    margin: int = MARGIN


def of_changes(changes: Iterable[Change]) -> Scatter:
    """Return the plot of changes in per cent.

    Places are asinh(change): linear below 1 %, logarithmic beyond, the same for gains and losses.
    """
    listed = list(changes)
    largest = max([1.0, *(abs(figure) for each in listed for figure in (each.x, each.y))])
    reach = asinh(largest) * 1.05

    def place(change: float) -> float:
        return SIZE / 2 + (SIZE / 2 - MARGIN) * asinh(change) / reach

    return Scatter(_points(listed, place), list(_labels(largest, place)))


def of_levels(levels: Iterable[Change]) -> Scatter:
    """Return the plot of positive figures on logarithmic axes."""
    listed = list(levels)
    figures = [log10(figure) for each in listed for figure in (each.x, each.y)]
    low, high = floor(min(figures)), max(ceil(max(figures)), floor(min(figures)) + 1)

    def place(figure: float) -> float:
        return MARGIN + (SIZE - 2 * MARGIN) * (log10(figure) - low) / (high - low)

    step = ceil((high - low) / 6)
    ticks = [(_power(power), place(10.0**power)) for power in range(low, high + 1, step)]
    return Scatter(_points(listed, place), ticks, zero="")


def _points(changes: Sequence[Change], place: Callable[[float], float]) -> list[Point]:
    return [Point(place(each.x), SIZE - place(each.y), each.significant, each.tip) for each in changes]


def _labels(largest: float, place: Callable[[float], float]) -> Iterator[tuple[str, float]]:
    ticks = [tick for tick in _TICKS if tick <= largest * 1.05]
    # Every second tick where all ticks would be too close to each other; the first tick may be close to 0.
    places = [place(0.0), *map(place, ticks)]
    if len(ticks) > 1 and min(after - before for before, after in pairwise(places)) < _LABEL:
        ticks = ticks[1::2]
    for tick in ticks:
        yield f"+{tick:g}", place(tick)
        yield f"\u2212{tick:g}", place(-tick)
    yield "0", place(0.0)


def _power(power: int) -> str:
    """Return a power of ten in at most four characters."""
    return f"{10.0**power:g}" if -2 <= power <= 3 else "10" + str(power).translate(_SUPERSCRIPT)
