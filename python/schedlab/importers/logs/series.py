"""From what readers found in logs to one Import: rows joined, files of a column as its blocks, tables side by side."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from schedlab.importers.logs.base import Reading, Samples
from schedlab.results import Cell, Import, Series, Table, TableRow

Key = tuple[str, str, str, str, str, str]
"""Column, workload, metric, unit, direction and parameters (JSON)."""


@dataclass(frozen=True)
class ReadLog:
    """A log that was read: the reader's name, the file, its column, and what it held."""

    format: str
    source: str
    column: str
    reading: Reading


def to_import(logs: Sequence[ReadLog], source: str, notes: Sequence[str] = ()) -> Import:
    """One Import of all logs. A row that several files of one column hold has a block for each of them.

    ``Import.tables`` are joined: those of the same layout and workload stand side by side as columns of one table.
    """
    series = list(_series(logs))
    return Import(
        format=", ".join(dict.fromkeys(log.format for log in logs)),
        source=source,
        columns=tuple(dict.fromkeys(one.column for one in series)),
        series=tuple(series),
        tables=tuple(join_tables([table for log in logs for table in log.reading.tables])),
        notes=(*notes, *dict.fromkeys(note for log in logs for note in log.reading.notes)),
    )


def _series(logs: Iterable[ReadLog]) -> Iterator[Series]:
    blocks: dict[Key, int] = {}
    for log in logs:
        found: dict[tuple[Key, int], list[Samples]] = {}
        for one in log.reading.samples:
            found.setdefault((_key(log, one), one.block), []).append(one)
        most: dict[Key, int] = {}
        for (key, block), samples in found.items():
            most[key] = max(most.get(key, 0), block)
            yield _joined(log, samples, blocks.get(key, 0) + block)
        for key, used in most.items():
            blocks[key] = blocks.get(key, 0) + used


def _key(log: ReadLog, one: Samples) -> Key:
    parameters = json.dumps(dict(one.parameters), sort_keys=True)
    return one.column or log.column, one.workload, one.metric.name, one.metric.unit, one.metric.direction, parameters


def _joined(log: ReadLog, samples: Sequence[Samples], block: int) -> Series:
    first = samples[0]
    return Series(
        column=first.column or log.column,
        workload=first.workload,
        metric=first.metric.name,
        unit=first.metric.unit,
        direction=first.metric.direction,
        parameters=first.parameters,
        values=np.concatenate([np.asarray(one.values, np.float64) for one in samples]),
        source=log.source,
        block=block,
    )


def join_tables(tables: Sequence[Table]) -> list[Table]:
    """Tables of one layout and workload as one, a column for each of theirs; a row that one lacks is missing there."""
    groups: dict[tuple[str, str, str], list[Table]] = {}
    for table in tables:
        groups.setdefault((table.layout, table.workload, table.title), []).append(table)
    return [_beside(group) if len(group) > 1 else group[0] for group in groups.values()]


RowKey = tuple[str, str, str, str]


def _beside(tables: Sequence[Table]) -> Table:
    columns = _unique([column for table in tables for column in table.columns])
    rows: dict[RowKey, TableRow] = {}
    cells: dict[RowKey, dict[int, Cell]] = {}
    start = 0
    for table in tables:
        for row in table.rows:
            key = _row_key(row)
            rows.setdefault(key, row)
            cells.setdefault(key, {}).update(enumerate(row.cells, start))
        start += len(table.columns)
    lacking = Cell(None, "-")
    joined = tuple(
        replace(row, cells=tuple(cells[key].get(index, lacking) for index in range(start))) for key, row in rows.items()
    )
    return replace(tables[0], columns=tuple(columns), rows=joined)


def _row_key(row: TableRow) -> RowKey:
    return row.operation, row.label, row.unit, _plain(row.parameters)


def _plain(parameters: Mapping[str, object]) -> str:
    return json.dumps(dict(parameters), sort_keys=True)


def _unique(names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        number, fresh = 2, name
        while fresh in found:
            number, fresh = number + 1, f"{name} ({number})"
        found.append(fresh)
    return found
