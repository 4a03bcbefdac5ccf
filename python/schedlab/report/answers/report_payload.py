"""The data that the plots of a report share: styles of columns, values of rows, curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schedlab.report.answers.report_curves import Curve
from schedlab.report.build import shortened
from schedlab.report.document import Column, PlottedRow, Row
from schedlab.report.numbers import interval
from schedlab.report.words import measure

_SHAPES = ("circle", "square", "diamond", "cross")
"""Vega's symbols. Triangles would look like verdicts."""

_DASHES = ((1, 0), (7, 3), (2, 2), (7, 2, 2, 2), (10, 4), (4, 1), (1, 3), (8, 2, 1, 2, 1, 2))
"""Lengths of strokes and gaps in pixels."""

COLOURS = 8
"""Colours in the style sheet, ``--series-0`` to ``--series-7``; the first is the colour of the baseline."""


def looks(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Return the name, colour, symbol and dashes of each column; no two columns look alike."""
    return [_look(place, column.name) for place, column in enumerate(columns)]


def _look(place: int, name: str) -> dict[str, Any]:
    turn = place // COLOURS
    return {
        "variant": name,
        "colour": f"var(--series-{place % COLOURS})",
        "shape": _SHAPES[(place + turn) % len(_SHAPES)],
        "dash": _DASHES[(place + turn) % len(_DASHES)],
    }


def payload(rows: Sequence[PlottedRow], curves: Sequence[Curve], columns: Sequence[Column]) -> dict[str, Any]:
    """Return JSON-ready data, with lists instead of objects, as a page may have ten thousand values."""
    return {
        "columns": looks(columns),
        "rows": {row.key: _row(row) for row in rows},
        "responses": {curve.key: _curve(curve, columns) for curve in curves},
    }


def _row(row: PlottedRow) -> dict[str, Any]:
    return {
        "measure": measure(row.metric, row.unit),
        "unit": row.unit,
        "values": [[v.block, v.column, shortened(v.position), shortened(v.value)] for v in row.values],
        "samples": row.samples,
    }


def _curve(curve: Curve, columns: Sequence[Column]) -> dict[str, Any]:
    places = {look.name: place for place, look in enumerate(columns)}
    return {
        "measure": curve.measure,
        "parameter": curve.parameter,
        "points": [[point.x, point.label, point.row.key] for point in curve.points],
        "changes": [
            [point.x, places[row.variant], row.control, *_change(row)]
            for point in curve.points
            for row in point.row.verdicts
            if row.ratio is not None
        ],
    }


def _change(row: Row) -> list[float | str | None]:
    """Return the change in per cent, its interval, and the interval's text. An interval with an open end has no
    place."""
    percent = [None if ratio is None else shortened(100 * (ratio - 1)) for ratio in (row.ratio, row.low, row.high)]
    ends = percent[1:] if None not in percent else [None, None]
    return [percent[0], *ends, interval(row.low, row.high)]
