"""Runs in exported samples: a column of the table of samples has the run's record, so that the run of the file has the
same verdicts, paired by block.

A record contains the run's row with its design, and the trials that have no samples: warm-up and failures. An export
lacks counters, conditions, outputs and the single observations of a trial.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from polars.exceptions import PolarsError
from sqlalchemy import Connection, Engine, insert, or_, select

from schedlab.errors import StoreError
from schedlab.store import backends, cells, schema
from schedlab.store.backends import snapshot
from schedlab.store.cells import StoredCell
from schedlab.store.checksums import checked, sealed
from schedlab.store.columns import Chosen, run_key
from schedlab.store.samples import COLUMNS
from schedlab.store.schema import store_in_memory
from schedlab.store.tables import CONDITIONS, TABLES

RECORD = "record"
"""Column with the JSON record of a run, in the first line of the run."""

LOSS = "without counters, conditions, outputs and single observations; 'schedlab import STORE' copies these as well"
"""What an export lacks."""

_TRIAL = ("position", "iteration", "state", "reason", "started")
_CELL = ("phase", "block", "variant", "workload", "parameters")
_LEFT_OUT = {"id", "process"}
_PARQUET = b"PAR1"
_MOST_ITERATIONS = 1_000_000


def with_records(samples: pl.DataFrame, engine: Engine, chosen: Sequence[Chosen]) -> pl.DataFrame:
    """Add the column of records to a table of samples; the table is unchanged unless all columns of its runs, and no
    others, are complete measured runs."""
    runs = {run_key(engine, column): column.run for column in chosen}
    columns = [(run_key(engine, column), column.variant, column.name) for column in chosen]
    wanted = [(key, name, name) for key, run in runs.items() for name in run.design.variants]
    measured = all(run.design.paired and run.state != "running" for run in runs.values())
    # Runs of several stores may have the same number, which the table gives.
    if columns != wanted or not measured or len({number for _, number in runs}) < len(runs):
        return samples
    records = {number: _record(store, number) for store, number in runs}
    first = pl.col("run").is_first_distinct()
    return samples.with_columns(pl.when(first).then(pl.col("run").replace_strict(records, return_dtype=pl.String))
                                .alias(RECORD))  # fmt: skip


def _record(engine: Engine, number: int) -> str:
    c, t = schema.cell.c, schema.trial.c
    others = select(*(t[name] for name in _TRIAL), *(c[name] for name in _CELL))
    others = others.select_from(schema.trial.join(schema.cell)).where(c.run_id == number, schema.current)
    with snapshot(engine) as connection:
        row = connection.execute(select(schema.run).where(schema.run.c.id == number)).mappings().one()
        trials = connection.execute(others.where(or_(c.phase != "measure", t.state != "ok")).order_by(t.position))
        body = {
            "run": {name: value for name, value in row.items() if name not in _LEFT_OUT},
            "trials": [list(trial) for trial in trials],
        }
    return json.dumps(body, ensure_ascii=False)


def has_records(path: Path) -> bool:
    """Whether a file is an export with records of its runs."""
    try:
        with path.open("rb") as file:
            head = file.read(4096)
        if head.startswith(_PARQUET):
            return RECORD in pl.read_parquet_schema(path)
    except (OSError, PolarsError):
        return False
    return head.partition(b"\n")[0].decode(errors="replace").strip().split(",")[-1] == RECORD


def read_export(path: Path) -> Engine:
    """Return a store in memory with the runs of an export. Raises StoreError for a file that was changed."""
    engine = store_in_memory()
    try:
        table = _table(path)
        with engine.begin() as connection:
            for (number,), samples in table.group_by("run", maintain_order=True):
                _insert(connection, samples, int(str(number)), str(path))
    except (PolarsError, ValueError, KeyError, TypeError, IndexError, RecursionError, OverflowError) as error:
        raise StoreError(
            f"is not an unchanged export of samples: {error}"[:300],
            where=str(path),
            todo="write the file again with 'schedlab report'; --as csv imports the samples without the run",
        ) from error
    return engine


def _table(path: Path) -> pl.DataFrame:
    types = {**COLUMNS, RECORD: pl.String}
    with path.open("rb") as file:
        is_parquet = file.read(4) == _PARQUET
    table = pl.read_parquet(path) if is_parquet else pl.read_csv(path, schema=types)
    table = table.select(pl.col(name).cast(kind) for name, kind in types.items())
    required = table.drop(RECORD)
    if required.null_count().sum_horizontal().item() or not table["value"].is_finite().all():
        raise ValueError("a value is missing or not finite")
    return table


def _insert(connection: Connection, samples: pl.DataFrame, number: int, path: str) -> None:
    body = json.loads(samples[RECORD].drop_nulls()[0])
    names = [column.name for column in TABLES["run"] if column.name not in _LEFT_OUT]
    row = checked(path, "run", {name: body["run"][name] for name in names}, f"run {number}")
    run_id = schema.insert_row(connection, schema.run, {**row, "process": None})
    trials: list[dict[str, Any]] = [dict(zip((*_TRIAL, *_CELL), trial, strict=True)) for trial in body["trials"]]
    values: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for sample in samples.rename({"column": "variant"}).iter_rows(named=True):
        values.setdefault(("measure", *(sample[name] for name in _CELL[1:])), []).append(sample)
    measured = {
        (key, sample["iteration"]): {"position": sample["position"], "state": "ok", "reason": "", "started": 0.0}
        for key, of_cell in values.items()
        for sample in of_cell
    }
    measured |= {(tuple(trial[name] for name in _CELL), trial["iteration"]): trial for trial in trials}
    by_cell: dict[tuple[Any, ...], dict[int, Mapping[str, Any]]] = {}
    for (key, iteration), trial in sorted(measured.items(), key=lambda item: item[1]["position"]):
        by_cell.setdefault(key, {})[iteration] = trial
    for key, of_cell_trials in by_cell.items():
        _insert_cell(connection, run_id, key, of_cell_trials, values.get(key, []))


def _insert_cell(
    connection: Connection,
    run_id: int,
    key: tuple[Any, ...],
    trials: Mapping[int, Mapping[str, Any]],
    values: Sequence[Mapping[str, Any]],
) -> None:
    """Insert a cell with its trials by iteration, and its metrics."""
    if not 0 <= min(trials) <= max(trials) < _MOST_ITERATIONS:
        raise ValueError("an iteration is impossible")
    size = max(trials) + 1
    first = min(trial["position"] - iteration for iteration, trial in trials.items())
    (cell_id,) = backends.of(connection.engine).numbers(connection, "cell", 1)
    cell = StoredCell(cell_id, run_id, position=first, **dict(zip(_CELL, key, strict=True)))
    cell.conditions = np.full((size, len(CONDITIONS)), np.nan)
    for sample in values:
        scale = (sample["metric"], sample["unit"], sample["direction"])
        cell.metrics.setdefault(scale, np.full(size, np.nan))[sample["iteration"]] = sample["value"]
    connection.execute(insert(schema.cell), {"id": cell_id} | cell.row())
    metrics = [
        {"cell_id": cell_id, "name": name, "unit": unit, "direction": direction, "data": cells.pack(data)}
        for (name, unit, direction), data in cell.metrics.items()
    ]
    if metrics:
        connection.execute(insert(schema.metric), metrics)
    rows = (
        {"cell_id": cell_id, "iteration": iteration, "counters": "{}"}
        | {name: trial[name] for name in ("position", "state", "reason", "started")}
        for iteration, trial in trials.items()
    )
    connection.execute(insert(schema.trial), [sealed("trial", row) for row in rows])
