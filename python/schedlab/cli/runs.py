"""``schedlab runs``: the runs in the store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.options import Store, store_path
from schedlab.errors import StoreError

if TYPE_CHECKING:
    from schedlab.store.reader import Run

IMPORTED = "imported"
"""The kind of imported runs; see :data:`schedlab.store.imports.KIND`."""


def runs(
    store: Store = None,
    file: Annotated[
        int | None, typer.Option("--file", metavar="RUN", help="Print the experiment file of this run.")
    ] = None,
) -> None:
    """List the runs in the store, newest first."""
    from schedlab.cli.console import make, table
    from schedlab.store import reader
    from schedlab.store.file import open_store

    engine = open_store(store_path(store), create=False)
    if file is not None:
        typer.echo(_experiment_file(reader.run(engine, file)), nl=False)
        return
    short = ("run", "state", "trials", "machine", "started (UTC)")
    columns = ("run", "name", "state", "trials", "target", "machine", "started (UTC)")
    listed = table(*columns, right=("run", "trials"), no_wrap=short)
    damaged = []
    for run in reader.listing(engine):
        if isinstance(run, reader.DamagedRun):
            listed.add_row(str(run.id), "-", "damaged", "-", "-", "-", "-")
            damaged.append(run.reason.what)
            continue
        began = datetime.fromtimestamp(run.started, UTC).strftime("%Y-%m-%d %H:%M")
        if run.kind == IMPORTED:
            # An imported run has figures, but no trials and no fingerprint of a machine.
            listed.add_row(str(run.id), run.name, run.state, "-", run.target, IMPORTED, began)
            continue
        target = run.target if run.kind == "real" else f"{run.target} [{run.kind}]"
        trials = f"{run.recorded}/{run.planned}"
        listed.add_row(str(run.id), run.name, run.state, trials, target, run.fingerprint_hash, began)
    console = make()
    console.print(listed)
    for reason in damaged:
        console.say("damaged:", reason, "red")


def _experiment_file(run: Run) -> str:
    """The text of the experiment file; StoreError for an imported run, which has no such file."""
    if run.kind == IMPORTED:
        raise StoreError(
            f"run {run.id} was imported from {run.experiment_path}: there is no experiment file",
            todo="read the imported figures with 'schedlab report'",
        )
    return run.experiment_file
