"""Checks of every import, independent of its reader, and changes to an import that the user requests.

The checks: finite figures, unique rows, text that can be stored and shown. The changes: other column names, another
baseline, directions.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from schedlab.results.imported import Import, ImportProblem, Series, Table, showable
from schedlab.results.metrics import Direction

_TOO_LARGE = 1e100
"""Largest figure: squares of larger values would be infinite, and no real measurement is as large."""
_LONGEST_NAME = 200
"""Characters."""
MOST_ALIKE = 3
"""Notes on single files with the same text that are shown one by one."""
MOST_NOTES = 20
"""Notes that the summary of an import and a run have."""
_MOST_ROWS = 200_000
"""Rows of samples, counted in each column and block: 10,000 logs of schbench have 120,000. Each takes some 3 kB of
memory, also with one sample."""


_MOST_LISTED = 20
"""Metrics that a message names."""


def checked(imported: Import) -> Import:
    """Return the import without control characters in its texts.

    Raises:
        ImportProblem: the import is empty, a figure is not finite, or a row is twice in one block.
    """
    if not (imported.series or imported.tables or imported.undirected):
        todo = "'schedlab import --help' lists the formats"
        raise ImportProblem("contains no results", where=imported.source, todo=todo)
    if len(imported.series) > _MOST_ROWS:
        raise ImportProblem(
            f"contains {len(imported.series):,} rows, counted in each column and block; the limit is {_MOST_ROWS:,}",
            where=imported.source,
            todo="import fewer workloads, columns or blocks at a time",
        )
    cleaned: Import = imported if _is_printable(imported) else _printable(imported)
    for name in dict.fromkeys(_names(cleaned)):
        require_name(name, imported.source)
    for columns in (cleaned.columns, *(table.columns for table in cleaned.tables)):
        if len(set(columns)) < len(columns):
            message = f"two columns have the same name: {', '.join(columns)[:200]}"
            raise ImportProblem(message, where=imported.source, todo="rename a column in the file")
    keys: set[tuple[str, int, str, str, str]] = set()
    for series in cleaned.series:
        parameters = json.dumps(dict(series.parameters), sort_keys=True)
        key = (series.column, series.block, series.workload, parameters, series.metric)
        if key in keys:
            raise ImportProblem(
                f"{series.workload} {series.metric} is twice in one block of {series.column}, in two units",
                where=series.source,
                todo="remove the figures in one of the units from the file",
            )
        keys.add(key)
        if not len(series.values) or not (np.abs(series.values) < _TOO_LARGE).all():
            raise ImportProblem(
                f"{series.workload} {series.metric} has a value that is not a number, or is too large",
                where=series.source,
                todo="correct the value, or remove it from the file",
            )
    for row in (row for table in imported.tables for row in table.rows):
        figures = [figure for cell in row.cells for figure in (cell.value, cell.gain, cell.spread_percent)]
        if not all(figure is None or abs(figure) < _TOO_LARGE for figure in figures):
            raise ImportProblem(
                f"{row.operation} {row.label} has a figure that is not a number, or is too large",
                where=f"{imported.source}:{row.line}",
                todo="correct the figure, or remove the row from the file",
            )
    return cleaned


def _is_printable(imported: Import) -> bool:
    """Return whether :func:`_printable` would change nothing in an import of samples alone: there may be 100,000
    series, which share most of their texts."""
    texts = {imported.format, imported.source, *imported.notes, *imported.columns}
    texts |= {*imported.understood}
    texts |= {text for origin in imported.origins.values() for text in (origin.kernel, origin.host)}
    for series in (*imported.series, *imported.undirected):
        texts |= {series.column, series.workload, series.metric, series.unit, series.source, series.label}
        for name, value in series.parameters.items():
            texts |= {name, value} if isinstance(value, str) else {name}
    return not imported.tables and all(map(str.isprintable, texts))


def _printable(value: Any) -> Any:
    """Return the value with :func:`showable` applied to all its texts."""
    if isinstance(value, str):
        return showable(value)
    if isinstance(value, tuple):
        return tuple(map(_printable, value))
    if isinstance(value, Mapping):
        return {showable(key): _printable(each) for key, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: _printable(getattr(value, field.name)) for field in fields(value)})
    return value


def _names(imported: Import) -> Iterator[str]:
    yield from imported.columns
    for series in imported.series:
        yield from (series.workload, series.metric, series.unit, series.label, *series.parameters)
    for table in imported.tables:
        yield from (table.title, table.workload, *table.columns)
        for row in table.rows:
            yield from (row.operation, row.label, row.unit, *row.parameters)


def require_name(name: str, where: str) -> None:
    """Raise ImportProblem for a name that is too long or has characters that cannot be printed."""
    if len(name) > _LONGEST_NAME or not name.isprintable():
        raise ImportProblem(
            f'a name has {len(name)} characters or cannot be printed: "{name[:40]}…"',
            where=where,
            todo=f"names are printable and have at most {_LONGEST_NAME} characters",
        )


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names with a number after each repeated name."""
    counts: dict[str, int] = {}
    numbered = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        numbered.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return tuple(numbered) if len(set(numbered)) == len(numbered) else unique(numbered)


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
    for name in names.values():
        require_name(name, "--name")
    new_names = [names.get(name, name) for name in columns_of(imports)]
    if repeated := {name for name in new_names if new_names.count(name) > 1}:
        message = f"two columns would be called {', '.join(sorted(repeated))}"
        raise ImportProblem(message, todo="give the columns different names")

    def all_renamed(columns: Sequence[str]) -> tuple[str, ...]:
        return tuple(names.get(name, name) for name in columns)

    return [
        replace(
            imported,
            columns=all_renamed(imported.columns),
            series=_in_columns(imported.series, names),
            undirected=_in_columns(imported.undirected, names),
            tables=tuple(replace(table, columns=all_renamed(table.columns)) for table in imported.tables),
            origins={names.get(name, name): origin for name, origin in imported.origins.items()},
        )
        for imported in imports
    ]


def _in_columns(series: Sequence[Series], names: Mapping[str, str]) -> tuple[Series, ...]:
    return tuple(replace(each, column=names.get(each.column, each.column)) for each in series)


def with_baseline(imports: Sequence[Import], name: str) -> list[Import]:
    """Return the imports with this column as the baseline: first among the samples, and of every table that has it."""
    if name not in columns_of(imports):
        raise ImportProblem(f"no column is called {name!r}", todo=f"there are: {', '.join(columns_of(imports))}")
    changed = [
        replace(
            imported,
            columns=tuple(sorted(imported.columns, key=lambda column: column != name)),
            tables=tuple(
                replace(table, baseline=table.columns.index(name)) if name in table.columns else table
                for table in imported.tables
            ),
        )
        for imported in imports
    ]
    return sorted(changed, key=lambda imported: name not in imported.columns)


def with_directions(imports: Sequence[Import], directions: Mapping[str, Direction]) -> list[Import]:
    """Return the imports with these directions of metrics (of samples) and operations (of tables).

    Samples whose direction nothing stated become part of the import.
    """
    metrics = {series.metric for imported in imports for series in (*imported.series, *imported.undirected)}
    metrics |= {row.operation for imported in imports for table in imported.tables for row in table.rows}
    if unknown := sorted(directions.keys() - metrics):
        message = f"no metric is called {', '.join(unknown)}"
        raise ImportProblem(message, todo=f"there are: {', '.join(sorted(metrics)[:20])}")
    return [_in_directions(imported, directions) for imported in imports]


def _in_directions(imported: Import, directions: Mapping[str, Direction]) -> Import:
    stated = [series for series in imported.undirected if series.metric in directions]
    changed = replace(
        imported,
        series=tuple(
            replace(series, direction=directions.get(series.metric, series.direction))
            for series in (*imported.series, *stated)
        ),
        undirected=tuple(series for series in imported.undirected if series.metric not in directions),
        tables=tuple(_with_directions(table, directions) for table in imported.tables),
    )
    return checked(changed) if stated else changed


def directed(imported: Import) -> Import:
    """Return the checked import without samples of unknown direction, with a note that names their metrics.

    ImportProblem if nothing else is left.
    """
    if not imported.undirected:
        return imported
    metrics = list(dict.fromkeys(series.metric for series in imported.undirected))
    listed = ", ".join(metrics[:_MOST_LISTED]) + (
        f" and {len(metrics) - _MOST_LISTED} more" * (len(metrics) > _MOST_LISTED)
    )
    unknown, todo = "it is not known which direction is better", "state --lower METRIC or --higher METRIC"
    if not imported.series and not imported.tables:
        raise ImportProblem(f"{unknown} for {listed}", where=imported.source, todo=todo)
    note = f"left out, as {unknown}: {listed}; {todo}"
    present = {series.column for series in imported.series}
    columns = tuple(name for name in imported.columns if name in present)
    return checked(replace(imported, columns=columns, notes=(*imported.notes, note), undirected=()))


def _with_directions(table: Table, directions: Mapping[str, Direction]) -> Table:
    rows = (replace(row, direction=directions.get(row.operation, row.direction)) for row in table.rows)
    return replace(table, rows=tuple(rows))


def by_column(imported: Import) -> list[Import]:
    """Return an import for each column of samples, with its own source, and one for the printed tables.

    A column has the notes on its files and on no file: otherwise each of 10,000 columns would repeat all notes.
    """
    if len(imported.columns) + bool(imported.tables) < 2:
        return [replace(imported, notes=condensed(imported.notes))]
    parts, sources = [], {series.source for series in imported.series}
    on_file: dict[str, list[str]] = {}
    for note in imported.notes:
        on_file.setdefault(source if (source := _file_of(note)) in sources else "", []).append(note)
    for column, of_column in imported.by_column().items():
        files = dict.fromkeys(series.source for series in of_column)
        origin = os.path.commonpath([os.path.abspath(file) for file in files])
        notes = condensed([note for file in ("", *files) for note in on_file.get(file, ())])
        part = replace(imported, source=origin, columns=(column,), series=tuple(of_column), tables=(), notes=notes)
        parts.append(part)
    tables = replace(imported, columns=(), series=(), notes=condensed(imported.notes))
    return [*parts, *([tables] if imported.tables else [])]


def condensed(notes: Sequence[str]) -> tuple[str, ...]:
    """Return the notes in their order, equal notes on many files as one note, and at most :data:`MOST_NOTES`."""
    files: dict[str, list[str]] = {}
    for note in notes:
        files.setdefault(_remark_of(note), []).append(note)
    short: list[str] = []
    for remark, alike in files.items():
        first = _file_of(alike[0])
        is_one = first and len(alike) > MOST_ALIKE
        short += [f"{first} and {len(alike) - 1:,} more: {remark}"] if is_one else alike
    rest = len(short) - MOST_NOTES
    return tuple(short) if rest <= 0 else (*short[:MOST_NOTES], f"and {rest:,} more notes (--dry-run --format json)")


def _file_of(note: str) -> str:
    """Return the file that a note begins with; empty for other notes."""
    place, colon, _ = note.partition(": ")
    return re.sub(r":\d+$", "", place) if colon else ""


def _remark_of(note: str) -> str:
    """Return a note without the file that it begins with."""
    return note.partition(": ")[2] or note
