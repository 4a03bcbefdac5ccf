"""Options that several subcommands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli.complete import targets
from schedlab.errors import SchedlabError
from schedlab.store import location
from schedlab.store.location import Location


class OutputFormat(StrEnum):
    """Formats of a command whose output is not a report."""

    TEXT = "text"
    JSON = "json"


class SweepFormat(StrEnum):
    """Formats of the answer of a sweep: of every answer, and of the table of cells."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"
    HTML = "html"


Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE in one step; default stdout.")
]
GivenFormat = Annotated[OutputFormat, typer.Option("--format", help="text for people, json for scripts.")]
STORE_HELP = "The store: a file, or postgresql://HOST/DATABASE; default $SCHEDLAB_STORE or "
STORE_HELP += "~/.local/share/schedlab/schedlab.sqlite."
Store = Annotated[Location | None, typer.Option("--store", metavar="STORE", parser=location.location, help=STORE_HELP)]
NoStore = Annotated[
    bool, typer.Option("--no-store", help="Keep nothing: the store is temporary, and removed when the command ends.")
]
Sysroot = Annotated[
    Path | None,
    typer.Option(
        "--sysroot",
        metavar="DIR",
        help="Take tunables from a tree of files below DIR instead of this machine's /proc/sys and /sys. For tests and "
        "demonstrations; the run has a label that says so.",
    ),
]
Tunables = Annotated[
    Path | None,
    typer.Option(
        "--tunables",
        metavar="FILE",
        help="Further tunables: a file of [[tunable]] tables in the catalogue's format (docs/tunables.md).",
    ),
]
GivenTarget = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="TARGET",
        autocompletion=targets,
        help="host, ssh:[USER@]HOST[:PORT], vm:KERNEL@TOPOLOGY, sim:MACHINE or sim:MACHINE/KERNEL; default the file's.",
    ),
]
SshConfig = Annotated[
    Path | None,
    typer.Option(
        "--ssh-config",
        metavar="FILE",
        envvar="SCHEDLAB_SSH_CONFIG",
        help="OpenSSH's configuration for --target ssh:; default yours.",
    ),
]
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        metavar="LAYOUT",
        help="The layout of a printed table: lines=FIRST-LAST,columns=runs|metrics,label=1,better=lower|higher, "
        "..., or a TOML file with these keys; docs/importing-tables.md lists them.",
    ),
]


def use_tunables(file: Path | None) -> None:
    """Add the tunables of a file to the catalogue of this process and of its children."""
    if file is not None:
        os.environ["SCHEDLAB_TUNABLES"] = str(file.absolute())


def store_path(named: Location | None) -> Location:
    """Return the store that the user named, or the default store."""
    return named or location.default()


def measured_path(named: Location | None, *, no_store: bool, resume: bool = False) -> Location:
    """Return the store of a command that measures: a temporary store with ``--no-store``.

    Its folder is removed when this process ends, or by the next such command after a kill.
    """
    if not no_store:
        return store_path(named)
    if named is not None or resume:
        other = "--store" if named is not None else "--resume"
        raise SchedlabError(f"cannot be used with {other}", where="--no-store", todo="omit one of these options")
    import atexit

    from schedlab.files.scratch import locked_folder

    stack = ExitStack()
    atexit.register(stack.close)
    folder = stack.enter_context(locked_folder("schedlab-no-store-"))
    return Location(folder / "store.sqlite", temporary=True)


def run_number(store: Location | None, word: str) -> int:
    """Return the number of a stored run that is named by its number, its name, or ``latest``."""
    from schedlab.store.file import open_store
    from schedlab.store.selection import one_run

    return one_run(open_store(store_path(store), create=False), word).id


def store_words(store: Location) -> list[str]:
    """Return the words with which another command uses this store: no words for the default store."""
    return [] if store == location.default() else ["--store", str(store)]


def lasting(store: Location) -> list[str] | None:
    """Return the words with which further commands use this store; None if the store ends with this command."""
    return None if store.temporary else store_words(store)


def again(store: Location, words: Sequence[str]) -> Sequence[str]:
    """Return the words of a further command on this store; no words if the store ends with this command."""
    return [] if store.temporary else words


def resuming(store: Location) -> Sequence[str]:
    """Return this command line with ``--resume``; no words if the store ends with this command."""
    return again(store, ["schedlab", *this_command(), "--resume"])


def this_command() -> list[str]:
    """Return the words of this command line, without ``--resume``."""
    return [word for word in sys.argv[1:] if word != "--resume"]
