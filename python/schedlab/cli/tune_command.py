"""``schedlab tune``: the best values of tunables, confirmed on fresh blocks."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from schedlab.api.defaults import TUNE_BLOCKS, TUNE_POINTS
from schedlab.cli import complete
from schedlab.cli.answering import AnswerForm, AnswerFormat, present
from schedlab.cli.options import (
    GivenTarget,
    NoStore,
    Output,
    Store,
    Sysroot,
    lasting,
    measured_path,
    resuming,
    run_number,
    store_path,
    this_command,
)


class SamplerName(StrEnum):
    """Samplers of Optuna."""

    TPE = "tpe"
    GP = "gp"
    NSGA2 = "nsga2"
    RANDOM = "random"


def tune(
    file: Annotated[Path | None, typer.Argument(help="The experiment file, with the default as its variant.")] = None,
    metric: Annotated[
        str | None, typer.Option(metavar="NAME", help="The metric to improve; default the file's judged metric.")
    ] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A further metric to improve; may be repeated. The best trade-offs win."),
    ] = None,
    constraint: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A metric that must not become worse; may be repeated."),
    ] = None,
    tunable: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Also search this tunable, in the catalogue's range; may be repeated."),
    ] = None,
    trials: Annotated[int, typer.Option(metavar="N", min=1, help="Most points of the search.")] = TUNE_POINTS,
    budget: Annotated[str | None, typer.Option(metavar="TIME", help="Longest time of the search, such as 2h.")] = None,
    sampler: Annotated[
        SamplerName | None,
        typer.Option(
            help="tpe, gp (needs PyTorch) and nsga2 learn from earlier points, random does not; default tpe, and nsga2 "
            "for several objectives."
        ),
    ] = None,
    warm_start: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            autocompletion=complete.runs,
            help="Measure the best points of this search first, such as a search on a simulated machine.",
        ),
    ] = None,
    blocks: Annotated[int, typer.Option(metavar="N", min=1, help="Blocks of each point of the search.")] = TUNE_BLOCKS,
    confirm: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Fresh blocks that confirm the winner; default the file's.")
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Measure points at the same time in a Ray cluster, or here with 'local'."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Points at the same time, on simulated machines and counted guests."),
    ] = None,
    store: Store = None,
    no_store: NoStore = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed; default the file's, or a new seed.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the newest search of this file.")] = False,
    show: Annotated[
        str | None,
        typer.Option(metavar="RUN", autocompletion=complete.runs, help="Print the result of a stored search."),
    ] = None,
    target: GivenTarget = None,
    sysroot: Sysroot = None,
    form: AnswerForm = AnswerFormat.TEXT,
    output: Output = None,
) -> None:
    """Search for better values of tunables, and measure the winner again on fresh blocks.

    The search space is the tunables of [sweep.factors] and --tunable. Only the verdict on the fresh blocks is a
    result: the figure of the search is optimistic, because it is the best of many figures.
    """
    from schedlab.api.tuning import tune as search
    from schedlab.cli.console import make
    from schedlab.cli.watching import Shown
    from schedlab.errors import ExperimentError
    from schedlab.findings.tuning import tuned
    from schedlab.report.answers.tune import compose
    from schedlab.store.file import open_store

    words: list[str] = []
    if show is not None:
        where = store_path(store)
        found = tuned(open_store(where, create=False), run_number(store, show))
    elif file is None:
        todo = "name an experiment file, or --show RUN"
        raise ExperimentError("no file is named", where="tune", todo=todo)
    else:
        where, words = measured_path(store, no_store=no_store, resume=resume), this_command()
        found = search(
            file, metric=metric, objective=objective or (), constraint=constraint or (), tunable=tunable or (),
            trials=trials, budget=budget, sampler=sampler.value if sampler else None,
            warm_start=None if warm_start is None else run_number(store, warm_start), blocks=blocks, confirm=confirm,
            ray=ray, jobs=jobs, store=where, seed=seed, resume=resume, target=target, sysroot=sysroot,
            watch=Shown(make(stderr=True), resuming(where)),
        )  # fmt: skip
    present(compose(found.found, found.confirmed, found.first, lasting(where), words), form, output)
