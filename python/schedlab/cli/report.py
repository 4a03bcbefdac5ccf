"""``schedlab report``: a stored run, judged again."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.options import RunNumber, Store, store_path

if TYPE_CHECKING:
    from schedlab.report.findings import Findings


class Format(StrEnum):
    """How to write the report."""

    TEXT = "text"
    JSON = "json"


def report(
    run: RunNumber = None,
    store: Store = None,
    form: Annotated[Format, typer.Option("--format", help="text for people, json for scripts.")] = Format.TEXT,
    failures: Annotated[
        bool, typer.Option("--failures", help="Print each failed trial with its output instead.")
    ] = False,
) -> None:
    """Print the report of a run."""
    import sys

    from schedlab.report.findings import findings
    from schedlab.store.file import open_store

    engine = open_store(store_path(store), create=False)
    if failures:
        from schedlab.store.reading import failed_outputs

        for text in failed_outputs(engine, run):
            typer.echo(text)
        return
    found = findings(engine, run)
    if form is Format.JSON:
        from schedlab.report import json

        typer.echo(json.render(found))
    else:
        _print(found, sys.stdout.isatty())


def _print(found: Findings, terminal: bool) -> None:
    from rich.console import Console

    from schedlab.report import text

    if terminal:
        Console(highlight=False).print(text.render(found))
    else:
        typer.echo(text.to_text(found, width=100), nl=False)
