"""Published reports beside their simulation as one HTML page, with a scatter plot for each report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import asinh

from markupsafe import Markup

from schedlab.report.html.page import environment, policy, text
from schedlab.report.reproduction import Reproduction, legend, scored_cells
from schedlab.reproduction.simulated import Comparison

SIZE, MARGIN = 320, 34
"""Width and height of a scatter plot, and the room for its labels, in units of its view box."""

_TICKS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


@dataclass(frozen=True)
class Point:
    """An effect's place in the plot, and the sentence that the mouse shows."""

    x: float
    y: float
    significant: bool
    tip: str


@dataclass(frozen=True)
class Scatter:
    """Published gains from left to right, simulated gains from bottom to top.

    Places are asinh(gain in per cent): linear below 1 %, logarithmic beyond, the same for gains and losses.
    """

    points: Sequence[Point]
    ticks: Sequence[tuple[str, float]]


def render(results: Sequence[Reproduction]) -> str:
    """Return the page; it needs no other file, no network and no script."""
    page = environment().get_template("reproduction.html.j2")
    plots = {result.name: _scatter(result.comparisons) for result in results}
    rows = {result.name: _tables(result) for result in results}
    return page.render(
        results=results,
        plots=plots,
        tables=rows,
        heads=[name for name, _ in scored_cells(results[0])],
        cells={result.name: [cell for _, cell in scored_cells(result)] for result in results},
        legend=legend(results),
        size=SIZE,
        margin=MARGIN,
        style=Markup(text("report.css")),
        policy=policy(),
    )


def _tables(result: Reproduction) -> dict[str, list[Comparison]]:
    """Return the effects of each table that have a simulation."""
    tables: dict[str, list[Comparison]] = {}
    for each in result.comparisons:
        if each.simulated is not None:
            tables.setdefault(each.table.title, []).append(each)
    return tables


def _scatter(comparisons: Sequence[Comparison]) -> Scatter:
    pairs = [(each, each.simulated) for each in comparisons if each.simulated is not None and each.table.scored]
    largest = max([1.0, *(abs(gain) for each, figures in pairs for gain in (each.published.gain, figures.gain))])
    reach = asinh(largest) * 1.05
    room = SIZE / 2 - MARGIN

    def place(gain: float) -> float:
        return SIZE / 2 + room * asinh(gain) / reach

    points = [
        Point(
            place(each.published.gain),
            SIZE - place(figures.gain),
            each.published.significant,
            f"{each.table.title}, {each.row.at}, {each.table.columns[each.column]}: published "
            f"{each.published.gain:+.2f} %, simulated {figures.gain:+.2f} %",
        )
        for each, figures in pairs
    ]
    return Scatter(points, list(_labels(largest, place)))


def _labels(largest: float, place: Callable[[float], float]) -> Iterator[tuple[str, float]]:
    for tick in (tick for tick in _TICKS if tick <= largest * 1.05):
        yield f"+{tick:g}", place(tick)
        yield f"−{tick:g}", place(-tick)
    yield "0", place(0.0)
