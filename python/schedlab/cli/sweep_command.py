"""``schedlab sweep``: the response of a figure to many factors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli import complete
from schedlab.cli.options import NoStore, Output, Store, SweepFormat, measured_path, run_number, store_path


def sweep(
    file: Annotated[Path | None, typer.Argument(help="The experiment file with [sweep].")] = None,
    ray: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Work in a Ray cluster, or with 'local' in Ray's processes here."),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Processes on this machine; default one for each CPU.")
    ] = None,
    store: Store = None,
    no_store: NoStore = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed; default the file's, or a new seed.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted sweep of this file.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print points and cells, and start nothing.")] = False,
    show: Annotated[
        str | None,
        typer.Option(metavar="RUN", autocompletion=complete.runs, help="Print the report of a stored sweep."),
    ] = None,
    form: Annotated[
        SweepFormat,
        typer.Option(
            "--format",
            help="text for a terminal, markdown for a mail, html for a browser, json for scripts; csv and parquet have "
            "a line for each cell.",
        ),
    ] = SweepFormat.TEXT,
    output: Output = None,
) -> None:
    """Simulate or measure every point of a design, and report the response of a figure to each factor.

    Factors are tunables, parameters of the workload, targets, machines and kernels, and keys of their models. Each
    point is measured once in each block. A killed worker loses at most its chunk of cells; --resume does the others.
    """
    from schedlab.cli import sweep_run
    from schedlab.execution.runs import Request, file_source
    from schedlab.execution.workers import Place
    from schedlab.experiment.changes import Changes
    from schedlab.store.design import Purpose

    if show is None:
        where = measured_path(store, no_store=no_store, resume=resume)
        source = file_source(sweep_run.named(file), Changes())
        request = Request(source, where, seed=seed, resume=resume, purpose=Purpose(sweep=True))
        if dry_run:
            sweep_run.show_points(request)
            return
        raise typer.Exit(sweep_run.sweep_and_print(request, Place(ray, jobs), form, output))
    sweep_run.print_report(store_path(store), run_number(store, show), form, output)
