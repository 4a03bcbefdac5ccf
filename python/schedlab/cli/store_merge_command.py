"""``schedlab store merge``: the runs of several stores in one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.options import GivenFormat, OutputFormat, store_path
from schedlab.store import location
from schedlab.store.location import Location

if TYPE_CHECKING:
    from sqlalchemy import Engine


def merge(
    sources: Annotated[
        list[Location],
        typer.Argument(
            metavar="STORE...",
            parser=location.location,
            help=("The stores to read. The command does not change these stores."),
        ),
    ],
    to: Annotated[
        Location | None,
        typer.Option(
            "--to",
            "--store",
            metavar="STORE",
            parser=location.location,
            help="The store to add to; default as for 'schedlab run'.",
        ),
    ] = None,
    form: GivenFormat = OutputFormat.TEXT,
) -> None:
    """Copy all runs of stores into one store. A missing store is created.

    Runs get new numbers, which are printed. A run that the store contains already is recognised and not copied again.
    """
    from schedlab.store.file import open_store

    copy(sources, store_path(to), form, lambda source: open_store(source, create=False))


def copy(sources: Sequence[Location], to: Location, form: OutputFormat, opened: Callable[[Location], Engine]) -> None:
    """Copy all runs of the sources into the store ``to``, and print their numbers."""
    from schedlab.cli.console import make, table
    from schedlab.cli.json_output import print_json
    from schedlab.errors import StoreError
    from schedlab.store.file import open_store
    from schedlab.store.merging import copy_runs

    for source in sources:
        if location.are_same(source, to):
            raise StoreError("is the store to add to", where=str(source), todo="name another store with --to")
    engines = [opened(source) for source in sources]
    target = open_store(to, create=True)
    merged = [
        (str(source), run) for source, engine in zip(sources, engines, strict=True) for run in copy_runs(engine, target)
    ]
    if form is OutputFormat.JSON:
        runs = [{"store": origin, "run": each.before, "number": each.number, "name": each.name, "new": each.is_new}
                for origin, each in merged]  # fmt: skip
        print_json({"store": str(to), "runs": runs})
        return
    listed = table("store", "run", "name", "is now run", "", right=("run", "is now run"))
    for origin, each in merged:
        state = "" if each.is_new else "already existed"
        listed.add_row(origin, str(each.before), each.name, str(each.number), state)
    make().print(listed)
