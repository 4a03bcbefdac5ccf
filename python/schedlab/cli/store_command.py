"""``schedlab store``: the stored runs; facts, verification, copies and rights of a store."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from schedlab.cli.commands import Commands
from schedlab.cli.options import GivenFormat, OutputFormat, Store, store_path
from schedlab.cli.store_list_command import list_runs, show_run
from schedlab.cli.store_merge_command import merge
from schedlab.errors import StoreError
from schedlab.store import location
from schedlab.store.location import Location

app = Commands(help="The stored runs: lists, facts, merging, copies, verification, rights.")
app.command("list")(list_runs)
app.command("show")(show_run)
app.command("merge")(merge)


class Role(StrEnum):
    """What a user of a shared store may do."""

    READER = "reader"
    WRITER = "writer"
    OWNER = "owner"


@app.command()
def info(store: Store = None, form: GivenFormat = OutputFormat.TEXT) -> None:
    """Print where the store is, its database and size, your rights, and what it contains."""
    from schedlab.cli import store_run

    store_run.show_info(store_path(store), as_json=form is OutputFormat.JSON)


@app.command()
def check(store: Store = None, form: GivenFormat = OutputFormat.TEXT) -> None:
    """Verify every checksum of the store. The exit code is 2 if anything is damaged."""
    from schedlab.cli import store_run

    store_run.check_and_print(store_path(store), as_json=form is OutputFormat.JSON)


@app.command("copy")
def copy_(
    source: Annotated[Location, typer.Argument(metavar="FROM", parser=location.location, help="The store to read.")],
    target: Annotated[
        Location, typer.Argument(metavar="TO", parser=location.location, help="A new or empty store; a file or a URL.")
    ],
    skip_damaged: Annotated[
        bool, typer.Option("--skip-damaged", help="Leave damaged runs out, and name them.")
    ] = False,
    form: GivenFormat = OutputFormat.TEXT,
) -> None:
    """Copy a whole store, from a file to a server or back. Runs and campaigns keep their numbers.

    The copy is one transaction, and every row is verified. 'schedlab store merge' adds runs to a store with runs.
    """
    from schedlab.cli import store_run

    if location.are_same(source, target):
        raise StoreError("is copied to itself", where=str(source), todo="name another store as TO")
    store_run.copy_and_print(source, target, skip_damaged=skip_damaged, as_json=form is OutputFormat.JSON)


@app.command()
def grant(
    role: Annotated[Role, typer.Argument(help="reader: reports. writer: also runs. owner: also upgrades and deletes.")],
    user: Annotated[str, typer.Argument(metavar="USER", help="An existing user of the PostgreSQL server.")],
    store: Store = None,
    apply: Annotated[bool, typer.Option("--apply", help="Execute the statements; a missing store is made.")] = False,
) -> None:
    """Print the SQL that gives a user the rights of a role in a shared store, and no other rights."""
    from schedlab.cli import store_run

    store_run.grant_and_print(store_path(store), role.value, user, apply=apply)
