"""``schedlab report``: stored runs, judged again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli import complete
from schedlab.cli.formats import (
    Baseline,
    Form,
    Format,
    GivenLayout,
    GivenStars,
    Output,
    RawP,
    Samples,
    Wanted,
    Width,
)
from schedlab.cli.gate import ExitAs, GivenExit, GivenFailOn, verdict_code
from schedlab.cli.options import Store, store_path

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from schedlab.cli.report_output import Scope


def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RUN...",
            autocompletion=complete.runs,
            help="Numbers or names; several are compared. Default the newest run; if that was imported, all imported "
            "runs that share rows with it.",
        ),
    ] = None,
    store: Store = None,
    form: Form = Format.TEXT,
    output: Output = None,
    baseline: Baseline = None,
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
    scope = scope_of(engine, runs or [], baseline, store, ranks=form is not Format.MMTESTS)
    if failures:
        _print_failures(engine, scope)
        return
    present(scope, Wanted(form, output, stars, layout, width, samples, counters, tuple(counter or ()), raw_p))
    if fail_on or exit_as is ExitAs.BISECT:
        raise typer.Exit(verdict_code(scope.findings, fail_on, exit_as))


def _print_failures(engine: Engine, scope: Scope) -> None:
    from schedlab.notation.controls import escaped
    from schedlab.store.reader import failed_outputs

    for run_id in dict.fromkeys(column.run.id for column in scope.chosen):
        for text in failed_outputs(engine, run_id):
            typer.echo(escaped(text))
