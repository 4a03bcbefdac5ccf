"""Storing trials in the transaction of the caller: a few statements, whatever the number of trials.

The statements are built once: SQLAlchemy takes longer to build a statement than SQLite to execute it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from sqlalchemy import Connection, Table, bindparam, insert, update

from schedlab.experiment.plan import Trial
from schedlab.results.measurement import Measurement
from schedlab.store import backends, cells, schema
from schedlab.store.cells import StoredCell, pack, resized
from schedlab.store.checksums import sealed
from schedlab.store.tables import CONDITIONS

LONGEST_OUTPUT = 64 * 1024
"""Characters of an output stream that are kept, from its two ends. Failed trials keep 16 times as much."""

Measured = tuple[Trial, Measurement]

_C, _M = schema.cell.c, schema.metric.c
_OF_KEY = cells.queries(schema.current, *(_C[name] == bindparam(name) for name in cells.KEY))
_OF_TRIALS = cells.queries(
    schema.current,
    _C.run_id == bindparam("run_id"),
    _C.block.in_(bindparam("block", expanding=True)),
    _C.variant.in_(bindparam("variant", expanding=True)),
)
_INSERT = {table: insert(table) for table in (schema.cell, schema.metric, schema.trial, schema.samples, schema.output)}
_CHANGED = ("conditions", "clocksources", "checksums", "checksum")
"""Columns of a cell that a further trial changes."""
_CHANGE_CELL = (
    update(schema.cell).where(_C.id == bindparam("of_id")).values({name: bindparam(name) for name in _CHANGED})
)
_CHANGE_METRIC = (
    update(schema.metric)
    .where(*(_M[name] == bindparam(f"of_{name}") for name in ("cell_id", "name", "unit", "direction")))
    .values(data=bindparam("data"))
)


def insert_trials(connection: Connection, run_id: int, measured: Sequence[Measured]) -> None:
    """Insert trials with metrics, samples and output, and their values into the arrays of their cells.

    ValueError for a metric that is not a finite number.
    """
    if not measured:
        return
    of_key = _stored_cells(connection, run_id, measured)
    new: list[StoredCell] = []
    stored_metrics = {id(cell): set(cell.metrics) for cell in of_key.values()}
    of_trial = []
    for trial, measurement in measured:
        key = _key(run_id, trial)
        if key not in of_key:
            of_key[key] = StoredCell(0, *key, position=trial.index)
            new.append(of_key[key])
        _extend(of_key[key], trial.iteration, measurement)
        of_trial.append(of_key[key])
    if new:
        # The checksum of a cell covers its number in the rows of its metrics.
        for cell, number in zip(new, _numbers(connection, schema.cell, len(new)), strict=True):
            cell.id = number
        connection.execute(_INSERT[schema.cell], [{"id": cell.id} | cell.row() for cell in new])
    changed = list({cell.id: cell for cell in of_trial}.values())
    _write_metrics(connection, changed, stored_metrics)
    if old := [cell for cell in changed if id(cell) in stored_metrics]:
        rows = ((cell.id, cell.row()) for cell in old)
        values = [{"of_id": number} | {name: row[name] for name in _CHANGED} for number, row in rows]
        connection.execute(_CHANGE_CELL, values)
    pairs = list(zip(of_trial, measured, strict=True))
    numbers = _insert_trials(connection, [_trial_row(cell.id, *each) for cell, each in pairs])
    of_number = [(number, measurement) for number, (_, measurement) in zip(numbers, measured, strict=True)]
    sampled = [
        sample_values(number, metric.spec.name, metric.samples)
        for number, measurement in of_number
        for metric in measurement.metrics
        if metric.samples is not None
    ]
    if sampled:
        connection.execute(_INSERT[schema.samples], sampled)
    connection.execute(_INSERT[schema.output], [_output_row(*each) for each in of_number])


def _key(run_id: int, trial: Trial) -> tuple[int, str, int, str, str, str]:
    """Return the values of :data:`schedlab.store.cells.KEY`."""
    return run_id, trial.phase, trial.block, trial.variant.name, trial.row.label, trial.row.parameters_json


def _stored_cells(
    connection: Connection, run_id: int, measured: Sequence[Measured]
) -> dict[tuple[Any, ...], StoredCell]:
    """Return the cells of these trials that exist, and perhaps other cells of their blocks."""
    keys = dict.fromkeys(_key(run_id, trial) for trial, _ in measured)
    if len(keys) == 1:
        read = cells.read_by(connection, _OF_KEY, dict(zip(cells.KEY, next(iter(keys)), strict=True)))
    else:
        labels = {name: list({key[cells.KEY.index(name)] for key in keys}) for name in ("block", "variant")}
        read = cells.read_by(connection, _OF_TRIALS, {"run_id": run_id, **labels})
    return {tuple(getattr(cell, name) for name in cells.KEY): cell for cell in read}


def _extend(cell: StoredCell, iteration: int, measurement: Measurement) -> None:
    """Write a trial's conditions and values into the arrays of its cell."""
    conditions = asdict(measurement.conditions) | {"elapsed": measurement.elapsed}
    if conditions["clocksource"] is not None:
        names = {*json.loads(cell.clocksources), conditions["clocksource"]}
        cell.clocksources = json.dumps(sorted(names))
    cell.conditions = resized(cell.conditions, iteration + 1)
    cell.conditions[iteration] = [np.nan if conditions[name] is None else conditions[name] for name in CONDITIONS]
    for metric in measurement.metrics:
        if not np.isfinite(metric.value):
            name = f"{metric.spec.name} of iteration {iteration} of {cell.workload} under {cell.variant}"
            raise ValueError(f"{name} is not a finite number: {metric.value}")
        key = (metric.spec.name, metric.spec.unit, metric.spec.direction)
        values = resized(cell.metrics.get(key, np.empty(0)), iteration + 1)
        values[iteration] = metric.value
        cell.metrics[key] = values


def _write_metrics(
    connection: Connection, changed: Iterable[StoredCell], stored: dict[int, set[tuple[str, str, str]]]
) -> None:
    """Insert or update the arrays of cells.

    Args:
        connection: in the transaction.
        changed: the cells.
        stored: the metrics that are in the store, by the ``id()`` of a cell.
    """
    added, updated = [], []
    for cell in changed:
        for (name, unit, direction), values in cell.metrics.items():
            row = {"cell_id": cell.id, "name": name, "unit": unit, "direction": direction}
            if (name, unit, direction) in stored.get(id(cell), ()):
                updated.append({f"of_{column}": value for column, value in row.items()} | {"data": pack(values)})
            else:
                added.append(row | {"data": pack(values)})
    if added:
        connection.execute(_INSERT[schema.metric], added)
    if updated:
        connection.execute(_CHANGE_METRIC, updated)


def _numbers(connection: Connection, table: Table, count: int) -> list[int]:
    return backends.of(connection.engine).numbers(connection, table.name, count)


def _insert_trials(connection: Connection, rows: Sequence[dict[str, Any]]) -> list[int]:
    """Insert rows of ``trial``; return their numbers."""
    if len(rows) == 1:  # one statement, because a run sends each trial to the server separately
        key = connection.execute(_INSERT[schema.trial], rows[0]).inserted_primary_key
        assert key is not None
        return [int(key[0])]
    numbers = _numbers(connection, schema.trial, len(rows))
    connection.execute(_INSERT[schema.trial], [{"id": number} | row for number, row in zip(numbers, rows, strict=True)])
    return numbers


def _trial_row(cell_id: int, trial: Trial, measurement: Measurement) -> dict[str, Any]:
    values = {
        "cell_id": cell_id,
        "position": trial.index,
        "iteration": trial.iteration,
        "state": measurement.state,
        "reason": measurement.reason,
        "started": measurement.started,
        "counters": json.dumps(measurement.counters),
    }
    return sealed("trial", values)


def _output_row(trial_id: int, measurement: Measurement) -> dict[str, Any]:
    keep = LONGEST_OUTPUT * (1 if measurement.state == "ok" else 16)
    has_samples = any(metric.samples is not None for metric in measurement.metrics)
    values = {
        "trial_id": trial_id,
        "command": json.dumps(list(measurement.command)),
        # The raw text of a good trial would only repeat its samples.
        "stdout": "" if has_samples else _ends(measurement.stdout, keep),
        "stderr": _ends(measurement.stderr, keep),
    }
    return sealed("output", values)


def sample_values(trial_id: int, name: str, samples: Iterable[float]) -> dict[str, Any]:
    """Return the row of ``samples`` for a metric's single observations (level 1: a run is waiting)."""
    data = pack(samples)
    row = {"trial_id": trial_id, "name": name, "count": len(data) // 8, "data": zlib.compress(data, 1)}
    return sealed("samples", row)


def _ends(text: str, keep: int) -> str:
    if len(text) <= keep:
        return text
    cut = len(text) - keep
    return f"{text[: keep // 2]}\n[… {cut} characters left out …]\n{text[-(keep // 2) :]}"
