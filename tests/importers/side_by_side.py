"""Columns of samples from imports, without a store."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import numpy as np
from numpy.typing import NDArray

from schedlab.analysis.distributions import ColumnRow, Columns
from schedlab.results.imported import Import, Series

_Key = tuple[object, ...]


def to_columns(imports: Sequence[Import]) -> Columns:
    """Match the series of all imports by workload, metric, unit, direction and parameters.

    The first column of the first import is the baseline; a name that two imports use gets a number. Blocks of a row
    are joined in their order. Rows keep the order of their first appearance.
    """
    names: list[str] = []
    first: dict[_Key, Series] = {}
    parts: dict[_Key, dict[int, list[Series]]] = {}
    for source in imports:
        place: dict[str, int] = {}
        for column in source.columns:
            place[column] = len(names)
            names.append(_free(column, names))
        for series in source.series:
            key = _key(series)
            first.setdefault(key, series)
            parts.setdefault(key, {}).setdefault(place[series.column], []).append(series)
    rows = (_row(series, [parts[key].get(position) for position in range(len(names))]) for key, series in first.items())
    return Columns(tuple(names), tuple(rows))


def _key(series: Series) -> _Key:
    return series.workload, series.metric, series.unit, series.direction, *sorted(series.parameters.items())


def _free(name: str, taken: Sequence[str]) -> str:
    return name if name not in taken else next(new for n in count(2) if (new := f"{name} ({n})") not in taken)


def _row(first: Series, cells: Sequence[Sequence[Series] | None]) -> ColumnRow:
    return ColumnRow(
        workload=first.workload,
        metric=first.metric,
        unit=first.unit,
        direction=first.direction,
        parameters=first.parameters,
        samples=tuple(_joined(cell) if cell else None for cell in cells),
        label=first.label,
        decimals=first.decimals,
    )


def _joined(blocks: Sequence[Series]) -> NDArray[np.float64]:
    if len(blocks) == 1:
        return blocks[0].values
    return np.concatenate([series.values for series in sorted(blocks, key=lambda series: series.block)])
