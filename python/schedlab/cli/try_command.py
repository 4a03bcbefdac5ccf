"""``schedlab try``: an experiment from the arguments of a command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from schedlab.cli import complete
from schedlab.cli.appearance import appearance
from schedlab.cli.gate import ExitAs, GivenExit, GivenFailOn
from schedlab.cli.options import GivenTarget, NoStore, OutputFormat, Store, measured_path

if TYPE_CHECKING:
    from schedlab.experiment.draft import Draft

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
    from schedlab.cli.output_file import write_new

    design = {"--blocks": blocks, "--iterations": iterations, "--delta": delta, "--target": target}
    as_json = form is OutputFormat.JSON
    tried = drafted(words, variant or [], design)
    experiment, text = tried.parsed(), tried.text
    options = [word for option, value in design.items() if value is not None for word in (option, str(value))]
    options += [word for each in variant or [] for word in ("--variant", each)]
    if save is not None:
        write_new(save, text, "--save")
        make(stderr=as_json).hint("wrote", str(save))
    elif not (as_json or appearance.quiet):
        make().print(text, style="dim", soft_wrap=True)
    name = str(save) if save else f"{experiment.experiment.name}.toml"
    source = experiment_run.Source(name, ["try", *words, *options], lambda: (experiment, text))
    where = measured_path(store, no_store=no_store, resume=resume)
    request = experiment_run.Request(source, where, False, seed, resume, None)
    if dry_run:
        raise typer.Exit(experiment_run.show_plan(request, verbose=appearance.verbose, as_json=as_json))
    raise typer.Exit(experiment_run.run_and_report(request, fail_on, exit_as, as_json=as_json))


def drafted(
    words: list[str], variants: list[str], options: dict[str, Any], about: dict[str, str] | None = None
) -> Draft:
    """Return the experiment of these arguments; ``options`` has the values of ``--blocks`` and so on.

    A target of the command line becomes a ``[target]`` table, so that the text alone repeats the experiment.
    """
    from schedlab.experiment.draft import draft
    from schedlab.targets.selection import table_of

    design = {
        "design.blocks": ("--blocks", options["--blocks"]),
        "design.iterations": ("--iterations", options["--iterations"]),
        "analysis.delta": ("--delta", options["--delta"]),
    }
    plain = draft(words, variants, design, about=about)
    if options["--target"] is None:
        return plain
    table = table_of(options["--target"], plain.parsed())
    return draft(words, variants, design, table.model_dump(exclude_defaults=True), about)
