"""``schedlab import``: results of other tools, into the store."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.echo import echo
from schedlab.cli.options import STORE_HELP, GivenFormat, OutputFormat, Tables, store_path
from schedlab.store import location
from schedlab.store.location import Location

if TYPE_CHECKING:
    from schedlab.cli.console import Console
    from schedlab.importers.outline import Outline
    from schedlab.store.reader import Run


MOST_SHOWN = 20
"""Runs that the summary of an import names."""


def import_(
    sources: Annotated[
        list[Location],
        typer.Argument(
            metavar="PATH...",
            parser=location.location,
            help="Files, folders of logs, trees of MMTests, stores; - is standard input.",
        ),
    ],
    store: Annotated[
        Location | None,
        typer.Option("--to", "--store", metavar="STORE", parser=location.location, help=STORE_HELP),
    ] = None,
    form: Annotated[
        str | None, typer.Option("--as", metavar="FORMAT", help="The format, where the content does not show it.")
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Option("--name", metavar="NAME", help="OLD=NEW renames a column; or a column's name for each PATH."),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="NAME=FIRST-LAST", help="The lines of a file whose runs are this column."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="COLUMN", help="Compare with this column; default the first.")
    ] = None,
    lower: Annotated[
        list[str] | None, typer.Option("--lower", metavar="METRIC", help="Less of this metric is better.")
    ] = None,
    higher: Annotated[
        list[str] | None, typer.Option("--higher", metavar="METRIC", help="More of this metric is better.")
    ] = None,
    table: Tables = None,
    again: Annotated[
        bool, typer.Option("--again", help="Import results again that the store already contains.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be imported; write nothing.")] = False,
    output: GivenFormat = OutputFormat.TEXT,
) -> None:
    """Import results of other tools: samples where the source contains samples, otherwise printed figures.

    Reads MMTests result trees; tables in mails and changelogs (MMTests, perf stat, 0-day); the output of the tools that
    are listed below; and schedlab's samples as CSV or Parquet.
    Packed files are unpacked. A store of schedlab is copied run by run, as by 'schedlab store merge'.
    Any other table is read by the layout that --table states. See docs/importing.md.
    """
    from schedlab.cli.console import make
    from schedlab.cli.store_merge_command import print_copies
    from schedlab.importers.intake import NONE, Statements, copied, read, record
    from schedlab.importers.outline import outline
    from schedlab.report import imports as shown
    from schedlab.store.exports import LOSS

    console = make()
    statements = Statements(
        tuple(names or ()), baseline, tuple(lower or ()), tuple(higher or ()), tuple(table or ()), tuple(columns or ())
    )
    plain = not (again or form) and statements == NONE
    if not dry_run and (copies := copied(sources, store_path(store), plain=plain)):
        print_copies(copies.runs, store_path(store), output)
        if copies.exported:
            make(stderr=True).say("runs of exported samples:", LOSS)
        return
    paths = [source.file for source in sources]
    imports = read(paths, form, statements)
    outlines = [outline(imported) for imported in imports]
    if dry_run:
        if output is OutputFormat.JSON:
            echo(shown.to_json(outlines))
        else:
            console.print(shown.render(outlines))
        return
    recorded = record(store_path(store), imports, again=again)
    runs = [run for group in recorded for run in group]
    if output is OutputFormat.JSON:
        made = [{"id": run.id, "name": run.name, "path": run.experiment_path} for run in runs]
        echo(shown.to_json(outlines, made))
    else:
        _summarise(console, outlines, recorded, store)


def _summarise(
    console: Console, outlines: Sequence[Outline], recorded: Sequence[Sequence[Run]], store: Location | None
) -> None:
    """Print the new runs, the omitted parts, and the next command to type."""
    from schedlab.report.imports import remarks, sums

    for imported, runs in zip(outlines, recorded, strict=True):
        console.say(f"{imported.format}:", sums(imported), "bold")
        for remark in remarks(imported):
            console.print(remark, soft_wrap=True)
        for run in runs[:MOST_SHOWN]:
            console.say(f"run {run.id}:", run.name, "bold")
        if len(runs) > MOST_SHOWN:
            console.print(f"and {len(runs) - MOST_SHOWN:,} more, up to run {runs[-1].id}")
    where = ["--store", str(store)] if store else []
    for runs in recorded:
        for words in _next(runs):
            console.hint("next:", shlex.join(["schedlab", *words, *where]))


def _next(runs: Sequence[Run]) -> list[list[str]]:
    """Return commands for the runs of one import: columns of samples side by side, each printed table in a separate
    command."""
    samples = [run for run in runs if run.design.questions]
    numbers = [str(run.id) for run in samples]
    commands = []
    if len(samples) > MOST_SHOWN:
        # A command of thousands of numbers helps nobody.
        samples, commands = [], [["history"]]
    if any(_rows(run) & _rows(samples[0]) for run in samples[1:]):
        commands.append(["compare", *numbers])
    if samples:
        commands.append(["report", *numbers, "--format", "mmtests"])
    return [*commands, *(["report", str(run.id)] for run in runs if not run.design.questions)]


def _rows(run: Run) -> set[tuple[str, str, str]]:
    return {(question.workload, question.parameters, question.metric) for question in run.design.questions}
