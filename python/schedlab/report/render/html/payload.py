"""The data of the page's script: styles of columns, values of rows, curves, and plot specifications."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schedlab.report.build import shortened
from schedlab.report.document import Column, PlottedRow, Row
from schedlab.report.numbers import interval
from schedlab.report.render.html.curves import Curve
from schedlab.report.words import measure

_SHAPES = (
    ("circle", "●"),
    ("square", "■"),
    ("triangle-up", "▲"),
    ("diamond", "◆"),
    ("triangle-down", "▼"),
    ("cross", "✚"),
    ("triangle-right", "▶"),
    ("triangle-left", "◀"),
)
"""Vega's symbols, and their characters in a legend."""

_DASHES = ((1, 0), (7, 3), (2, 2), (7, 2, 2, 2), (10, 4), (4, 1), (1, 3), (8, 2, 1, 2, 1, 2))
"""Lengths of strokes and gaps in pixels."""

COLOURS = 8
"""Colours in the style sheet, ``--series-0`` to ``--series-7``; the first is the colour of the baseline."""


@dataclass(frozen=True)
class Look:
    """The style of a column: CSS colour, Vega symbol with its character, dashes. Colour is never the only
    distinction."""

    name: str
    colour: str
    shape: str
    glyph: str
    dash: tuple[int, ...]


def looks(columns: Sequence[Column]) -> list[Look]:
    """Return a colour and a shape for each column. Colours are reused with another shape."""
    return [_look(place, column.name) for place, column in enumerate(columns)]


def _look(place: int, name: str) -> Look:
    turn = place // COLOURS
    shape, glyph = _SHAPES[(place + turn) % len(_SHAPES)]
    return Look(name, f"var(--series-{place % COLOURS})", shape, glyph, _DASHES[(place + turn) % len(_DASHES)])


def payload(
    rows: Sequence[PlottedRow], curves: Sequence[Curve], columns: Sequence[Look], plots: Mapping[str, Any]
) -> dict[str, Any]:
    """Return JSON-ready data, with lists instead of objects, as a page may have ten thousand values."""
    return {
        "columns": [
            {"variant": look.name, "colour": look.colour, "shape": look.shape, "dash": look.dash} for look in columns
        ],
        "rows": {row.key: _row(row) for row in rows},
        "responses": {curve.key: _curve(curve, columns) for curve in curves},
        "plots": plots,
    }


def _row(row: PlottedRow) -> dict[str, Any]:
    return {
        "measure": measure(row.metric, row.unit),
        "unit": row.unit,
        "values": [[v.block, v.column, shortened(v.position), shortened(v.value)] for v in row.values],
        "samples": row.samples,
    }


def _curve(curve: Curve, columns: Sequence[Look]) -> dict[str, Any]:
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


def script_safe(data: Mapping[str, Any] | Sequence[Any] | str) -> str:
    """Return JSON that cannot end its script element, whatever names it contains (as jinja2's ``tojson`` does)."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
