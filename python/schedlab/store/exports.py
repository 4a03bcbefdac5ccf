"""Runs in exported samples: a column of the table of samples has the run's record, so that the run of the file has the
same verdicts, paired by block.

A record contains the run's row with its design, and the trials that have no samples: warm-up and failures. An export
lacks counters, conditions, outputs and the single observations of a trial.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from polars.exceptions import PolarsError
from sqlalchemy import Connection, Engine, insert, or_, select

from schedlab.errors import StoreError
from schedlab.files import parquet
from schedlab.store import backends, cells, schema
from schedlab.store.backends import snapshot
from schedlab.store.cells import StoredCell
from schedlab.store.checksums import checked, sealed
from schedlab.store.columns import COLUMNS, Chosen, run_key
from schedlab.store.schema import store_in_memory
from schedlab.store.tables import CONDITIONS, TABLES
from schedlab.workloads.log_reader import LARGEST

RECORD = "record"
"""Column with the JSON record of a run, in the first line of the run."""

LOSS = "without counters, conditions, outputs and single observations; 'schedlab import STORE' copies these as well"
"""What an export lacks."""

_TRIAL = ("position", "iteration", "state", "reason", "started")
_CELL = ("phase", "block", "variant", "workload", "parameters")
_LEFT_OUT = {"id", "process"}
_SAMPLE = ("metric", "unit", "direction", "iteration", "value")
_MOST_ITERATIONS = 1_000_000

_MOST_SAMPLES = 2_000_000
"""Samples of an export. A sample takes about 170 bytes of memory."""

_MOST_FIGURES = 30_000_000
"""Figures of the runs of an export, 8 bytes each: for every trial its conditions and metrics, also without a value."""


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
        if head.startswith(parquet.MAGIC):
            return RECORD in pl.read_parquet_schema(path)
    except (OSError, PolarsError):
        return False
    return head.partition(b"\n")[0].decode(errors="replace").strip().split(",")[-1] == RECORD


def read_export(path: Path) -> Engine:
    """Return a store in memory with the runs of an export. Raises StoreError for a file that was changed, or that would
    take much memory."""
    engine = store_in_memory()
    try:
        table = _table(path)
        with engine.begin() as connection:
            room = _MOST_FIGURES
            for (number,), samples in table.group_by("run", maintain_order=True):
                room = _insert(connection, samples, int(str(number)), str(path), room)
    except (PolarsError, ValueError, KeyError, TypeError, IndexError, RecursionError, OverflowError) as error:
        raise StoreError(
            f"is not an unchanged export of samples: {error}"[:300],
            where=str(path),
            todo="write the file again with 'schedlab report'; --as csv imports the samples without the run",
        ) from error
    return engine


def _table(path: Path) -> pl.DataFrame:
    types = {**COLUMNS, RECORD: pl.String}
    table = pl.read_csv(_text(path), schema_overrides=types)
    table = table.select(pl.col(name).cast(kind) for name, kind in types.items())
    required = table.drop(RECORD)
    if required.null_count().sum_horizontal().item() or not table["value"].is_finite().all():
        raise ValueError("a value is missing or not finite")
    return table


def _text(path: Path) -> bytes:
    """Return the CSV of an export; StoreError for a file with too much text or too many samples."""
    content, lines = BytesIO(), 0
    try:
        with path.open("rb") as file, parquet.as_csv(file) if _is_parquet(path) else nullcontext(file) as text:
            while part := text.read1(1 << 20):
                content.write(part)
                lines += part.count(b"\n")
                if content.tell() > LARGEST or lines > _MOST_SAMPLES:
                    limit = f"more than {_MOST_SAMPLES:,} samples, or more than {LARGEST >> 20} MiB of text"
                    raise StoreError(f"contains {limit}", where=str(path), todo=_SMALLER)
    except parquet.Unreadable as error:
        raise StoreError(str(error), where=str(path), todo=_SMALLER) from error
    return content.getvalue()


_SMALLER = "write fewer runs in each file, or copy the runs of a store with 'schedlab import STORE'"


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(parquet.MAGIC)) == parquet.MAGIC


def _insert(connection: Connection, samples: pl.DataFrame, number: int, path: str, room: int) -> int:
    """Insert a run, cell by cell, and return the figures that other runs may have; ValueError beyond ``room``."""
    body = json.loads(samples[RECORD].drop_nulls()[0])
    names = [column.name for column in TABLES["run"] if column.name not in _LEFT_OUT]
    row = checked(path, "run", {name: body["run"][name] for name in names}, f"run {number}")
    run_id = schema.insert_row(connection, schema.run, {**row, "process": None})
    others: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for values in body["trials"]:
        trial = dict(zip((*_TRIAL, *_CELL), values, strict=True))
        others.setdefault(tuple(trial[name] for name in _CELL), []).append(trial)
    frames = samples.rename({"column": "variant"}).partition_by(_CELL[1:], as_dict=True, maintain_order=True)
    measured = {("measure", *key): frame for key, frame in frames.items()}

    def first(key: tuple[Any, ...]) -> int:
        """Return the position of a cell's first trial."""
        positions: list[int] = measured[key]["position"].to_list() if key in measured else []
        return int(min([*positions, *(trial["position"] for trial in others.get(key, []))]))

    for key in sorted({*measured, *others}, key=first):
        frame = measured.get(key, samples.clear())
        trials = {
            iteration: {"position": position, "state": "ok", "reason": "", "started": 0.0}
            for position, iteration in frame.select("position", "iteration").iter_rows()
        }
        trials |= {trial["iteration"]: trial for trial in others.get(key, [])}
        room = _insert_cell(connection, run_id, key, trials, frame, room)
    return room


def _insert_cell(
    connection: Connection,
    run_id: int,
    key: tuple[Any, ...],
    trials: Mapping[int, Mapping[str, Any]],
    samples: pl.DataFrame,
    room: int,
) -> int:
    """Insert a cell with its trials by iteration, and its metrics; return the room for the figures of other cells."""
    if not 0 <= min(trials) <= max(trials) < _MOST_ITERATIONS:
        raise ValueError("an iteration is impossible")
    size = max(trials) + 1
    scales = samples.select("metric", "unit", "direction").unique(maintain_order=True)
    room -= size * (len(CONDITIONS) + len(scales))
    if room < 0:
        raise ValueError(f"more than {_MOST_FIGURES:,} figures")
    first = min(trial["position"] - iteration for iteration, trial in trials.items())
    (cell_id,) = backends.of(connection.engine).numbers(connection, "cell", 1)
    cell = StoredCell(cell_id, run_id, position=first, **dict(zip(_CELL, key, strict=True)))
    cell.conditions = np.full((size, len(CONDITIONS)), np.nan)
    for metric, unit, direction, iteration, value in samples.select(*_SAMPLE).iter_rows():
        cell.metrics.setdefault((metric, unit, direction), np.full(size, np.nan))[iteration] = value
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
        for iteration, trial in sorted(trials.items(), key=lambda item: item[1]["position"])
    )
    connection.execute(insert(schema.trial), [sealed("trial", row) for row in rows])
    return room
