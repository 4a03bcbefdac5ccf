"""Combine the content of logs into one Import: rows joined, files of a column as its blocks, tables side by side."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from schedlab.importers.checks import unique
from schedlab.results.imported import NOT_STATED, Cell, Import, Origin, Series, Table, TableRow
from schedlab.workloads.log_reader import Reading, Samples
from schedlab.workloads.origins import common

Key = tuple[str, str, str, str, str, str]
"""Column, workload, metric, unit, direction and parameters (JSON)."""

_MOST_NAMES = 4
"""Largest number of files that a note names."""


@dataclass(frozen=True)
class ReadLog:
    """A log that was read: name of the reader, path, column, and content."""

    format: str
    source: str
    column: str
    reading: Reading


def to_import(logs: Sequence[ReadLog], source: str, notes: Sequence[str] = ()) -> Import:
    """Return one Import of all logs. A row has one block for each file of its column that contains the row.

    Tables of one layout and workload become columns of one table.
    """
    series = _series(logs, lambda reading: reading.samples)
    undirected = _series(logs, lambda reading: reading.undirected)
    return Import(
        format=", ".join(dict.fromkeys(log.format for log in logs)),
        source=source,
        columns=tuple(dict.fromkeys(row.column for row in (*series, *undirected))),
        series=tuple(series),
        tables=tuple(join_tables([table for log in logs for table in log.reading.tables])),
        notes=(*notes, *_repeats(logs), *dict.fromkeys(note for log in logs for note in log.reading.notes)),
        undirected=tuple(undirected),
        origins=_origins(logs),
    )


def _repeats(logs: Sequence[ReadLog]) -> Iterator[str]:
    """Yield a note for each column whose files have a row in common, and names that differ in more than numbers.

    Numbers count runs: ``run-1.log``, ``run-2.log``. Other names may be of different tests, or of a warm-up.
    """
    sources: dict[Key, dict[str, None]] = {}
    for log in logs:
        for samples in (*log.reading.samples, *log.reading.undirected):
            sources.setdefault(_key(log, samples), {})[log.source] = None
    groups: dict[tuple[str, tuple[str, ...]], Key] = {}
    for key, paths in sources.items():
        if len({re.sub(r"\d+", "#", path) for path in paths}) > 1:
            groups.setdefault((key[0], tuple(paths)), key)
    for (column, files), (_, workload, metric, *_) in groups.items():
        top = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in files])
        names = [os.path.relpath(path, top) for path in files]
        more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        shown = ", ".join(names[:_MOST_NAMES]) + more
        yield (
            f"{column}: {shown} have the same row ({workload} {metric} …), and were read as repeats of one test: "
            "import them by their names if they are different tests"
        )


def _origins(logs: Iterable[ReadLog]) -> dict[str, Origin]:
    """Return the origin of each column, of which all its logs state the kernel and the host."""
    by_column: dict[str, list[Origin]] = {}
    for log in logs:
        samples = (*log.reading.samples, *log.reading.undirected)
        for column in dict.fromkeys(part.column or log.column for part in samples):
            by_column.setdefault(column, []).append(log.reading.origin)
    stated = {column: common(origins) for column, origins in by_column.items()}
    return {column: origin for column, origin in stated.items() if origin != NOT_STATED}


def _series(logs: Iterable[ReadLog], samples_of: Callable[[Reading], Sequence[Samples]]) -> list[Series]:
    series, blocks = list[Series](), dict[Key, int]()
    for log in logs:
        rows: dict[tuple[Key, int], list[Samples]] = {}
        for samples in samples_of(log.reading):
            rows.setdefault((_key(log, samples), samples.block), []).append(samples)
        last_block: dict[Key, int] = {}
        for (key, block), parts in rows.items():
            last_block[key] = max(last_block.get(key, 0), block)
            series.append(_joined(log, parts, blocks.get(key, 0) + block))
        for key, used in last_block.items():
            blocks[key] = blocks.get(key, 0) + used
    return series


def _key(log: ReadLog, samples: Samples) -> Key:
    metric, parameters = samples.metric, json.dumps(dict(samples.parameters), sort_keys=True)
    return samples.column or log.column, samples.workload, metric.name, metric.unit, metric.direction, parameters


def _joined(log: ReadLog, parts: Sequence[Samples], block: int) -> Series:
    first = parts[0]
    return Series(
        column=first.column or log.column,
        workload=first.workload,
        metric=first.metric.name,
        unit=first.metric.unit,
        direction=first.metric.direction,
        parameters=first.parameters,
        values=np.concatenate([np.asarray(part.values, np.float64) for part in parts]),
        source=log.source,
        block=block,
    )


def join_tables(tables: Sequence[Table]) -> list[Table]:
    """Join tables of one layout, workload and title side by side; a table that lacks a row has missing cells in the
    row."""
    groups: dict[tuple[str, str, str], list[Table]] = {}
    for table in tables:
        groups.setdefault((table.layout, table.workload, table.title), []).append(table)
    return [_beside(group) if len(group) > 1 else group[0] for group in groups.values()]


RowKey = tuple[str, str, str, str]


def _beside(tables: Sequence[Table]) -> Table:
    columns = unique([column for table in tables for column in table.columns])
    rows: dict[RowKey, TableRow] = {}
    cells: dict[RowKey, dict[int, Cell]] = {}
    start = 0
    for table in tables:
        for row in table.rows:
            key = _row_key(row)
            rows.setdefault(key, row)
            cells.setdefault(key, {}).update(enumerate(row.cells, start))
        start += len(table.columns)
    missing = Cell(None, "-")
    joined = tuple(
        replace(row, cells=tuple(cells[key].get(index, missing) for index in range(start))) for key, row in rows.items()
    )
    return replace(tables[0], columns=columns, rows=joined)


def _row_key(row: TableRow) -> RowKey:
    return row.operation, row.label, row.unit, json.dumps(dict(row.parameters), sort_keys=True)
