"""Printed summaries, one a row (``name,min,max,mean,stddev,rounds``): a table, as there are no samples.

So pytest-benchmark (``--benchmark-csv``) and hyperfine (``--export-csv``) write them, both in seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from schedlab.importers.logs.base import Log, Reading
from schedlab.importers.logs.pytest_benchmark import identity
from schedlab.importers.logs.values.grid import Grid, Row, number
from schedlab.importers.logs.values.roles import Roles, plain
from schedlab.importers.logs.values.tidy import parameters_of
from schedlab.importers.logs.words import direction_of, unit_of
from schedlab.results import Cell, Direction, Table, TableRow

_NAMES = {
    "mean": "mean average avg amean arithmetic_mean",
    "median": "median med p50",
    "min": "min minimum best fastest",
    "max": "max maximum worst slowest",
    "stddev": "stddev std stdev sd std_dev standard_deviation sigma error",
    "stderr": "stderr sem standard_error se",
    "n": "n rounds count samples runs repeats iterations_total num_samples",
}
_STATISTICS = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_IGNORED = {"iqr", "outliers", "iterations", "q1", "q3", "ld15iqr", "hd15iqr", "stddev_outliers", "iqr_outliers"}
"""Columns of pytest-benchmark that a table has no place for."""

_PYTEST, _HYPERFINE = {"rounds", "iterations", "ops"}, {"command", "user", "system"}


@dataclass(frozen=True)
class _Columns:
    """Indices of the statistics by kind, of other figures by name, and what the file is for."""

    statistics: Mapping[str, int]
    others: Mapping[str, int]
    ignored: Sequence[str]
    seconds: bool


def is_summary(grid: Grid, roles: Roles) -> bool:
    """Whether rows hold a mean or median beside another statistic."""
    kinds = {_STATISTICS.get(plain(name)) for name in grid.names} - {None}
    return bool({"mean", "median"} & kinds) and len(kinds) > 1 and "value" not in roles.single


def read(log: Log, grid: Grid, roles: Roles) -> Reading:
    """A table: rows are benchmarks and their statistics; columns are variants, or the file's own."""
    columns = _columns(grid, roles)
    names = list(dict.fromkeys(name for name, _ in _by_variant(log, grid, roles)))
    held: dict[tuple[str, str], dict[str, Row]] = {}
    for variant, row in _by_variant(log, grid, roles):
        held.setdefault(_key(grid, roles, row), {})[variant] = row
    rows = [row for key, found in held.items() for row in _rows(grid, roles, columns, key, names, found)]
    source = "pytest-benchmark" if set(map(plain, grid.names)) >= _PYTEST else "hyperfine" if columns.seconds else ""
    table = Table("summaries", f"{source} summaries".strip(), source, tuple(names), tuple(rows), 1, gains="change")
    notes = [f"{log.name}: left out: columns {', '.join(columns.ignored)}"] if columns.ignored else []
    if any(row.direction is None for row in rows):
        notes.append(f"{log.name}: nothing tells whether less or more is better")
    return Reading(tables=[table], notes=notes)


def _columns(grid: Grid, roles: Roles) -> _Columns:
    statistics: dict[str, int] = {}
    others: dict[str, int] = {}
    ignored: list[str] = []
    for index, name in enumerate(grid.names):
        kind = _STATISTICS.get(plain(name))
        if kind and kind not in statistics and grid.is_numeric(index):
            statistics[kind] = index
        elif index in roles.numeric and plain(name) not in _IGNORED:
            others[name] = index
        elif plain(name) in _IGNORED:
            ignored.append(name)
    words = set(map(plain, grid.names))
    return _Columns(statistics, others, ignored, words >= _PYTEST or words >= _HYPERFINE)


def _by_variant(log: Log, grid: Grid, roles: Roles) -> Iterator[tuple[str, Row]]:
    """Each row with its column: its variant, or the how manieth row of the same benchmark it is."""
    seen: dict[tuple[str, str], int] = {}
    keys = [_key(grid, roles, row) for row in grid.rows]
    repeated = len(set(keys)) < len(keys)
    for key, row in zip(keys, grid.rows, strict=True):
        seen[key] = seen.get(key, 0) + 1
        if "variant" in roles.single:
            yield row.cells[roles.single["variant"]], row
        else:
            yield (f"{log.column} {seen[key]}" if repeated else log.column), row


def _key(grid: Grid, roles: Roles, row: Row) -> tuple[str, str]:
    """What was measured: name and parameters."""
    index = roles.single.get("workload")
    name = row.cells[index] if index is not None else ""
    return name, str(sorted(parameters_of(grid, row, _given(grid, roles)).items()))


def _given(grid: Grid, roles: Roles) -> list[int]:
    labels = [index for index in roles.labels if plain(grid.names[index]) not in _IGNORED]
    metric = [roles.single["metric"]] if "metric" in roles.single else []
    return sorted({*roles.parameters, *labels, *metric})


def _rows(
    grid: Grid, roles: Roles, columns: _Columns, key: tuple[str, str], names: Sequence[str], found: Mapping[str, Row]
) -> Iterator[TableRow]:
    first = next(iter(found.values()))
    workload, given = identity(key[0], parameters_of(grid, first, _given(grid, roles)))
    parameters = ({"benchmark": workload} if workload else {}) | dict(given)
    figures = {kind: index for kind, index in columns.statistics.items() if kind not in ("n", "stderr")} | dict(
        columns.others
    )
    for operation, index in figures.items():
        unit, direction = _scale(grid, roles, columns, first, operation, index)
        cells = tuple(
            _cell(columns, found[name], operation, index) if name in found else Cell(None, "-") for name in names
        )
        yield TableRow(operation, key[0], parameters, unit, direction, cells, first.line)


def _scale(
    grid: Grid, roles: Roles, columns: _Columns, row: Row, operation: str, index: int
) -> tuple[str, Direction | None]:
    if operation in columns.others and (told := direction_of(operation)):
        unit = unit_of(operation)[1]
        return unit or ("s" if columns.seconds and told == "lower" else "1/s" if columns.seconds else ""), told
    if columns.seconds:
        return "s", "lower"
    words = [row.cells[roles.single[role]] for role in ("metric", "unit") if role in roles.single]
    unit = unit_of(grid.names[index])[1] or (words[-1] if "unit" in roles.single else "")
    return unit, direction_of(*words, unit, row.cells[roles.single["workload"]] if "workload" in roles.single else "")


def _cell(columns: _Columns, row: Row, operation: str, index: int) -> Cell:
    value = number(row.cells[index])
    if value is None:
        return Cell(None, row.cells[index] or "-")
    if operation != "mean":
        return Cell(value, row.cells[index])

    def statistic(kind: str) -> float | None:
        return number(row.cells[columns.statistics[kind]]) if kind in columns.statistics else None

    deviation, error, n = statistic("stddev"), statistic("stderr"), statistic("n")
    spread = deviation if deviation is not None else error
    known = spread is not None and value != 0
    return Cell(
        value,
        row.cells[index],
        spread_percent=100 * (spread or 0.0) / abs(value) if known else None,
        spread_kind=("standard deviation" if deviation is not None else "standard error") if known else "",
        n=int(n) if n is not None and 0 < n < 1 << 53 else None,
    )
