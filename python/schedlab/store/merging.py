"""Copying the runs of one store into another: runs get new numbers, and a run that already exists in the target
store is recognised."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Select, Table, insert, select

from schedlab.errors import StoreError
from schedlab.store import backends, cells, reader, schema
from schedlab.store.cells import pack
from schedlab.store.checksums import checked, sealed
from schedlab.store.file import open_store
from schedlab.store.location import Location, are_same

MAGIC = b"SQLite format 3\0"
"""The first bytes of every SQLite file."""


@dataclass(frozen=True)
class Copied:
    """A run of the source: its number in the source, and its number in the other store. ``is_new``: the run was
    copied."""

    name: str
    before: int
    number: int
    is_new: bool


def is_store(path: Path) -> bool:
    """Return whether the file is an SQLite database, as stores are."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def merge(sources: Sequence[Location], to: Location, opened: Callable[[Location], Engine]) -> list[tuple[str, Copied]]:
    """Copy every run of the sources into the store ``to``; return the source and the numbers of each run.

    ``opened`` opens a source. StoreError for a source that is the store to add to, and as of :func:`copy_runs`.
    """
    for source in sources:
        if are_same(source, to):
            raise StoreError("is the store to add to", where=str(source), todo="name another store with --to")
    engines = [opened(source) for source in sources]
    target = open_store(to, create=True)
    return [
        (str(source), run) for source, engine in zip(sources, engines, strict=True) for run in copy_runs(engine, target)
    ]


def copy_runs(source: Engine, target: Engine) -> list[Copied]:
    """Copy every run that the target lacks, oldest first, in one transaction; all rows are verified.

    A run is in both stores if its row has the same checksum: name, experiment, machine, seed and start are equal.
    Raises StoreError, and copies nothing, if a run is damaged or running, or has more trials than the target's copy.
    """
    listed = sorted(reader.listing(source), key=lambda run: run.id)
    for run in listed:
        if isinstance(run, reader.DamagedRun):
            raise run.reason
        if run.state == "running":
            raise StoreError(
                f"run {run.id} is running", where=str(source.url.database), todo="merge when the run has ended"
            )
    runs = [run for run in listed if isinstance(run, reader.Run)]
    counts = {run.id: run.recorded for run in reader.runs(target)}
    copied = []
    with backends.snapshot(source) as origin, backends.alone(target) as destination:
        for run in runs:
            row = origin.execute(select(schema.run).where(schema.run.c.id == run.id)).mappings().one()
            same = select(schema.run.c.id).where(schema.run.c.checksum == row["checksum"])
            number = destination.execute(same).scalars().first()
            if number is None:
                copied.append(Copied(run.name, run.id, _copy(origin, destination, run), True))
                continue
            if run.recorded > counts.get(number, run.recorded):
                raise StoreError(
                    f"run {run.id} is run {number} of {target.url.database}, with {run.recorded} trials instead of "
                    f"{counts[number]}",
                    where=str(source.url.database),
                    todo="merge both stores into a new store, this store first",
                )
            copied.append(Copied(run.name, run.id, number, False))
    return copied


def _copy(origin: Connection, destination: Connection, run: reader.Run) -> int:
    """Copy a run with all its rows. Return the new number."""
    r, c, t = schema.run.c, schema.cell.c, schema.trial.c
    name = f"run {run.id}"
    row = dict(origin.execute(select(schema.run).where(r.id == run.id)).mappings().one())
    number = schema.insert_row(destination, schema.run, {key: row[key] for key in row if key != "id"})
    of_cell: dict[int, int] = {}
    backend = backends.of(destination.engine)
    of_run = cells.read(origin, c.run_id == run.id)
    for place, cell in zip(backend.numbers(destination, "cell", len(of_run)), of_run, strict=True):
        of_cell[cell.id] = place
        new = replace(cell, id=place, run_id=number)
        destination.execute(insert(schema.cell), {"id": place} | new.row())
        scales = [dict(zip(("name", "unit", "direction"), key, strict=True)) for key in cell.metrics]
        data = [{"cell_id": place, "data": pack(values)} for values in cell.metrics.values()]
        _insert(destination, schema.metric, (scale | values for scale, values in zip(scales, data, strict=True)))
    trials = select(schema.trial).select_from(schema.trial.join(schema.cell)).where(c.run_id == run.id).order_by(t.id)
    of_trial: dict[int, int] = {}
    rows = []
    stored = list(_checked(origin, trials, schema.trial, f"{name}: trial"))
    for place, trial in zip(backend.numbers(destination, "trial", len(stored)), stored, strict=True):
        of_trial[trial["id"]] = place
        rows.append({**trial, "id": place, "cell_id": of_cell[trial["cell_id"]]})
    _insert(destination, schema.trial, (sealed("trial", row) for row in rows))
    for table in (schema.samples, schema.output):
        rows_of_run = table.join(schema.trial).join(schema.cell)
        query = select(table).select_from(rows_of_run).where(c.run_id == run.id)
        moved = ({**row, "trial_id": of_trial[row["trial_id"]]} for row in _checked(origin, query, table, name))
        _insert(destination, table, (sealed(table.name, row) for row in moved))
    printed = _checked(origin, select(schema.printed).where(schema.printed.c.run_id == run.id), schema.printed, name)
    _insert(destination, schema.printed, (sealed("printed", {**row, "run_id": number}) for row in printed))
    return number


def _checked(connection: Connection, query: Select[Any], table: Table, name: str) -> Iterator[dict[str, Any]]:
    for row in connection.execute(query).mappings():
        yield dict(checked(str(connection.engine.url.database), table.name, row, name))


def _insert(connection: Connection, table: Table, rows: Iterable[dict[str, Any]]) -> None:
    if listed := list(rows):
        connection.execute(insert(table), listed)
