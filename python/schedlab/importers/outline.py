"""What an import would bring, in one shape for printed tables and for samples: tables of rows with a cell a column."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np

from schedlab.analysis.gains import Recomputed, disagreements
from schedlab.results import Import, Series, Table, TableRow

SAMPLES = "samples"
"""The layout of tables that are made of samples."""


@dataclass(frozen=True)
class Spread:
    """The spread of a cell in per cent of its value, what it is, and the repeats behind it (None: not told)."""

    percent: float
    kind: str
    n: int | None


@dataclass(frozen=True)
class Row:
    """A row; every list has an entry for each column, None where there is nothing.

    Attributes:
        operation: what is printed (``Hmean``, ``Min``); None for samples, of which ``values`` are the means.
        label: the rest of the row's head in the source's own words.
        metric: of samples; None for printed rows, whose operation says it.
        line: of a printed row in its source, from 1.
        printed_gains: in per cent, as printed. ``recomputed_gains``: from the values, by the table's convention.
        stars: whether the cell was marked significant; None where the table has no marks.
        samples: of each column, all blocks one after the other; None for printed rows. ``blocks``: how many each has.
        sources: the file that each column's samples were read from; None for printed rows.
    """

    operation: str | None
    label: str
    parameters: Mapping[str, str | int | float]
    metric: str | None
    unit: str
    direction: str | None
    line: int | None
    values: Sequence[float | None]
    printed_gains: Sequence[float | None]
    recomputed_gains: Sequence[float | None]
    stars: Sequence[bool | None]
    spreads: Sequence[Spread | None]
    samples: Sequence[Sequence[float] | None] | None
    blocks: Sequence[int] | None
    sources: Sequence[str | None] | None


@dataclass(frozen=True)
class OutlineTable:
    """Rows over columns. ``gains`` says what the gains are: improvements (+ is better) or changes (+ is larger)."""

    layout: str
    title: str
    workload: str
    line: int | None
    columns: Sequence[str]
    baseline: str
    gains: Literal["improvement", "change"]
    rows: Sequence[Row]
    disagreements: Sequence[Recomputed]


@dataclass(frozen=True)
class Outline:
    """One import. ``columns`` are those of samples, the baseline first."""

    format: str
    source: str
    columns: Sequence[str]
    notes: Sequence[str]
    tables: Sequence[OutlineTable]


def outline(found: Import) -> Outline:
    """Samples as a table for each workload, in the order in which they were read; then the printed tables."""
    tables = [*_of_samples(found), *map(_of_table, found.tables)]
    return Outline(found.format, found.source, found.columns, found.notes, tables)


def _of_samples(found: Import) -> Iterator[OutlineTable]:
    for workload in dict.fromkeys(series.workload for series in found.series):
        inside = [series for series in found.series if series.workload == workload]
        columns = [name for name in found.columns if any(series.column == name for series in inside)]
        rows: dict[tuple[str, str, str, str], dict[str, list[Series]]] = {}
        for series in inside:
            parameters = json.dumps(dict(series.parameters), sort_keys=True)
            key = (series.metric, series.unit, series.direction, parameters)
            rows.setdefault(key, {}).setdefault(series.column, []).append(series)
        yield OutlineTable(
            layout=SAMPLES,
            title=workload,
            workload=workload,
            line=None,
            columns=columns,
            baseline=columns[0],
            gains="improvement",
            rows=[_row_of_samples(columns, by_column) for by_column in rows.values()],
            disagreements=(),
        )


def _row_of_samples(columns: Sequence[str], by_column: Mapping[str, Sequence[Series]]) -> Row:
    first = next(iter(by_column.values()))[0]
    samples = [
        np.concatenate([one.values for one in sorted(by_column[name], key=lambda one: one.block)])
        if name in by_column
        else None
        for name in columns
    ]
    values = [None if one is None else float(one.mean()) for one in samples]
    return Row(
        operation=None,
        label=first.label,
        parameters=first.parameters,
        metric=first.metric,
        unit=first.unit,
        direction=first.direction,
        line=None,
        values=values,
        printed_gains=[None] * len(columns),
        recomputed_gains=gains(values, 0, negate=first.direction == "lower"),
        stars=[None] * len(columns),
        spreads=[_spread(one) for one in samples],
        samples=[None if one is None else one.tolist() for one in samples],
        blocks=[len(by_column.get(name, ())) for name in columns],
        sources=[by_column[name][0].source if name in by_column else None for name in columns],
    )


def _spread(samples: np.typing.NDArray[np.float64] | None) -> Spread | None:
    """The samples' standard deviation; None below two samples, or around 0."""
    if samples is None or len(samples) < 2 or samples.mean() == 0:
        return None
    percent = 100 * float(samples.std(ddof=1)) / abs(float(samples.mean()))
    return Spread(percent, "standard deviation", len(samples)) if isfinite(percent) else None


def gains(values: Sequence[float | None], baseline: int, *, negate: bool) -> list[float | None]:
    """Changes in per cent of the baseline's value; None for itself, for what is missing, and against 0."""
    base = values[baseline]
    sign = -1 if negate else 1
    found = [
        None if index == baseline or value is None or not base else sign * (100 * value / base - 100)
        for index, value in enumerate(values)
    ]
    return [gain if gain is not None and isfinite(gain) else None for gain in found]


def _of_table(table: Table) -> OutlineTable:
    return OutlineTable(
        layout=table.layout,
        title=table.title,
        workload=table.workload,
        line=table.line,
        columns=table.columns,
        baseline=table.columns[table.baseline] if table.columns else "",
        gains=table.gains,
        rows=[_row_of_table(table, row) for row in table.rows],
        disagreements=disagreements(table),
    )


def _row_of_table(table: Table, row: TableRow) -> Row:
    values = [cell.value for cell in row.cells]
    return Row(
        operation=row.operation,
        label=row.label,
        parameters=row.parameters,
        metric=None,
        unit=row.unit,
        direction=row.direction,
        line=row.line,
        values=values,
        printed_gains=[cell.gain for cell in row.cells],
        recomputed_gains=gains(
            values, table.baseline, negate=table.gains == "improvement" and row.direction == "lower"
        ),
        stars=[cell.star for cell in row.cells],
        spreads=[
            None if cell.spread_percent is None else Spread(cell.spread_percent, cell.spread_kind, cell.n)
            for cell in row.cells
        ],
        samples=None,
        blocks=None,
        sources=None,
    )
