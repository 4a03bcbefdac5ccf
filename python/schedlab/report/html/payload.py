"""What the page's script gets: looks of columns, values behind the rows, curves, and the kinds of plot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schedlab.analysis.columns import Columns
from schedlab.report.html.marks import Mark
from schedlab.report.html.response import Response
from schedlab.report.html.rows import Identity, Row

SAMPLES = 60_000
"""Samples in a page, over all rows and columns: about a third of a megabyte."""

FEWEST, MOST = 25, 500
"""Samples of one row and column that are always kept, and that no plot needs more of."""

Drawn = list[float | None]
"""Values of one column; None where one is no finite number."""

_DIGITS = 6
"""Significant digits of a value that is drawn."""


def payload(
    rows: Sequence[Row], responses: Sequence[Response], looks: Sequence[Mark], samples: Columns | None, plots: Any
) -> dict[str, Any]:
    """JSON-ready; lists instead of objects where there are many, since a page may hold ten thousand values."""
    drawn = thinned(samples)
    return {
        "columns": [
            {"variant": look.name, "colour": look.colour, "shape": look.shape, "dash": look.dash} for look in looks
        ],
        "rows": {
            row.key: _row(row, drawn.get(_key(row.question.workload, row.parameters, row.question.metric)))
            for row in rows
        },
        "responses": {response.key: _response(response, looks) for response in responses},
        "plots": plots,
    }


def thinned(samples: Columns | None) -> dict[Identity, list[Drawn | None]]:
    """Sorted samples of each row and column, no more than the page has room for, evenly spaced in rank."""
    if samples is None:
        return {}
    cells = sum(cell is not None for row in samples.rows for cell in row.samples)
    room = min(max(SAMPLES // max(cells, 1), FEWEST), MOST)
    return {
        _key(row.workload, row.parameters, row.metric): [None if c is None else _thin(c, room) for c in row.samples]
        for row in samples.rows
    }


def _key(workload: str, parameters: Mapping[str, Any], metric: str) -> Identity:
    """One spelling of the parameters for what was imported and what was measured."""
    return workload, json.dumps(dict(parameters), sort_keys=True), metric


def _thin(values: NDArray[np.float64], room: int) -> Drawn:
    held = np.sort(values)
    if len(held) > room:
        held = held[np.linspace(0, len(held) - 1, room).round().astype(int)]
    return [_short(value) for value in held.tolist()]


def _row(row: Row, samples: list[Drawn | None] | None) -> dict[str, Any]:
    return {
        "measure": row.measure,
        "unit": row.question.unit,
        "values": [[v.block, v.column, _short(v.position), _short(v.value)] for v in row.values],
        "samples": samples,
    }


def _response(response: Response, looks: Sequence[Mark]) -> dict[str, Any]:
    places = {look.name: place for place, look in enumerate(looks)}
    return {
        "measure": response.measure,
        "parameter": response.parameter,
        "points": [[point.x, point.label, point.row.key] for point in response.points],
        "changes": [
            [point.x, places[verdict.variant], verdict.control, *_changes(verdict.ratio, verdict.low, verdict.high)]
            for point in response.points
            for verdict in point.row.verdicts
        ],
    }


def _changes(*ratios: float) -> list[float | None]:
    """Ratios as changes in per cent; None where not known."""
    return [_short(100 * (ratio - 1)) for ratio in ratios]


def _short(value: float) -> float | None:
    return float(f"{value:.{_DIGITS}g}") if isfinite(value) else None


def script_safe(data: Mapping[str, Any]) -> str:
    """JSON that cannot end the script element it stands in, whatever names it holds (as jinja2's ``tojson`` does)."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
