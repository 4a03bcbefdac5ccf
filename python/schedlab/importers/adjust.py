"""What a user says about an import that its source cannot know: other names, another baseline, directions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from schedlab.results import Direction, Import, ImportProblem, Table


def columns_of(imports: Sequence[Import]) -> list[str]:
    """Every column, of samples or of printed tables, once, in order."""
    named = [name for found in imports for name in (*found.columns, *(c for t in found.tables for c in t.columns))]
    return list(dict.fromkeys(named))


def renamed(imports: Sequence[Import], names: Mapping[str, str]) -> list[Import]:
    """Columns under new names, which must be free."""
    taken = [names.get(name, name) for name in columns_of(imports)]
    if twice := {name for name in taken if taken.count(name) > 1}:
        raise ImportProblem(f"two columns would be called {', '.join(sorted(twice))}", todo="give them different names")
    return [
        replace(
            found,
            columns=tuple(names.get(name, name) for name in found.columns),
            series=tuple(replace(one, column=names.get(one.column, one.column)) for one in found.series),
            tables=tuple(replace(t, columns=tuple(names.get(name, name) for name in t.columns)) for t in found.tables),
        )
        for found in imports
    ]


def with_baseline(imports: Sequence[Import], name: str) -> list[Import]:
    """The imports with this column as the baseline of all that have it: first of the samples, named in the tables."""
    if name not in columns_of(imports):
        raise ImportProblem(f"no column is called {name!r}", todo=f"there are: {', '.join(columns_of(imports))}")
    changed = [
        replace(
            found,
            columns=tuple(sorted(found.columns, key=lambda column: column != name)),
            tables=tuple(_with_baseline(table, name) for table in found.tables),
        )
        for found in imports
    ]
    return sorted(changed, key=lambda found: name not in found.columns)


def _with_baseline(table: Table, name: str) -> Table:
    return replace(table, baseline=table.columns.index(name)) if name in table.columns else table


def with_directions(imports: Sequence[Import], directions: Mapping[str, Direction]) -> list[Import]:
    """The imports with these metrics (of samples) and operations (of tables) told to be better this way."""
    known = {one.metric for found in imports for one in found.series}
    known |= {row.operation for found in imports for table in found.tables for row in table.rows}
    if unknown := sorted(directions.keys() - known):
        raise ImportProblem(
            f"no metric is called {', '.join(unknown)}", todo=f"there are: {', '.join(sorted(known)[:20])}"
        )
    return [
        replace(
            found,
            series=tuple(replace(one, direction=directions.get(one.metric, one.direction)) for one in found.series),
            tables=tuple(
                replace(
                    table,
                    rows=tuple(
                        replace(row, direction=directions.get(row.operation, row.direction)) for row in table.rows
                    ),
                )
                for table in found.tables
            ),
        )
        for found in imports
    ]


def by_column(found: Import) -> list[Import]:
    """An import for each column of samples, which says where that came from; the printed tables are one more."""
    if len(found.columns) + bool(found.tables) < 2:
        return [found]
    parts = []
    for column in found.columns:
        series = tuple(one for one in found.series if one.column == column)
        if series:
            origin = os.path.commonpath([os.path.abspath(one.source) for one in series])
            parts.append(replace(found, source=origin, columns=(column,), series=series, tables=()))
    return [*parts, *([replace(found, columns=(), series=())] if found.tables else [])]
