"""Plain output of the command line. This module imports little."""

from __future__ import annotations

import typer

from schedlab.notation.controls import escaped


def echo(text: str = "", *, nl: bool = True, err: bool = False) -> None:
    """Print text to standard output, or to standard error, with its control characters escaped."""
    typer.echo(escaped(text), nl=nl, err=err)
