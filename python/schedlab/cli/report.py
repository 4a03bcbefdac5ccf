"""``schedlab report``: a stored run, judged again."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.options import RunNumber, Store, store_path

if TYPE_CHECKING:
    from schedlab.analysis.counters import Change
    from schedlab.findings import Findings


class Format(StrEnum):
    """How to write the report."""

    TEXT = "text"
    JSON = "json"


def report(
    run: RunNumber = None,
    store: Store = None,
    form: Annotated[Format, typer.Option("--format", help="text for people, json for scripts.")] = Format.TEXT,
    counters: Annotated[
        bool, typer.Option("--counters", help="Also show what the kernel did differently (text only: the headlines).")
    ] = False,
    failures: Annotated[
        bool, typer.Option("--failures", help="Print each failed trial with its output instead.")
    ] = False,
) -> None:
    """Print the report of a run."""
    import gc
    import sys

    # A report lives for a second, and most of what it makes, modules first, lives as long: looking for garbage among
    # it is a twentieth of the time.
    gc.disable()
    from schedlab.findings import count, findings
    from schedlab.store.file import open_store

    engine = open_store(store_path(store), create=False)
    if failures:
        from schedlab.store.reading import failed_outputs

        for text in failed_outputs(engine, run):
            typer.echo(text)
        return
    found = findings(engine, run)
    changes = count(engine, found) if counters else None
    if form is Format.JSON:
        from schedlab.report import json

        typer.echo(json.render(found, changes))
    else:
        _print(found, changes, sys.stdout.isatty())


def _print(found: Findings, changes: list[Change] | None, terminal: bool) -> None:
    from schedlab.analysis.counters import notable
    from schedlab.cli.console import make
    from schedlab.report import counters, text

    headlines = notable(changes or [])
    parts = [text.render(found, counters.by_verdict(headlines))]
    if changes is not None:
        parts.append(counters.render(headlines, found.run.notes, 1 - found.options.alpha))
    console = make() if terminal else text.plain_console(width=100)
    for part in parts:
        console.print(part)
