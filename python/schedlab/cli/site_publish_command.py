"""``schedlab site publish``: a site of all runs of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli.echo import echo
from schedlab.cli.options import Store, store_path


def publish(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the site; a new folder is made.")],
    store: Store = None,
    address: Annotated[
        str | None,
        typer.Option(
            "--url",
            metavar="URL",
            help="Address at which the site will be, for the links of its feeds; default the address of the last call.",
        ),
    ] = None,
    pages: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="Give only the N newest runs a page of their own; default all (70 kB each)."
        ),
    ] = None,
) -> None:
    """Make or update a site of a store's runs: reports, histories of rows with changes of level, feeds.

    The site is static files, which open from the folder and can be served by any web server. The next call adds only
    the runs that are new or changed.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from schedlab.cli.console import make
    from schedlab.cli.interruption import ending
    from schedlab.cli.publish_run import publish as make_site
    from schedlab.notation.units import counted
    from schedlab.store.file import open_store

    engine = open_store(store_path(store), create=False)
    console = make(stderr=True)
    bar = Progress(
        TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console, transient=True
    )
    with ending(console, "\ninterrupted; the same command goes on"), bar:
        task = bar.add_task("")
        done = make_site(
            engine,
            folder,
            address and address.rstrip("/") + "/",
            pages,
            lambda count, of: bar.update(task, completed=count, total=of),
        )
    changes = [f"{done.updated} new or changed", *([f"{done.removed} removed"] if done.removed else [])]
    echo(f"{folder / 'index.html'}: {counted(done.runs, 'run')} ({', '.join(changes)}), {done.series} histories")
    if done.worse:
        echo(f"{counted(done.worse, 'change')} for the worse, see {folder / 'index.html'}")
