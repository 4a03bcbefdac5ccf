"""Copy of a whole store, in any database, with the numbers of its runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, Table, func, insert, select

from schedlab.errors import StoreError
from schedlab.store import backends, run_rows, schema
from schedlab.store.checking import faults_of_run, rows_of_run
from schedlab.store.checksums import Damaged, checked, sealed
from schedlab.store.run_rows import DamagedRun

_BATCH = 1_000
"""Rows that are in memory at a time."""


@dataclass(frozen=True)
class Copied:
    """Numbers of runs, trials and campaigns that were copied, and the damage of each run that was left out."""

    runs: int
    trials: int
    campaigns: int
    left_out: Mapping[int, str]


def copy_store(source: Engine, target: Engine, *, skip_damaged: bool = False) -> Copied:
    """Copy all runs and campaigns into an empty store, in one transaction; all rows are verified.

    Runs, trials and campaigns keep their numbers. Raises StoreError, and copies nothing, if the target contains a run
    or a campaign, if a run is running, or (Damaged) if a run is damaged; with ``skip_damaged`` such runs are left out.
    """
    name = str(source.url.database)
    with backends.snapshot(source) as origin, backends.alone(target) as destination:
        for table in (schema.run, schema.campaign):
            if destination.execute(select(func.count()).select_from(table)).scalar_one():
                raise StoreError(
                    f"contains a {table.name} already",
                    where=str(target.url.database),
                    todo="name a new store; 'schedlab store merge' adds runs to a store",
                )
        listed = run_rows.listing(backends.of(source).rows_of(origin), name)
        left_out: dict[int, str] = {}
        trials = runs = 0
        for run in sorted(listed, key=lambda run: run.id):
            fault = _fault(origin, run)
            if fault is not None:
                if not skip_damaged:
                    raise fault
                left_out[run.id] = fault.what
                continue
            if isinstance(run, run_rows.Run) and run.state == "running":
                raise StoreError(f"run {run.id} is running", where=name, todo="copy the store when the run has ended")
            runs += 1
            trials += _copy_run(origin, destination, run.id)
        campaigns = _copy_campaigns(origin, destination, name, left_out)
        backends.of(target).continue_numbers(destination)
    return Copied(runs, trials, campaigns, left_out)


def _fault(connection: Connection, run: run_rows.Run | DamagedRun) -> Damaged | None:
    if isinstance(run, DamagedRun):
        return run.reason
    return next(faults_of_run(connection, run.id), None)


def _copy_run(origin: Connection, destination: Connection, run: int) -> int:
    """Copy the rows of a verified run; return the number of its trials."""
    r, c = schema.run.c, schema.cell.c
    for table, query in (
        (schema.run, select(schema.run).where(r.id == run)),
        (schema.cell, select(schema.cell).where(c.run_id == run).order_by(c.id)),
        (schema.metric, select(schema.metric).join(schema.cell).where(c.run_id == run)),
    ):
        for rows in origin.execute(query).mappings().partitions(_BATCH):
            _insert(destination, table, rows)
    trials = 0
    for table, query in rows_of_run(run):
        for rows in origin.execute(query).mappings().partitions(_BATCH):
            trials += len(rows) if table is schema.trial else 0
            # Texts of earlier versions may contain NUL.
            _insert(destination, table, (sealed(table.name, row) for row in rows))
    return trials


def _copy_campaigns(origin: Connection, destination: Connection, store: str, left_out: Mapping[int, str]) -> int:
    """Copy the campaigns and their candidates, without references to runs that were left out; return their number."""
    campaigns = origin.execute(select(schema.campaign)).mappings().all()
    candidates = [dict(row) for row in origin.execute(select(schema.candidate)).mappings()]
    for table, rows in ((schema.campaign, campaigns), (schema.candidate, candidates)):
        for row in rows:
            checked(store, table.name, row, f"{table.name} {row['id']}")
    for row in candidates:
        row |= {name: None for name in ("run_id", "holdout_id") if row[name] in left_out}
    _insert(destination, schema.campaign, campaigns)
    _insert(destination, schema.candidate, candidates)
    return len(campaigns)


def _insert(connection: Connection, table: Table, rows: Iterable[Mapping[Any, Any]]) -> None:
    if listed := [dict(row) for row in rows]:
        connection.execute(insert(table), listed)
