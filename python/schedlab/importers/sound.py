"""What every import must be, whoever read it: finite samples, one row once a block, text that can be kept and shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from schedlab.results import Import, ImportProblem, Series, showable

_TOO_LARGE = 1e100
"""Nothing is measured beyond it; the squares of larger ones would be infinite."""


def require_sound(found: Import) -> Import:
    """The import, its texts cleaned of what cannot be shown.

    Raises:
        ImportProblem: a sample is no number, a row comes twice in a block, a column has no name or no samples; or there
            is nothing in it.
    """
    if not found.series and not found.tables:
        raise ImportProblem("holds no results", where=found.source, todo="'schedlab import --help' lists what is read")
    cleaned = _cleaned(found)
    seen: set[tuple[str, int, str, str, str]] = set()
    for series in cleaned.series:
        parameters = json.dumps(dict(series.parameters), sort_keys=True)
        key = (series.column, series.block, series.workload, parameters, series.metric)
        if key in seen:
            raise ImportProblem(
                f"{series.workload} {series.metric} is there twice in one block of {series.column}, in two units",
                where=series.source,
            )
        seen.add(key)
        if not len(series.values) or not (np.abs(series.values) < _TOO_LARGE).all():
            raise ImportProblem(
                f"{series.workload} {series.metric} holds a value that is no number, or too large for one",
                where=series.source,
            )
    for table in found.tables:
        for row in table.rows:
            figures = [figure for cell in row.cells for figure in (cell.value, cell.gain, cell.spread_percent)]
            if not all(figure is None or abs(figure) < _TOO_LARGE for figure in figures):
                raise ImportProblem(
                    f"{row.operation} {row.label} holds a figure that is no number, or too large for one",
                    where=f"{found.source}:{row.line}",
                )
    return cleaned


def _cleaned(found: Import) -> Import:
    if all(text == showable(text) for text in _texts(found)):
        return found
    return replace(
        found,
        columns=tuple(map(showable, found.columns)),
        series=tuple(_clean_series(series) for series in found.series),
        notes=tuple(map(showable, found.notes)),
    )


def _texts(found: Import) -> Iterator[str]:
    yield from found.columns
    yield from found.notes
    for series in found.series:
        yield from (series.column, series.workload, series.metric, series.unit, series.label)
        yield from (text for pair in series.parameters.items() for text in pair if isinstance(text, str))


def _clean_series(series: Series) -> Series:
    parameters = {
        showable(name): showable(value) if isinstance(value, str) else value
        for name, value in series.parameters.items()
    }
    return replace(
        series,
        column=showable(series.column),
        workload=showable(series.workload),
        metric=showable(series.metric),
        unit=showable(series.unit),
        label=showable(series.label),
        parameters=parameters,
    )
