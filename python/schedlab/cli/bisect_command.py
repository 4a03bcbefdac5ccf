"""``schedlab bisect``: the first of many states that changed a figure, although every measurement is noisy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from schedlab.api.defaults import BISECT_BLOCKS
from schedlab.cli import complete
from schedlab.cli.answering import AnswerForm, AnswerFormat
from schedlab.cli.options import (
    GivenTarget,
    NoStore,
    Output,
    Store,
    Sysroot,
    measured_path,
    run_number,
    store_path,
)


def bisect(
    file: Annotated[
        Path | None, typer.Argument(help="The experiment file; its variants are the states, in order.")
    ] = None,
    good: Annotated[
        str | None, typer.Option(metavar="NAME", help="The first variant; default the file's first.")
    ] = None,
    bad: Annotated[str | None, typer.Option(metavar="NAME", help="The last variant; default the file's last.")] = None,
    commits: Annotated[
        str | None,
        typer.Option(metavar="GOOD..BAD", help="The states are the commits of this range of a git repository."),
    ] = None,
    tree: Annotated[
        Path, typer.Option(metavar="DIR", help="The git repository of --commits. schedlab only reads the repository.")
    ] = Path(),
    build: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="Shell command that builds a commit in its folder.")
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            metavar="TARGET",
            help="The commits are kernels: build them with this make target or .config, as 'kernels build' does.",
        ),
    ] = None,
    states: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The states are shell commands, one a line, in order.")
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND", help="Shell command to measure, in a commit's folder or after a state's command."
        ),
    ] = None,
    blocks: Annotated[int, typer.Option(metavar="N", min=1, help="Most blocks of the search.")] = BISECT_BLOCKS,
    budget: Annotated[str | None, typer.Option(metavar="TIME", help="Longest time of the search, such as 2h.")] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Least change that counts; default the file's, or 1%.")
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="WORKLOAD", help="Search with this workload of the file, by its label.")
    ] = None,
    store: Store = None,
    no_store: NoStore = False,
    show: Annotated[
        str | None,
        typer.Option(
            "--show", metavar="RUN", autocompletion=complete.runs, help="Print the result of a stored search."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an interrupted search with the same arguments.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print states and missing requirements; with --from also the expected blocks."),
    ] = False,
    pilot: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="RUN",
            autocompletion=complete.runs,
            help="Take the noise of --dry-run from this stored run.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed; default a new seed.")] = None,
    target: GivenTarget = None,
    sysroot: Sysroot = None,
    form: AnswerForm = AnswerFormat.TEXT,
    output: Output = None,
) -> None:
    """Find the first of many states that changed a figure, although every measurement is noisy.

    States are the variants of a file, commits (--commits; with --config commits of a kernel) or commands (--states).
    Each block measures the first state and the state that is expected to reveal most about the change. The search ends
    at a probability of 99 %.
    """
    from schedlab.cli import bisection_run
    from schedlab.cli.console import make
    from schedlab.execution.runs import Request, Source, file_source
    from schedlab.execution.search import Budget
    from schedlab.execution.states import States
    from schedlab.experiment.changes import Changes
    from schedlab.notation.units import seconds_of
    from schedlab.store.design import Purpose
    from schedlab.store.file import open_store

    if show is not None:
        where = store_path(store)
        engine = open_store(where, create=False)
        bisection_run.print_result(engine, run_number(store, show), form, output, where)
        return
    where = measured_path(store, no_store=no_store, resume=resume)
    limits = Budget(blocks, seconds_of(budget, "--budget"))
    source = file_source(file, Changes(delta=delta, only=(only,) if only else ())) if file else None
    made_of = States(source, good, bad, commits, tree, build, config, states, run, delta)
    request = Request(
        Source(made_of.name, *made_of.experiment()), where, seed=seed, resume=resume, target=target,
        sysroot=sysroot, purpose=Purpose(bisection=True),
    )  # fmt: skip
    if dry_run:
        number = None if pilot is None else run_number(store, pilot)
        raise typer.Exit(bisection_run.show_plan(request, limits, number, builds=config is not None))
    aside = make(stderr=form is not AnswerFormat.TEXT)
    raise typer.Exit(bisection_run.search_and_print(request, made_of, limits, aside, form, output))
