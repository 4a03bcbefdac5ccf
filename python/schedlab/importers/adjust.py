"""Changes to an import that the user states: other column names, another baseline, directions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from schedlab.results import Direction, Import, ImportProblem, Table


def columns_of(imports: Sequence[Import]) -> list[str]:
    """Return every column of samples and of printed tables once, in order."""
    names = [
        name
        for imported in imports
        for columns in (imported.columns, *(table.columns for table in imported.tables))
        for name in columns
    ]
    return list(dict.fromkeys(names))


def renamed(imports: Sequence[Import], names: Mapping[str, str]) -> list[Import]:
    """Return the imports with new column names; raise ImportProblem if two columns would have one name."""
    new_names = [names.get(name, name) for name in columns_of(imports)]
    if repeated := {name for name in new_names if new_names.count(name) > 1}:
        what = f"two columns would be called {', '.join(sorted(repeated))}"
        raise ImportProblem(what, todo="give them different names")

    def all_renamed(columns: Sequence[str]) -> tuple[str, ...]:
        return tuple(names.get(name, name) for name in columns)

    return [
        replace(
            imported,
            columns=all_renamed(imported.columns),
            series=tuple(replace(one, column=names.get(one.column, one.column)) for one in imported.series),
            tables=tuple(replace(table, columns=all_renamed(table.columns)) for table in imported.tables),
        )
        for imported in imports
    ]


def with_baseline(imports: Sequence[Import], name: str) -> list[Import]:
    """Return the imports with this column as the baseline: first among the samples, and of every table that has it."""
    if name not in columns_of(imports):
        raise ImportProblem(f"no column is called {name!r}", todo=f"there are: {', '.join(columns_of(imports))}")
    changed = [
        replace(
            imported,
            columns=tuple(sorted(imported.columns, key=lambda column: column != name)),
            tables=tuple(_with_baseline(table, name) for table in imported.tables),
        )
        for imported in imports
    ]
    return sorted(changed, key=lambda imported: name not in imported.columns)


def _with_baseline(table: Table, name: str) -> Table:
    return replace(table, baseline=table.columns.index(name)) if name in table.columns else table


def with_directions(imports: Sequence[Import], directions: Mapping[str, Direction]) -> list[Import]:
    """Return the imports with these directions of metrics (of samples) and operations (of tables)."""
    metrics = {series.metric for imported in imports for series in imported.series}
    metrics |= {row.operation for imported in imports for table in imported.tables for row in table.rows}
    if unknown := sorted(directions.keys() - metrics):
        what = f"no metric is called {', '.join(unknown)}"
        raise ImportProblem(what, todo=f"there are: {', '.join(sorted(metrics)[:20])}")
    return [
        replace(
            imported,
            series=tuple(replace(one, direction=directions.get(one.metric, one.direction)) for one in imported.series),
            tables=tuple(_with_directions(table, directions) for table in imported.tables),
        )
        for imported in imports
    ]


def _with_directions(table: Table, directions: Mapping[str, Direction]) -> Table:
    rows = (replace(row, direction=directions.get(row.operation, row.direction)) for row in table.rows)
    return replace(table, rows=tuple(rows))


def by_column(imported: Import) -> list[Import]:
    """Return an import for each column of samples, with its own source, and one for the printed tables."""
    if len(imported.columns) + bool(imported.tables) < 2:
        return [imported]
    parts = []
    for column in imported.columns:
        series = tuple(one for one in imported.series if one.column == column)
        if series:
            origin = os.path.commonpath([os.path.abspath(one.source) for one in series])
            parts.append(replace(imported, source=origin, columns=(column,), series=series, tables=()))
    return [*parts, *([replace(imported, columns=(), series=())] if imported.tables else [])]
