"""Checks of every import, whatever its reader: finite figures, unique rows, text that can be stored and shown."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from schedlab.results import Import, ImportProblem, Series, showable

_TOO_LARGE = 1e100
"""No measurement is as large; the squares of larger values would be infinite."""


def checked(imported: Import) -> Import:
    """Return the import without control characters in its texts.

    Raises:
        ImportProblem: the import is empty, a figure is not finite, or a row is twice in one block.
    """
    if not imported.series and not imported.tables:
        todo = "'schedlab import --help' lists what is read"
        raise ImportProblem("contains no results", where=imported.source, todo=todo)
    cleaned = replace(
        imported,
        columns=tuple(map(showable, imported.columns)),
        series=tuple(map(_showable_series, imported.series)),
        notes=tuple(map(showable, imported.notes)),
    )
    seen: set[tuple[str, int, str, str, str]] = set()
    for series in cleaned.series:
        parameters = json.dumps(dict(series.parameters), sort_keys=True)
        key = (series.column, series.block, series.workload, parameters, series.metric)
        if key in seen:
            raise ImportProblem(
                f"{series.workload} {series.metric} is twice in one block of {series.column}, in two units",
                where=series.source,
            )
        seen.add(key)
        if not len(series.values) or not (np.abs(series.values) < _TOO_LARGE).all():
            raise ImportProblem(
                f"{series.workload} {series.metric} has a value that is not a number, or is too large",
                where=series.source,
            )
    for row in (row for table in imported.tables for row in table.rows):
        figures = [figure for cell in row.cells for figure in (cell.value, cell.gain, cell.spread_percent)]
        if not all(figure is None or abs(figure) < _TOO_LARGE for figure in figures):
            raise ImportProblem(
                f"{row.operation} {row.label} has a figure that is not a number, or is too large",
                where=f"{imported.source}:{row.line}",
            )
    return cleaned


def _showable_series(series: Series) -> Series:
    texts = (series.column, series.workload, series.metric, series.unit, series.label)
    parameters = [text for pair in series.parameters.items() for text in pair if isinstance(text, str)]
    if all(text.isprintable() for text in (*texts, *parameters)):
        return series
    column, workload, metric, unit, label = map(showable, texts)
    return replace(
        series,
        column=column,
        workload=workload,
        metric=metric,
        unit=unit,
        label=label,
        parameters={
            showable(name): showable(value) if isinstance(value, str) else value
            for name, value in series.parameters.items()
        },
    )
