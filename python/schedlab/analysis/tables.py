"""Printed tables looked through: every gain, printed or following from the values, and what their spreads can tell."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from schedlab.analysis.gains import Recomputed, SummaryTest, recompute, summary_test
from schedlab.results import Cell, Table, TableRow


@dataclass(frozen=True)
class Gain:
    """How a cell differs from the baseline's, in per cent and signed as the table says.

    ``printed`` is the source's own figure, None where it gives none; ``recomputed`` follows from the values as printed,
    None where they do not allow it. ``agrees``: rounding explains the difference of the two; None without both.
    ``test`` is Welch's on the printed figures where n and spread are printed, not corrected for the number of rows.
    """

    printed: float | None = None
    recomputed: float | None = None
    agrees: bool | None = None
    test: SummaryTest | None = None


@dataclass(frozen=True)
class Checked:
    """A table with a gain for each row and column (None for the baseline's, and where nothing follows)."""

    table: Table
    gains: tuple[tuple[Gain | None, ...], ...]
    disagreements: tuple[Recomputed, ...]


def check(table: Table, baseline: str = "") -> Checked:
    """Look a table through; with another ``baseline`` than its own the printed gains, being of that, are left out."""
    if baseline in table.columns and table.columns[table.baseline] != baseline:
        table = _rebased(table, table.columns.index(baseline))
    found = recompute(table)
    by_cell = {(one.line, one.row, one.column): one for one in found}
    gains = tuple(
        tuple(
            None if k == table.baseline else _gain(table, row, k, by_cell.get((row.line, _name(row), column)))
            for k, column in enumerate(table.columns)
        )
        for row in table.rows
    )
    return Checked(table, gains, tuple(one for one in found if not one.agrees))


@dataclass(frozen=True)
class Lone:
    """A row that not all sources have, and their names that lack it."""

    row: TableRow
    workload: str
    missing: tuple[str, ...]


def beside(sources: Mapping[str, Sequence[Table]]) -> tuple[list[Table], list[Lone]]:
    """Tables of several sources as one for each workload: columns side by side, rows by what is printed of them.

    Rows are the same when workload, operation, label, parameters and unit are; of a row that a source prints several
    times the first is that of the others' first, and so on. Printed gains are left out: they are of other baselines.
    A column's name that several sources have is told apart by the source's. Rows that a source lacks are given too.
    """
    held = {name: _rows(tables) for name, tables in sources.items()}
    keys = list(dict.fromkeys(key for rows in held.values() for key in rows))
    names = _column_names(sources)
    merged: dict[str, list[TableRow]] = {}
    lone = []
    for key in keys:
        having = [name for name in sources if key in held[name]]
        first = held[having[0]][key][1]
        if len(having) < len(sources):
            lone.append(Lone(first, key[0], tuple(name for name in sources if name not in having)))
        if len(having) > 1:
            merged.setdefault(key[0], []).append(replace(first, cells=_cells(key, held, names)))
    columns = tuple(column for of_source in names.values() for column in of_source.values())
    tables = [
        Table("beside", workload, workload, columns, tuple(rows), rows[0].line) for workload, rows in merged.items()
    ]
    return tables, lone


_Key = tuple[str, str, str, str, str, int]


def _rows(tables: Sequence[Table]) -> dict[_Key, tuple[Table, TableRow]]:
    seen: Counter[tuple[str, str, str, str, str]] = Counter()
    rows: dict[_Key, tuple[Table, TableRow]] = {}
    for table in tables:
        for row in table.rows:
            parameters = json.dumps(dict(row.parameters), sort_keys=True)
            what = (table.workload, row.operation, row.label, parameters, row.unit)
            rows[(*what, seen[what])] = (table, row)
            seen[what] += 1
    return rows


def _column_names(sources: Mapping[str, Sequence[Table]]) -> dict[str, dict[str, str]]:
    """For each source, what its columns are called beside the others'."""
    own = {
        name: list(dict.fromkeys(column for table in tables for column in table.columns))
        for name, tables in sources.items()
    }
    counts = Counter(column for columns in own.values() for column in columns)
    return {
        name: {column: f"{name}:{column}" if counts[column] > 1 else column for column in columns}
        for name, columns in own.items()
    }


def _cells(
    key: _Key, held: Mapping[str, Mapping[_Key, tuple[Table, TableRow]]], names: Mapping[str, Mapping[str, str]]
) -> tuple[Cell, ...]:
    cells = []
    for name, columns in names.items():
        found = held[name].get(key)
        for column in columns:
            if found is None or column not in found[0].columns:
                cells.append(Cell(None))
            else:
                cells.append(_bare(found[1].cells[found[0].columns.index(column)]))
    return tuple(cells)


def _rebased(table: Table, baseline: int) -> Table:
    rows = tuple(replace(row, cells=tuple(map(_bare, row.cells))) for row in table.rows)
    return replace(table, rows=rows, baseline=baseline)


def _bare(cell: Cell) -> Cell:
    """The cell without its gain and star, which are about another baseline."""
    return replace(cell, gain=None, gain_text="", star=None)


def _name(row: TableRow) -> str:
    return f"{row.operation} {row.label}".strip()


def _gain(table: Table, row: TableRow, k: int, found: Recomputed | None) -> Gain | None:
    base, cell = row.cells[table.baseline], row.cells[k]
    test = summary_test(base, cell)
    if cell.gain is not None:
        return Gain(cell.gain, found.recomputed if found else None, found.agrees if found else None, test)
    if row.direction is None or not base.value or cell.value is None:
        return Gain(test=test) if test else None
    return Gain(recomputed=change(base.value, cell.value, row.direction, table.gains), test=test)


def change(
    base: float, value: float, direction: Literal["lower", "higher"], gains: Literal["improvement", "change"]
) -> float:
    """Per cent by which a value differs: positive where it is better, or with ``gains="change"`` where it is larger."""
    sign = -1 if gains == "improvement" and direction == "lower" else 1
    return sign * (100 * value / base - 100)
