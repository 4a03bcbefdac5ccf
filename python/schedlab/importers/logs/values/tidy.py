"""A measurement a row: who was measured and what stands in columns of their own, beside one figure or several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schedlab.importers.logs.base import Log, Parameters, Reading, Samples
from schedlab.importers.logs.values.grid import Grid, Row, is_missing, number
from schedlab.importers.logs.values.metrics import Metrics, said_direction
from schedlab.importers.logs.values.roles import Roles
from schedlab.importers.logs.words import direction_of
from schedlab.units import counted

WORKLOAD = "csv"
"""Where no column names a workload."""

_TOLD = ("workload", "metric", "unit", "direction", "variant", "block")


def figures(grid: Grid, roles: Roles) -> list[int]:
    """The columns that hold figures: the one called ``value``, else all whose name says so, else all numbers.

    Where nothing else is left, ``sample`` may hold the samples instead of counting them.
    """
    if "value" in roles.single:
        return [roles.single["value"]]
    telling = [index for index in roles.numeric if direction_of(grid.names[index])]
    if telling or roles.numeric:
        return telling or list(roles.numeric)
    counting = roles.single.get("index")
    is_count = counting is None or all((number(cell) or 0.0).is_integer() for cell in grid.column(counting))
    return [] if counting is None or is_count else [counting]


def read(log: Log, grid: Grid, roles: Roles) -> Reading:
    """A sample for each figure of each row. Numbers that are no figures are parameters, as words are."""
    columns = figures(grid, roles)
    if not columns:
        raise log.problem("has no column of figures", 1, "name one 'value', or after what it is (time_ms, throughput)")
    given = sorted({*roles.parameters, *roles.labels, *roles.numeric} - set(columns))
    gathered, missing = gather(grid, columns, [*given, *(roles.single[role] for role in _TOLD if role in roles.single)])
    metrics = Metrics()
    samples = [
        Samples(
            _cell(row, roles, "workload") or WORKLOAD,
            metrics.of(
                _cell(row, roles, "metric") or grid.names[index],
                _cell(row, roles, "unit"),
                said_direction(_cell(row, roles, "direction")),
                f"{_cell(row, roles, 'workload')} {log.column}",
            ),
            parameters_of(grid, row, given),
            found,
            _cell(row, roles, "variant"),
            _block(row, roles),
        )
        for row, index, found in gathered
    ]
    if not samples:
        raise log.problem("has no figures, all are missing", 1)
    return Reading(samples, notes=[*missing_values(log, missing), *metrics.notes(log.name)])


def gather(
    grid: Grid, columns: Sequence[int], telling: Sequence[int]
) -> tuple[list[tuple[Row, int, list[float]]], int]:
    """The figures of rows that are alike in the ``telling`` columns, for each of ``columns``; and how many are missing.

    Rows are in the order of the first of each kind, which stands for the others.
    """
    found: dict[tuple[object, ...], tuple[Row, int, list[float]]] = {}
    missing = 0
    for row in grid.rows:
        told = [row.cells[index] for index in telling]
        for index in columns:
            value = number(row.cells[index])
            if value is None:
                missing += 1
            else:
                found.setdefault((index, *told), (row, index, []))[2].append(value)
    return list(found.values()), missing


def missing_values(log: Log, missing: int) -> Iterator[str]:
    """The note on cells that are empty or say that there is nothing."""
    if missing:
        yield f"{log.name}: {counted(missing, 'value is', 'values are')} missing"


def parameters_of(grid: Grid, row: Row, indices: Sequence[int]) -> Parameters:
    """The cells of these columns by name, numbers as such; ``param:`` before a name is pytest-benchmark's."""
    found: dict[str, str | int | float] = {}
    for index in indices:
        cell = row.cells[index]
        if not is_missing(cell):
            value = number(cell)
            whole = value is not None and value.is_integer() and abs(value) < 1 << 53
            name = grid.names[index].removeprefix("param:")
            found[name] = int(value or 0) if whole else cell if value is None else value
    return found


def _cell(row: Row, roles: Roles, role: str) -> str:
    index = roles.single.get(role)
    return "" if index is None or is_missing(row.cells[index]) else row.cells[index]


def _block(row: Row, roles: Roles) -> int:
    value = number(_cell(row, roles, "block"))
    return int(value) if value is not None and value.is_integer() and 1 <= value < 1 << 31 else 1
