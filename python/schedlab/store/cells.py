"""Cells in the store's form: arrays with a value for each trial, and a checksum for each trial over all arrays."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter
from sqlalchemy import ColumnElement, Connection, Select, select, update

from schedlab.files import packed
from schedlab.store import schema
from schedlab.store.checksums import Damaged, checked, checksum
from schedlab.store.tables import CONDITIONS

Samples = NDArray[np.float64]
DbRow = Mapping[Any, Any]
"""A row of a database table, by column."""

_PARAMETERS = TypeAdapter(dict[str, Any])
_NAMES = TypeAdapter(list[str])

MOST_SAMPLES = packed.MOST // 8
"""Single samples of a run: a reader keeps all of them in memory, 8 bytes each."""

KEY = ("run_id", "phase", "block", "variant", "workload", "parameters")
"""Columns that identify a cell among the cells that were not superseded."""


@dataclass
class StoredCell:
    """A variant in a row within a block.

    Attributes:
        position: index in the plan of the first trial.
        superseded: 1 where the cell was measured again.
        clocksources: JSON list of names.
        conditions: shape (trials, values of :data:`schedlab.store.tables.CONDITIONS`); nan where not observed.
        metrics: (name, unit, direction) → values by iteration; nan where the trial has no value.
    """

    id: int
    run_id: int
    phase: str
    block: int
    variant: str
    workload: str
    parameters: str
    position: int
    superseded: int = 0
    clocksources: str = "[]"
    conditions: Samples = field(default_factory=lambda: np.empty((0, len(CONDITIONS))))
    metrics: dict[tuple[str, str, str], Samples] = field(default_factory=dict)

    @property
    def trials(self) -> int:
        """Number of iterations that have room in the arrays."""
        return len(self.conditions)

    @property
    def measured(self) -> bool:
        """Whether the cell is analysed: no warm-up, and not measured again."""
        return self.phase == "measure" and not self.superseded

    def checksums(self) -> NDArray[np.uint32]:
        """Return a checksum for each trial, over the cell's labels, the trial's conditions and its metrics."""
        labels = sorted(self.metrics)
        values = (*(getattr(self, name) for name in KEY), self.position, self.superseded, self.clocksources, labels)
        start = zlib.crc32(repr(values).encode(errors="surrogatepass"))
        columns = [self.conditions, *(resized(self.metrics[label], len(self.conditions)) for label in labels)]
        table = np.column_stack(columns)
        data, width = table.tobytes(), table.itemsize * table.shape[1]
        sums = (zlib.crc32(data[at : at + width], start) for at in range(0, len(data), width))
        return np.fromiter(sums, "<u4", len(table))

    def row(self) -> dict[str, Any]:
        """Return the cell's row in the table ``cell``."""
        row = {name: getattr(self, name) for name in (*KEY, "position", "superseded", "clocksources")}
        row |= {"conditions": self.conditions.astype("<f8").tobytes(), "checksums": self.checksums().tobytes()}
        metrics = (
            {"cell_id": self.id, "name": name, "unit": unit, "direction": direction, "data": pack(values)}
            for (name, unit, direction), values in self.metrics.items()
        )
        return row | {"checksum": _checksum(row, metrics)}


def pack(values: Iterable[float]) -> bytes:
    """Return values in the store's form: little-endian doubles."""
    return np.fromiter(values, "<f8").tobytes()


def unpack(data: bytes) -> Samples:
    """Return the values of :func:`pack`; ValueError for an impossible number of bytes."""
    return np.frombuffer(data, "<f8").astype(np.float64, copy=False)


def resized(values: Samples, size: int) -> Samples:
    """Return a copy of an array of trials with at least this length; nan in the new places."""
    new = np.full((max(size, len(values)), *values.shape[1:]), np.nan)
    new[: len(values)] = values
    return new


Queries = tuple[Select[Any], Select[Any]]
"""Queries for rows of ``cell``, in the order of the plan, and for their rows of ``metric``."""


def queries(*where: ColumnElement[bool]) -> Queries:
    """Return the queries for cells."""
    c = schema.cell.c
    of_cells = select(schema.cell).where(*where).order_by(c.position, c.id)
    return of_cells, select(schema.metric).join(schema.cell).where(*where)


def read(connection: Connection, *where: ColumnElement[bool]) -> list[StoredCell]:
    """Read and verify cells, in the order of the plan. Raises Damaged, with the trials that changed."""
    return read_by(connection, queries(*where), {})


def read_by(connection: Connection, chosen: Queries, values: Mapping[str, Any]) -> list[StoredCell]:
    """Read and verify cells as :func:`read`, by queries with these values of their parameters."""
    return [_verified(connection, *rows) for rows in _rows(connection, chosen, values)]


def faults(connection: Connection, *where: ColumnElement[bool]) -> Iterator[Damaged]:
    """Yield the damage of each damaged cell."""
    for rows in _rows(connection, queries(*where)):
        try:
            _verified(connection, *rows)
        except Damaged as error:
            yield error


def _rows(
    connection: Connection, chosen: Queries, values: Mapping[str, Any] | None = None
) -> Iterator[tuple[DbRow, list[DbRow]]]:
    """Yield rows of ``cell``, each with its rows of ``metric``."""
    of_cells, of_metrics = chosen
    rows = connection.execute(of_cells, values or {}).mappings().all()
    metrics: dict[int, list[DbRow]] = {}
    if rows:
        for metric in connection.execute(of_metrics, values or {}).mappings():
            metrics.setdefault(metric["cell_id"], []).append(metric)
    return ((row, metrics.get(row["id"], [])) for row in rows)


def _verified(connection: Connection, row: DbRow, metrics: Sequence[DbRow]) -> StoredCell:
    """Return the cell of these rows. The checksums of single trials are compared only to name the damaged trials."""
    try:
        intact = _checksum(row, metrics) == row["checksum"]
        cell = _parsed(row, metrics)
        stored = np.frombuffer(row["checksums"], "<u4")
        if len(stored) != cell.trials:
            raise ValueError("the numbers of checksums and of trials differ")
    except ValueError as error:
        raise _damaged(connection, row, [], str(error)) from error
    if not intact:
        differing = np.flatnonzero(cell.checksums() != stored).tolist()
        raise _damaged(connection, row, differing, "the checksum does not match")
    return cell


def _checksum(row: DbRow, metrics: Iterable[DbRow]) -> int:
    """Return the checksum of a row of ``cell`` and its rows of ``metric``; ValueError as for single rows."""
    of_metrics = sorted(checksum("metric", metric) for metric in metrics)
    return zlib.crc32(repr((checksum("cell", row), of_metrics)).encode(errors="surrogatepass"))


def _parsed(row: DbRow, metrics: Sequence[DbRow]) -> StoredCell:
    """Return the cell of these rows; ValueError for a value that its column cannot contain."""
    _PARAMETERS.validate_json(row["parameters"])
    _NAMES.validate_json(row["clocksources"])
    conditions = unpack(row["conditions"]).reshape(-1, len(CONDITIONS))
    arrays = {(metric["name"], metric["unit"], metric["direction"]): unpack(metric["data"]) for metric in metrics}
    if any(len(values) > len(conditions) for values in arrays.values()):
        raise ValueError("a metric has more values than trials")
    identity = {name: row[name] for name in ("id", *KEY, "position", "superseded", "clocksources")}
    return StoredCell(**identity, conditions=conditions, metrics=arrays)


def _damaged(connection: Connection, row: DbRow, iterations: Sequence[int], reason: str) -> Damaged:
    """Return an error that names the trials of these iterations, or all trials of the cell if no iteration is given."""
    t = schema.trial.c
    query = select(t.position).where(t.cell_id == row["id"]).order_by(t.iteration)
    if iterations:
        query = query.where(t.iteration.in_(iterations))
    positions = [str(position) for position in connection.execute(query).scalars()]
    trials = f"{'trials' if len(positions) > 1 else 'trial'} {', '.join(positions[:10])}"
    trials += f" and {len(positions) - 10} more" if len(positions) > 10 else ""
    verb = "are" if len(positions) > 1 else "is"
    labels = ", ".join(str(row[name]) for name in ("variant", "workload", "parameters"))
    message = f"run {row['run_id']}: {trials} (block {row['block']}, {labels}) {verb} damaged: {reason}"
    return Damaged(message, str(connection.engine.url.database))


def write(connection: Connection, cell: StoredCell) -> None:
    """Write the row of a cell that exists. Its metrics have separate rows."""
    connection.execute(update(schema.cell).where(schema.cell.c.id == cell.id).values(cell.row()))


def unpack_samples(connection: Connection, rows: Iterable[DbRow], name: Callable[[DbRow], str]) -> Iterator[Samples]:
    """Yield the single samples in each of a run's rows of the table ``samples``.

    Raises Damaged, with the ``name`` of the row, if the values changed, if their number is not the row's ``count``, and
    if the run has more than :data:`MOST_SAMPLES`.
    """
    store, room = str(connection.engine.url.database), MOST_SAMPLES
    for row in rows:
        count, data = (checked(store, "samples", row, name(row))[column] for column in ("count", "data"))
        if not 0 <= count <= room:
            reason = f"its count is {count}, but the run can have {room} more samples at most"
            raise Damaged(f"{name(row)} is damaged: {reason}", store)
        room -= count
        try:
            values = unpack(packed.decompress(packed.zlib_format, data, 8 * count))
        except ValueError as error:
            raise Damaged(f"{name(row)} is damaged: {error}", store) from error
        if len(values) != count:
            raise Damaged(f"{name(row)} is damaged: it has {len(values)} samples, and its count is {count}", store)
        yield values
