"""Checks of printed tables: every gain, printed or computed from the values, and tests from printed spreads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from schedlab.analysis.gains import Recomputed, SummaryTest, difference, recompute, relative_change, summary_test
from schedlab.results.imported import Cell, Table, TableRow


@dataclass(frozen=True)
class Gain:
    """The change of a cell against the baseline's cell, in per cent and signed as in the table.

    Attributes:
        printed: the change that the source prints, or None.
        recomputed: the change computed from the values as printed, or None.
        difference: to the baseline's cell, if the change is not a ratio, otherwise None.
        agrees: whether rounding explains the difference of the two changes; None if either is None.
        test: Welch's test on the printed figures, if n and spread are printed; not corrected for the number of rows.
    """

    printed: float | None = None
    recomputed: float | None = None
    difference: float | None = None
    agrees: bool | None = None
    test: SummaryTest | None = None


@dataclass(frozen=True)
class Checked:
    """A table with a gain for each row and column; None for the baseline and for cells without a gain."""

    table: Table
    gains: tuple[tuple[Gain | None, ...], ...]
    disagreements: tuple[Recomputed, ...]


def check(table: Table, baseline: str = "") -> Checked:
    """Check a table. If ``baseline`` is not the printed baseline, the printed gains are left out."""
    if baseline in table.columns and table.columns[table.baseline] != baseline:
        table = _rebased(table, table.columns.index(baseline))
    changes = recompute(table)
    by_cell = {(change.line, change.row, change.column): change for change in changes}
    gains = tuple(
        tuple(
            None if k == table.baseline else _gain(table, row, k, by_cell.get((row.line, _name(row), column)))
            for k, column in enumerate(table.columns)
        )
        for row in table.rows
    )
    return Checked(table, gains, tuple(change for change in changes if not change.agrees))


@dataclass(frozen=True)
class IncompleteRow:
    """A row that some sources lack; ``missing`` are the names of these sources."""

    row: TableRow
    workload: str
    missing: tuple[str, ...]


def side_by_side(sources: Mapping[str, Sequence[Table]]) -> tuple[list[Table], list[IncompleteRow]]:
    """Merge the tables of several sources into one table for each workload, with the columns of all sources.

    Rows match if workload, operation, label, parameters and unit are the same. If a source prints a row several times,
    its first occurrence matches the first occurrence in the other sources, its second the second, and so on. Printed
    gains are left out, as their baselines differ. Column names that occur in several sources get the source's name as a
    prefix.

    Returns:
        The tables, and the rows that some sources lack.
    """
    rows_of = {name: _rows(tables) for name, tables in sources.items()}
    keys = list(dict.fromkeys(key for rows in rows_of.values() for key in rows))
    names = _column_names(sources)
    merged: dict[str, list[TableRow]] = {}
    incomplete = []
    for key in keys:
        complete = [name for name in sources if key in rows_of[name]]
        first = rows_of[complete[0]][key][1]
        if len(complete) < len(sources):
            missing = tuple(name for name in sources if name not in complete)
            incomplete.append(IncompleteRow(first, key[0], missing))
        if len(complete) > 1:
            merged.setdefault(key[0], []).append(replace(first, cells=_cells(key, rows_of, names)))
    columns = tuple(column for source_names in names.values() for column in source_names.values())
    tables = [
        Table("beside", workload, workload, columns, tuple(rows), rows[0].line) for workload, rows in merged.items()
    ]
    return tables, incomplete


_Key = tuple[str, str, str, str, str, int]


def _rows(tables: Sequence[Table]) -> dict[_Key, tuple[Table, TableRow]]:
    occurrences: Counter[tuple[str, str, str, str, str]] = Counter()
    rows: dict[_Key, tuple[Table, TableRow]] = {}
    for table in tables:
        for row in table.rows:
            parameters = json.dumps(dict(row.parameters), sort_keys=True)
            identity = (table.workload, row.operation, row.label, parameters, row.unit)
            rows[(*identity, occurrences[identity])] = (table, row)
            occurrences[identity] += 1
    return rows


def _column_names(sources: Mapping[str, Sequence[Table]]) -> dict[str, dict[str, str]]:
    """Return for each source the unambiguous names of its columns."""
    columns_of = {
        name: list(dict.fromkeys(column for table in tables for column in table.columns))
        for name, tables in sources.items()
    }
    counts = Counter(column for columns in columns_of.values() for column in columns)
    return {
        name: {column: f"{name}:{column}" if counts[column] > 1 else column for column in columns}
        for name, columns in columns_of.items()
    }


def _cells(
    key: _Key, rows_of: Mapping[str, Mapping[_Key, tuple[Table, TableRow]]], names: Mapping[str, Mapping[str, str]]
) -> tuple[Cell, ...]:
    cells = []
    for name, columns in names.items():
        table, row = rows_of[name].get(key, (None, None))
        for column in columns:
            if table is None or row is None or column not in table.columns:
                cells.append(Cell(None))
            else:
                cells.append(_without_gain(row.cells[table.columns.index(column)]))
    return tuple(cells)


def _rebased(table: Table, baseline: int) -> Table:
    rows = tuple(replace(row, cells=tuple(map(_without_gain, row.cells))) for row in table.rows)
    return replace(table, rows=rows, baseline=baseline)


def _without_gain(cell: Cell) -> Cell:
    """Return the cell without its gain and star, which refer to another baseline."""
    return replace(cell, gain=None, gain_text="", star=None)


def _name(row: TableRow) -> str:
    return f"{row.operation} {row.label}".strip()


def _gain(table: Table, row: TableRow, k: int, recomputed: Recomputed | None) -> Gain | None:
    base, cell = row.cells[table.baseline], row.cells[k]
    test = summary_test(base, cell)
    if cell.gain is not None:
        if recomputed is None:
            return Gain(cell.gain, test=test)
        return Gain(cell.gain, recomputed.recomputed, agrees=recomputed.agrees, test=test)
    if row.direction is None or base.value is None or cell.value is None:
        return Gain(test=test) if test else None
    negate = table.gains == "improvement" and row.direction == "lower"
    return Gain(
        recomputed=relative_change(base.value, cell.value, negate=negate),
        difference=difference(base.value, cell.value),
        test=test,
    )
