"""``schedlab merge``: the runs of several stores in one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.options import GivenFormat, OutputFormat, store_path

if TYPE_CHECKING:
    from sqlalchemy import Engine


def merge(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="STORE...", help=("The stores to read. The command does not change these stores.")),
    ],
    to: Annotated[
        Path | None,
        typer.Option("--to", "--store", metavar="FILE", help="The store to add to; default as for 'schedlab run'."),
    ] = None,
    form: GivenFormat = OutputFormat.TEXT,
) -> None:
    """Copy all runs of stores into one store. A missing store is created.

    Runs get new numbers, which are printed. A run that the store contains already is recognised and not copied again.
    """
    from schedlab.store.file import open_store

    copy(sources, store_path(to), form, lambda source: open_store(source, create=False))


def copy(sources: Sequence[Path], path: Path, form: OutputFormat, opened: Callable[[Path], Engine]) -> None:
    """Copy all runs of the sources into the store at ``path``, and print their numbers."""
    from schedlab.cli.console import make, table
    from schedlab.cli.json_output import print_json
    from schedlab.errors import StoreError
    from schedlab.store.file import open_store
    from schedlab.store.merging import copy_runs

    for source in sources:
        if path.exists() and source.exists() and source.samefile(path):
            raise StoreError("is the store to add to", where=str(source), todo="name another store with --to")
    engines = [opened(source) for source in sources]
    target = open_store(path, create=True)
    merged = [
        (str(source), run) for source, engine in zip(sources, engines, strict=True) for run in copy_runs(engine, target)
    ]
    if form is OutputFormat.JSON:
        runs = [{"store": origin, "run": each.before, "number": each.number, "name": each.name, "new": each.is_new}
                for origin, each in merged]  # fmt: skip
        print_json({"store": str(path), "runs": runs})
        return
    listed = table("store", "run", "name", "is now run", "", right=("run", "is now run"))
    for origin, each in merged:
        state = "" if each.is_new else "already existed"
        listed.add_row(origin, str(each.before), each.name, str(each.number), state)
    make().print(listed)
