"""``schedlab runs``: what the store holds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from schedlab.cli.options import Store, store_path


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
        typer.echo(reading.run(engine, file).experiment_file, nl=False)
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("run", "name", "state", "trials", "target", "machine", "started (UTC)"):
        table.add_column(column, justify="right" if column in ("run", "trials") else "left")
    for run in reading.runs(engine):
        began = datetime.fromtimestamp(run.started, UTC).strftime("%Y-%m-%d %H:%M")
        target = run.target if run.kind == "real" else f"{run.target} [{run.kind}]"
        trials = f"{run.recorded}/{run.planned}"
        table.add_row(str(run.id), run.name, run.state, trials, target, run.fingerprint_hash, began)
    make().print(table)
