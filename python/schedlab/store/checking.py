"""Verification of a whole store: every checksum, every reference between rows, and the database's own check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Engine, Select, Table, func, select

from schedlab.store import backends, cells, run_rows, schema
from schedlab.store.backends import snapshot
from schedlab.store.checksums import Damaged, checked
from schedlab.store.run_rows import DamagedRun, Run
from schedlab.store.tables import TABLES

_BATCH = 1_000
"""Rows that are in memory at a time."""


@dataclass
class Checked:
    """What was verified, and the faults: the number of the run (0: the store itself) and what is wrong."""

    runs: int = 0
    trials: int = 0
    faults: list[tuple[int, str]] = field(default_factory=list)

    @property
    def damaged_runs(self) -> list[int]:
        """The runs with faults."""
        return sorted({run for run, _ in self.faults if run})


def check(engine: Engine) -> Checked:
    """Verify every row of a store, in one state of the store."""
    result, name = Checked(), str(engine.url.database)
    with snapshot(engine) as connection:
        backend = backends.of(engine)
        result.faults += [(0, fault) for fault in backend.faults(connection)]
        listed = sorted(run_rows.listing(backend.rows_of(connection), name), key=lambda run: run.id)
        for run in listed:
            result.runs += 1
            result.faults += [(run.id, fault.what) for fault in _faults_of_row(run)]
            result.faults += [(run.id, fault.what) for fault in faults_of_run(connection, run.id)]
        result.trials = connection.execute(select(func.count()).select_from(schema.trial)).scalar_one()
        for table in (schema.campaign, schema.candidate):
            for row in connection.execute(select(table).order_by(table.c.id)).mappings():
                result.faults += [(0, fault.what) for fault in _faults(name, table, row, f"{table.name} {row['id']}")]
        result.faults += [(0, fault) for fault in _orphans(connection)]
    return result


def _faults_of_row(run: Run | DamagedRun) -> Iterator[Damaged]:
    """Yield the damage of the row of a run, and of its design."""
    if isinstance(run, DamagedRun):
        yield run.reason
        return
    try:
        run.validated()
    except Damaged as error:
        yield error


def faults_of_run(connection: Connection, run: int) -> Iterator[Damaged]:
    """Yield the damage of a run's rows, apart from the row of the run itself."""
    store, c = str(connection.engine.url.database), schema.cell.c
    yield from cells.faults(connection, c.run_id == run)
    for table, query in rows_of_run(run):
        for rows in connection.execute(query).mappings().partitions(_BATCH):
            for row in rows:
                key = ", ".join(str(row[column.name]) for column in TABLES[table.name] if column.key)
                yield from _faults(store, table, row, f"run {run}: {table.name} {key}")


def rows_of_run(run: int) -> list[tuple[Table, Select[Any]]]:
    """Return the tables whose rows have a checksum each, parents first, with the query for the rows of a run."""
    c, trial = schema.cell.c, schema.trial
    of_trials = [
        (table, select(table).select_from(table.join(trial).join(schema.cell)).where(c.run_id == run))
        for table in (schema.samples, schema.output)
    ]
    trials = select(trial).select_from(trial.join(schema.cell)).where(c.run_id == run).order_by(trial.c.id)
    return [(trial, trials), *of_trials, (schema.printed, select(schema.printed).where(schema.printed.c.run_id == run))]


def _faults(store: str, table: Table, row: Any, name: str) -> Iterator[Damaged]:
    try:
        checked(store, table.name, row, name)
    except Damaged as error:
        yield error


def _orphans(connection: Connection) -> Iterator[str]:
    """Yield a line for each reference with rows whose parent does not exist."""
    for name, columns in TABLES.items():
        for column in columns:
            if column.parent:
                child, parent = schema.metadata.tables[name], schema.metadata.tables[column.parent]
                lost = child.c[column.name].not_in(select(parent.c.id))
                number = connection.execute(select(func.count()).select_from(child).where(lost)).scalar_one()
                if number:
                    yield f"rows of {name} without their {column.parent}: {number}"
