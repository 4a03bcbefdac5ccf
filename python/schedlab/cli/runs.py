"""``schedlab runs``: the runs in the store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.options import Store, store_path
from schedlab.errors import StoreError

if TYPE_CHECKING:
    from schedlab.store.reading import Run

IMPORTED = "imported"
"""The kind of imported runs; see :data:`schedlab.store.importing.KIND`."""


def runs(
    store: Store = None,
    file: Annotated[
        int | None, typer.Option("--file", metavar="RUN", help="Print the experiment file of this run.")
    ] = None,
) -> None:
    """List the runs in the store, newest first."""
    from schedlab.cli.console import make, table
    from schedlab.store import reading
    from schedlab.store.file import open_store

    engine = open_store(store_path(store), create=False)
    if file is not None:
        typer.echo(_experiment_file(reading.run(engine, file)), nl=False)
        return
    short = ("run", "state", "trials", "machine", "started (UTC)")
    columns = ("run", "name", "state", "trials", "target", "machine", "started (UTC)")
    listed = table(*columns, right=("run", "trials"), no_wrap=short)
    for run in reading.runs(engine):
        began = datetime.fromtimestamp(run.started, UTC).strftime("%Y-%m-%d %H:%M")
        if run.kind == IMPORTED:
            # An imported run has figures, but no trials and no fingerprint of a machine.
            listed.add_row(str(run.id), run.name, run.state, "-", run.target, IMPORTED, began)
            continue
        target = run.target if run.kind == "real" else f"{run.target} [{run.kind}]"
        trials = f"{run.recorded}/{run.planned}"
        listed.add_row(str(run.id), run.name, run.state, trials, target, run.fingerprint_hash, began)
    make().print(listed)


def _experiment_file(run: Run) -> str:
    """The text of the experiment file; StoreError for an imported run, which has no such file."""
    if run.kind == IMPORTED:
        raise StoreError(
            f"run {run.id} was imported from {run.experiment_path}: there is no experiment file",
            todo="'schedlab report' shows what was imported",
        )
    return run.experiment_file
