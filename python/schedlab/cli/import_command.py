"""``schedlab import``: results of other tools, into the store."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.echo import echo
from schedlab.cli.options import STORE_HELP, GivenFormat, OutputFormat, Tables, store_path
from schedlab.store import location
from schedlab.store.location import Location

if TYPE_CHECKING:
    from schedlab.cli.console import Console
    from schedlab.importers.outline import Outline
    from schedlab.results.imported import Import, Table
    from schedlab.results.metrics import Direction
    from schedlab.store.reader import Run


@dataclass(frozen=True)
class Statements:
    """The user's statements on columns, metrics and the layout of printed tables."""

    names: Sequence[str]
    baseline: str | None
    lower: Sequence[str]
    higher: Sequence[str]
    tables: Sequence[str]


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

    Reads MMTests result trees; tables in mails and changelogs (MMTests, perf stat, 0-day, hackbench); logs of
    hackbench, tbench and dbench, pgbench, perf bench, perf stat (-x, -j), netperf, iperf3, hyperfine, schbench,
    cyclictest, UnixBench, stress-ng, will-it-scale; and schedlab's samples as CSV or Parquet.
    Packed files are unpacked. A store of schedlab is copied run by run, as by 'schedlab store merge'.
    Any other table is read by the layout that --table states. See docs/importing.md.
    """
    from schedlab.cli.console import make
    from schedlab.importers.outline import outline
    from schedlab.report import imports as shown
    from schedlab.store.merging import is_store

    console = make()
    stores = [source for source in sources if source.path is None or is_store(source.path)]
    if stores:
        _import_stores(stores, sources, store, output)
        return
    paths = [source.file for source in sources]
    statements = Statements(names or [], baseline, lower or [], higher or [], table or [])
    if not (dry_run or again or form) and statements == Statements([], None, [], [], []) and _are_exports(paths):
        _import_exports(paths, store, output)
        return
    imports = _read(paths, form, statements)
    outlines = [outline(imported) for imported in imports]
    if dry_run:
        if output is OutputFormat.JSON:
            echo(shown.to_json(outlines))
        else:
            console.print(shown.render(outlines))
        return
    recorded = _record(store_path(store), imports, again=again)
    runs = [run for group in recorded for run in group]
    if output is OutputFormat.JSON:
        made = [{"id": run.id, "name": run.name, "path": run.experiment_path} for run in runs]
        echo(shown.to_json(outlines, made))
    else:
        _summarise(console, outlines, recorded, store)


def _import_stores(
    stores: Sequence[Location], sources: Sequence[Location], to: Location | None, form: OutputFormat
) -> None:
    """Copy the runs of schedlab's stores; SchedlabError if the list also contains other paths."""
    from schedlab.cli.store_merge_command import merge
    from schedlab.errors import SchedlabError

    if len(stores) < len(sources):
        raise SchedlabError(
            "is a store, and other paths are not stores",
            where=str(stores[0]),
            todo=("import stores in a separate command"),
        )
    merge(list(stores), to, form)


def _are_exports(paths: Sequence[Path]) -> bool:
    """Whether all paths are exports of samples that contain the records of their runs."""
    if not all(path.suffix in (".csv", ".parquet") and path.is_file() for path in paths):
        return False
    from schedlab.store.exports import has_records  # loads polars

    return all(map(has_records, paths))


def _import_exports(paths: Sequence[Path], to: Location | None, form: OutputFormat) -> None:
    """Copy the runs of exports, and print what exports lack."""
    from schedlab.cli.console import make
    from schedlab.cli.store_merge_command import copy
    from schedlab.store.exports import LOSS, read_export

    copy([location.of(path) for path in paths], store_path(to), form, lambda source: read_export(source.file))
    make(stderr=True).say("runs of exported samples:", LOSS)


def read_tables(path: Path, layouts: Sequence[str]) -> list[Table]:
    """Return the printed tables of a path; ``layouts`` are the values of ``--table``."""
    return [table for each in _read([path], None, Statements([], None, [], [], list(layouts))) for table in each.tables]


def _read(paths: Sequence[Path], form: str | None, statements: Statements) -> list[Import]:
    """Return the imports of all paths under the names that the user states; write nothing."""
    from schedlab.errors import SchedlabError
    from schedlab.importers import checks, detect

    layouts = []
    if statements.tables:
        from schedlab.importers.printed.layout import layouts as parsed

        layouts = [layout for text in statements.tables for layout in parsed(text)]
    plain = [name for name in statements.names if "=" not in name]
    if plain and len(plain) != len(paths):
        raise SchedlabError(
            f"{len(plain)} names for {len(paths)} paths",
            where="--name",
            todo="give a name for each PATH, or OLD=NEW for single columns",
        )
    imports = detect.read_all(paths, form, plain, layouts)
    columns = checks.columns_of(imports)
    changes = {}
    for name in statements.names:
        if name not in plain:
            # A column may be called "ms=10", so the longest column name that fits is taken.
            old = max((column for column in columns if name.startswith(f"{column}=")), key=len, default=None)
            if old is None:
                raise SchedlabError(
                    f"{name} renames no column", where="--name", todo=f"the columns are {', '.join(columns)}"
                )
            changes[old] = name[len(old) + 1 :]
    imports = checks.renamed(imports, changes) if changes else imports
    if statements.baseline is not None:
        imports = checks.with_baseline(imports, statements.baseline)
    directions: dict[str, Direction] = {}
    directions |= dict.fromkeys(statements.lower, "lower")
    directions |= dict.fromkeys(statements.higher, "higher")
    return checks.with_directions(imports, directions) if directions else imports


def _record(to: Location, imports: Sequence[Import], *, again: bool) -> list[list[Run]]:
    """Store the imports in one transaction and return the runs of each; StoreError if the store already contains the
    imports."""
    from schedlab.errors import StoreError
    from schedlab.importers import checks
    from schedlab.store.file import open_store
    from schedlab.store.imports import duplicates, record_imports
    from schedlab.store.reader import run

    groups = [checks.by_column(imported) for imported in imports]
    parts = [part for group in groups for part in group]
    engine = open_store(to, create=True)
    if stored := [] if again else duplicates(engine, parts):
        runs = ", ".join(f"{duplicate.name} is run {duplicate.run_id}" for duplicate in stored)
        raise StoreError(
            f"has these results already: {runs}",
            where=str(to),
            todo="nothing was imported: leave the path out, or import it once more with --again",
        )
    run_ids = iter(record_imports(engine, parts))
    return [[run(engine, next(run_ids)) for _ in group] for group in groups]


def _summarise(
    console: Console, outlines: Sequence[Outline], recorded: Sequence[Sequence[Run]], store: Location | None
) -> None:
    """Print the new runs, the omitted parts, and the next command to type."""
    from schedlab.report.imports import remarks, sums

    for imported, runs in zip(outlines, recorded, strict=True):
        console.say(f"{imported.format}:", sums(imported), "bold")
        for remark in remarks(imported):
            console.print(remark, soft_wrap=True)
        for run in runs:
            console.say(f"run {run.id}:", run.name, "bold")
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
    if any(_rows(run) & _rows(samples[0]) for run in samples[1:]):
        commands.append(["compare", *numbers])
    if samples:
        commands.append(["report", *numbers, "--format", "mmtests"])
    return [*commands, *(["report", str(run.id)] for run in runs if not run.design.questions)]


def _rows(run: Run) -> set[tuple[str, str, str]]:
    return {(question.workload, question.parameters, question.metric) for question in run.design.questions}
