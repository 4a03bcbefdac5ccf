"""``schedlab runs``: what the store holds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.options import Store, store_path
from schedlab.errors import StoreError

if TYPE_CHECKING:
    from schedlab.store.reading import Run

IMPORTED = "imported"
"""The kind of runs that others made; see :data:`schedlab.store.importing.KIND`."""


def runs(
    store: Store = None,
    file: Annotated[
        int | None, typer.Option("--file", metavar="RUN", help="Print the experiment file of this run.")
    ] = None,
) -> None:
    """List the runs in the store, newest first."""
    from rich.table import Table

    from schedlab.cli.console import make
    from schedlab.store import reading
    from schedlab.store.file import open_store

    engine = open_store(store_path(store), create=False)
    if file is not None:
        typer.echo(_experiment_file(reading.run(engine, file)), nl=False)
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("run", "name", "state", "trials", "target", "machine", "started (UTC)"):
        right, long = column in ("run", "trials"), column in ("name", "target")
        table.add_column(column, justify="right" if right else "left", overflow="fold", no_wrap=not long)
    for run in reading.runs(engine):
        began = datetime.fromtimestamp(run.started, UTC).strftime("%Y-%m-%d %H:%M")
        if run.kind == IMPORTED:
            # What others measured has figures, but no trials that could have failed, and a machine that nobody knows.
            table.add_row(str(run.id), run.name, run.state, "-", run.target, IMPORTED, began)
            continue
        target = run.target if run.kind == "real" else f"{run.target} [{run.kind}]"
        trials = f"{run.recorded}/{run.planned}"
        table.add_row(str(run.id), run.name, run.state, trials, target, run.fingerprint_hash, began)
    make().print(table)


def _experiment_file(run: Run) -> str:
    """The experiment file word for word; StoreError for a run that has none."""
    if run.kind == IMPORTED:
        raise StoreError(
            f"run {run.id} was imported from {run.experiment_path}: there is no experiment file",
            todo="'schedlab report' shows what was imported",
        )
    return run.experiment_file
