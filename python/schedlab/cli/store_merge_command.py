"""``schedlab store merge``: the runs of several stores in one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.options import GivenFormat, OutputFormat, store_path
from schedlab.store import location
from schedlab.store.location import Location

if TYPE_CHECKING:
    from schedlab.store.merging import Copied


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
    from schedlab.store.merging import merge as merge_stores

    where = store_path(to)
    print_copies(merge_stores(sources, where, lambda source: open_store(source, create=False)), where, form)


def print_copies(merged: Sequence[tuple[str, Copied]], to: Location, form: OutputFormat) -> None:
    """Print the numbers of runs in the store ``to`` that were copied from other stores."""
    from schedlab.cli.console import make, table
    from schedlab.cli.json_output import print_json

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
