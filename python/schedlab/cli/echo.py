"""Plain output of the command line. This module imports little."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from schedlab.notation.terminal import escaped


def echo(text: str = "", *, nl: bool = True, err: bool = False) -> None:
    """Print text to standard output, or to standard error, with its control characters escaped."""
    typer.echo(escaped(text), nl=nl, err=err)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of texts. The first column is never folded, and the columns of numbers are right-aligned."""
    from schedlab.cli.console import make, table

    listed = table(*columns, right=("CPUs", "nodes", "tunables"), no_wrap=(columns[0], "release"))
    for row in rows:
        listed.add_row(*row)
    make().print(listed)
