"""Interruptions of CPUs as one HTML page: gaps over time coloured by cause, a histogram on log axes, tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from markupsafe import Markup

from schedlab.report.noise import (
    CORRELATION,
    INCLUSIVE,
    Cpu,
    Noise,
    breakdown,
    by_correlation,
    clock,
    correlated,
    duration,
    foreign,
    percent,
    source,
    warnings,
)
from schedlab.report.numbers import figure
from schedlab.report.render.html.legacy import environment, policy, text

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 76, 12, 12, 44
"""Size and margins of a plot in units of its view box."""

COLOURS = 7
"""Causes with a colour of their own: the largest. The others share a colour."""

POINTS = 4_000
"""Most points of a plot; the longest gaps remain."""

OTHERS = "other causes"


@dataclass(frozen=True)
class Point:
    """A gap in the plot: its place, the number of its colour, and the sentence that the mouse shows."""

    x: float
    y: float
    colour: int
    tip: str


@dataclass(frozen=True)
class Bar:
    """A class of the histogram."""

    x: float
    y: float
    width: float
    height: float
    tip: str


@dataclass(frozen=True)
class Plot:
    """Marks with the ticks of both axes: (text, place)."""

    x_ticks: Sequence[tuple[str, float]]
    y_ticks: Sequence[tuple[str, float]]
    points: Sequence[Point] = ()
    bars: Sequence[Bar] = ()


class _Log:
    """A logarithmic axis in whole decades between two places."""

    def __init__(self, least: float, most: float, start: float, end: float) -> None:
        self._low = floor(log10(least))
        self._high = max(ceil(log10(most)), self._low + 1)
        self._start, self._end = start, end

    def place(self, value: float) -> float:
        share = (log10(value) - self._low) / (self._high - self._low)
        return self._start + (self._end - self._start) * min(max(share, 0.0), 1.0)

    @property
    def decades(self) -> list[float]:
        return [10.0**power for power in range(self._low, self._high + 1)]


def render(noise: Noise) -> str:
    """Return the page; it needs no other file, no network and no script."""
    names = [cause.name for cause in noise.causes[:COLOURS]]
    return (
        environment()
        .get_template("noise.html.j2")
        .render(
            noise=noise,
            source=source(noise),
            clock=clock(noise),
            warnings=list(warnings(noise)),
            correlation=CORRELATION,
            inclusive=INCLUSIVE,
            foreign=foreign,
            correlated=correlated,
            by_correlation=by_correlation,
            timelines=[(cpu, _timeline(noise, cpu)) for cpu in noise.cpus],
            histograms=[(cpu, _histogram(cpu)) for cpu in noise.cpus],
            legend=[*enumerate(names, 1), *([(0, OTHERS)] if len(noise.causes) > COLOURS else [])],
            counters=sorted(noise.counters, key=lambda each: -each.count),
            box=(WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM),
            points=POINTS,
            breakdown=breakdown,
            duration=duration,
            figure=figure,
            percent=percent,
            style=Markup(text("report.css")),
            policy=policy(),
        )
    )


def _timeline(noise: Noise, cpu: Cpu) -> Plot | None:
    """Length over time of the CPU's gaps; None without gaps."""
    gaps = [gap for gap in noise.timeline if gap[0] == cpu.cpu]
    if not gaps:
        return None
    gaps = sorted(sorted(gaps, key=lambda gap: -gap[2])[:POINTS])
    lengths = [max(length, 1) for _, _, length, _ in gaps]
    axis = _Log(min(lengths), max(lengths), HEIGHT - BOTTOM, TOP)
    span = max(cpu.seconds, 1e-9)

    def across(seconds: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * min(seconds / span, 1.0)

    def point(gap: tuple[int, int, int, int]) -> Point:
        _, at, length, cause = gap
        name = noise.causes[cause].name if cause < len(noise.causes) else OTHERS
        tip = f"{duration(length)} after {at / 1e9:.6f} s: {name}"
        return Point(across(at / 1e9), axis.place(max(length, 1)), cause + 1 if cause < COLOURS else 0, tip)

    ticks = [(f"{figure(span * part / 4, 3)} s", across(span * part / 4)) for part in range(5)]
    return Plot(ticks, [(_decade(ns), axis.place(ns)) for ns in axis.decades], points=[point(gap) for gap in gaps])


def _histogram(cpu: Cpu) -> Plot | None:
    """Number of gaps by length, both on log axes; None without gaps."""
    if not cpu.histogram:
        return None
    lows = [max(ns, 0.1) for ns, _, _ in cpu.histogram]
    factor = 2 ** (1 / 4)
    across = _Log(min(lows), max(lows) * factor, LEFT, WIDTH - RIGHT)
    # Below one gap a bar has no height.
    up = _Log(0.5, max(number for _, _, number in cpu.histogram), HEIGHT - BOTTOM, TOP)
    bars = list(_bars(cpu, across, up, factor))
    x_ticks = [(_decade(ns), across.place(ns)) for ns in across.decades]
    return Plot(x_ticks, [(f"{number:,.0f}", up.place(number)) for number in up.decades if number >= 1], bars=bars)


def _decade(ns: float) -> str:
    """Return a power of ten in ns as a short label."""
    number, unit = duration(ns).split(" ")
    return f"{float(number):g} {unit}"


def _bars(cpu: Cpu, across: _Log, up: _Log, factor: float) -> Iterator[Bar]:
    for ns, cycles, number in cpu.histogram:
        left, right = across.place(max(ns, 0.1)), across.place(max(ns, 0.1) * factor)
        top = up.place(number)
        tip = f"from {duration(ns)} ({cycles:,} cycles): {number:,}"
        yield Bar(left, top, max(right - left - 0.6, 0.6), HEIGHT - BOTTOM - top, tip)
