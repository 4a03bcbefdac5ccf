"""The contents of an import in one shape for samples and for printed tables: rows with an entry for each column."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Literal

import numpy as np

from schedlab.analysis.gains import Recomputed, differences, disagreements, relative_gains
from schedlab.results.imported import Import, Origin, Series, Table, TableRow

SAMPLES = "samples"
"""The layout of tables that consist of samples."""


@dataclass(frozen=True)
class Spread:
    """The spread of a cell in per cent of its value, its kind, and the number of repeats (None: not printed)."""

    percent: float
    kind: str
    n: int | None


@dataclass(frozen=True)
class Row:
    """A row of samples or of a printed table. ``docs/importing.md`` documents the fields, also for the JSON.

    Every list has an entry for each column, None where the source has no value.
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
    differences: Sequence[float | None]
    stars: Sequence[bool | None]
    spreads: Sequence[Spread | None]
    samples: Sequence[Sequence[float] | None] | None = None
    blocks: Sequence[int] | None = None
    sources: Sequence[str | None] | None = None


@dataclass(frozen=True)
class OutlineTable:
    """Rows and columns. ``gains`` is their convention: improvement (+ is better) or change (+ is larger)."""

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
    """The contents of an import; ``columns`` are the columns of samples, the baseline first, ``origins`` what the
    source states of them."""

    format: str
    source: str
    columns: Sequence[str]
    notes: Sequence[str]
    tables: Sequence[OutlineTable]
    understood: Sequence[str] = ()
    origins: Mapping[str, Origin] = field(default_factory=dict)


def outline(imported: Import) -> Outline:
    """Return a table of samples for each workload, in the order of the source, then the printed tables."""
    tables = [*_tables_of_samples(imported), *map(_printed_table, imported.tables)]
    return Outline(
        imported.format,
        imported.source,
        imported.columns,
        imported.notes,
        tables,
        imported.understood,
        imported.origins,
    )


def _tables_of_samples(imported: Import) -> Iterator[OutlineTable]:
    for workload in dict.fromkeys(series.workload for series in imported.series):
        of_workload = [series for series in imported.series if series.workload == workload]
        present = {series.column for series in of_workload}
        columns = [name for name in imported.columns if name in present]
        rows: dict[tuple[str, str, str, str], dict[str, list[Series]]] = {}
        for series in of_workload:
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
        np.concatenate([series.values for series in sorted(by_column[name], key=lambda series: series.block)])
        if name in by_column
        else None
        for name in columns
    ]
    values = [None if column is None else float(column.mean()) for column in samples]
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
        recomputed_gains=relative_gains(values, 0, negate=first.direction == "lower"),
        differences=differences(values, 0),
        stars=[None] * len(columns),
        spreads=[_spread(column) for column in samples],
        samples=[None if column is None else column.tolist() for column in samples],
        blocks=[len(by_column.get(name, ())) for name in columns],
        sources=[by_column[name][0].source if name in by_column else None for name in columns],
    )


def _spread(samples: np.typing.NDArray[np.float64] | None) -> Spread | None:
    """Return the standard deviation of the samples; None for fewer than two samples or a mean of 0."""
    if samples is None or len(samples) < 2 or samples.mean() == 0:
        return None
    percent = 100 * float(samples.std(ddof=1)) / abs(float(samples.mean()))
    return Spread(percent, "standard deviation", len(samples)) if isfinite(percent) else None


def _printed_table(table: Table) -> OutlineTable:
    return OutlineTable(
        layout=table.layout,
        title=table.title,
        workload=table.workload,
        line=table.line,
        columns=table.columns,
        baseline=table.columns[table.baseline] if table.columns else "",
        gains=table.gains,
        rows=[_printed_row(table, row) for row in table.rows],
        disagreements=disagreements(table),
    )


def _printed_row(table: Table, row: TableRow) -> Row:
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
        recomputed_gains=relative_gains(
            values, table.baseline, negate=table.gains == "improvement" and row.direction == "lower"
        ),
        differences=differences(values, table.baseline),
        stars=[cell.star for cell in row.cells],
        spreads=[
            None if cell.spread_percent is None else Spread(cell.spread_percent, cell.spread_kind, cell.n)
            for cell in row.cells
        ],
    )
