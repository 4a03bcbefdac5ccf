"""``schedlab report``: stored runs, judged again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli import complete
from schedlab.cli.echo import echo
from schedlab.cli.formats import (
    Baseline,
    Form,
    Format,
    GivenLayout,
    GivenStars,
    RawP,
    Samples,
    Wanted,
    Width,
)
from schedlab.cli.gate import ExitAs, FailOn, GivenExit, GivenFailOn, verdict_code
from schedlab.cli.options import Output, Store, store_path

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Engine

    from schedlab.cli.report_output import Scope


def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN...",
            autocompletion=complete.runs,
            help="Numbers, names, or latest; several are compared. Default the newest run; if that was imported, all "
            "imported runs that share rows with it.",
        ),
    ] = None,
    store: Store = None,
    form: Form = Format.TEXT,
    output: Output = None,
    baseline: Baseline = None,
    control: Annotated[
        bool, typer.Option("--control/--no-control", help="Show the A/A control, which repeats the baseline.")
    ] = True,
    stars: GivenStars = None,
    layout: GivenLayout = None,
    width: Width = None,
    samples: Samples = False,
    raw_p: RawP = False,
    counters: Annotated[
        bool, typer.Option("--counters", help="Also show what the kernel did differently (text: the headlines).")
    ] = False,
    counter: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Show instead the counters whose name contains this, also counters of single CPUs; may be repeated, "
            "may contain *.",
        ),
    ] = None,
    failures: Annotated[
        bool, typer.Option("--failures", help="Print each failed trial with its output instead.")
    ] = False,
    machines: Annotated[
        bool,
        typer.Option(
            "--machines",
            help="Print the summary over machines instead: over the machines of a run on several machines, or over "
            "the given runs (text, markdown, html, json).",
        ),
    ] = False,
    fail_on: GivenFailOn = None,
    exit_as: GivenExit = ExitAs.CODES,
) -> None:
    """Print the report of a run, or of several runs side by side."""
    import gc

    # A report takes a second and most of its objects are needed until the end, so garbage collection would only cost
    # time.
    gc.disable()
    from schedlab.cli.report_output import present, scope_of
    from schedlab.store.file import open_store

    engine = open_store(store_path(store), create=False)
    if machines:
        raise typer.Exit(_summarise(engine, runs or [], form, output, fail_on, exit_as))
    scope = scope_of(engine, runs or [], baseline, store, ranks=form not in (Format.MMTESTS, Format.PCT_IMP))
    scope.control = control
    if failures:
        _print_failures(engine, scope)
    else:
        present(scope, Wanted(form, output, stars, layout, width, samples, counters, tuple(counter or ()), raw_p))
    if fail_on or exit_as is ExitAs.BISECT:
        raise typer.Exit(verdict_code(scope.findings, fail_on, exit_as))


def _summarise(
    engine: Engine, words: list[str], form: Format, output: Path | None, fail_on: FailOn | None, exit_as: ExitAs
) -> int:
    """Print the summary over machines; return the exit code."""
    from schedlab.cli import fleet_run
    from schedlab.cli.answering import present
    from schedlab.cli.report_output import ANSWERS
    from schedlab.errors import SchedlabError
    from schedlab.execution.fleet import runs_of
    from schedlab.findings.machines import Machine, fleet
    from schedlab.report.answers.machines import compose
    from schedlab.store import reader, selection

    if form not in ANSWERS:
        todo = f"omit --machines, or use {', '.join(ANSWERS)}"
        raise SchedlabError(f"a summary over machines has no format {form.value}", where="--format", todo=todo)
    named = [selection.one_run(engine, word) for word in words] or [reader.run(engine, None)]
    chosen = runs_of(engine, named[0]) if len(named) == 1 else named
    targets = [run.target for run in chosen]
    judged = fleet(
        engine,
        [Machine(run.target if targets.count(run.target) == 1 else f"{run.target} (run {run.id})", run)
         for run in chosen],
    )  # fmt: skip
    present(compose(judged), ANSWERS[form], output)
    return fleet_run.code(judged, fail_on, exit_as)


def _print_failures(engine: Engine, scope: Scope) -> None:
    from schedlab.store.reader import failed_outputs

    for run_id in dict.fromkeys(column.run.id for column in scope.chosen):
        for text in failed_outputs(engine, run_id):
            echo(text)
