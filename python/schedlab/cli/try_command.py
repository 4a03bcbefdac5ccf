"""``schedlab try``: an experiment from the arguments of a command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from schedlab.cli import complete
from schedlab.cli.appearance import appearance
from schedlab.cli.gate import ExitAs, GivenExit, GivenFailOn
from schedlab.cli.options import GivenTarget, NoStore, OutputFormat, Store, measured_path

Words = Annotated[
    list[str],
    typer.Argument(
        metavar="WORKLOAD [NAME=VALUE]...",
        autocompletion=complete.workload_words,
        help="A workload and its parameters, such as hackbench groups=1,4 (a row for each value); several workloads "
        "may follow each other. 'schedlab workloads' lists them.",
    ),
]
Variants = Annotated[
    list[str] | None,
    typer.Option(
        "--variant",
        metavar="NAME:KEY=VALUE,...",
        help="A state to compare with the machine as it is: keys of variants (policy, nice, cpus, slice, ...) and "
        "tunables ('schedlab tunables list'), such as slow:sched.base_slice_ns=6ms; may be repeated.",
    ),
]
Blocks = Annotated[int | None, typer.Option(metavar="N", help="Number of blocks; default 8.")]
Iterations = Annotated[int | None, typer.Option(metavar="N", help="Iterations in a block; default 1.")]
Delta = Annotated[str | None, typer.Option(metavar="SHARE", help="Margin of equivalence; default 1%.")]


def try_(
    words: Words,
    variant: Variants = None,
    blocks: Blocks = None,
    iterations: Iterations = None,
    delta: Delta = None,
    target: GivenTarget = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the experiment to a new file instead of printing it.")
    ] = None,
    store: Store = None,
    no_store: NoStore = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the experiment, its plan and missing requirements; run nothing.")
    ] = False,
    form: Annotated[
        OutputFormat,
        typer.Option("--format", help="text for people; json for scripts: the report, or the plan with --dry-run."),
    ] = OutputFormat.TEXT,
    resume: Annotated[
        bool, typer.Option("--resume", help=("Go on with an interrupted run with the same arguments."))
    ] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed of the run; default a new seed.")] = None,
    fail_on: GivenFailOn = None,
    exit_as: GivenExit = ExitAs.CODES,
) -> None:
    """Run an experiment without a file, and print the equivalent experiment file and the verdicts."""
    from schedlab.cli import experiment_run
    from schedlab.cli.console import make
    from schedlab.execution.runs import Request, Source
    from schedlab.files.output_file import write_new
    from schedlab.targets.selection import drafted

    as_json = form is OutputFormat.JSON
    tried = drafted(words, variant or [], blocks=blocks, iterations=iterations, delta=delta, target=target)
    experiment, text = tried.parsed(), tried.text
    if save is not None and not resume:
        write_new(save, text, "--save")
        make(stderr=as_json).hint("wrote", str(save))
    elif not (save or as_json or appearance.quiet):
        make().print(text, style="dim", soft_wrap=True)
    name = str(save) if save else f"{experiment.experiment.name}.toml"
    source = Source(name, experiment, text)
    where = measured_path(store, no_store=no_store, resume=resume)
    request = Request(source, where, seed=seed, resume=resume)
    if dry_run:
        raise typer.Exit(experiment_run.show_plan(request, verbose=appearance.verbose, as_json=as_json))
    raise typer.Exit(experiment_run.run_and_report(request, fail_on, exit_as, as_json=as_json))
