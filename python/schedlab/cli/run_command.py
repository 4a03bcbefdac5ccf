"""``schedlab run``: run an experiment file on a target and print the report."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli import complete
from schedlab.cli.appearance import appearance
from schedlab.cli.gate import ExitAs, GivenExit, GivenFailOn
from schedlab.cli.options import (
    GivenTarget,
    NoStore,
    OutputFormat,
    SshConfig,
    Store,
    Sysroot,
    Tunables,
    measured_path,
    run_number,
    use_tunables,
)
from schedlab.store.location import Location

if TYPE_CHECKING:
    from schedlab.execution.runs import Pilot


def run(
    file: Annotated[Path, typer.Argument(help="The experiment file (TOML).")],
    store: Store = None,
    no_store: NoStore = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="The smallest useful size: as many blocks as a verdict needs.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print what would run, its time and what is missing; --verbose adds the trials."
        ),
    ] = False,
    pilot: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="RUN",
            autocompletion=complete.runs,
            help="With --dry-run: print also the effects that this size finds, and the needed size, by the noise of a "
            "stored run.",
        ),
    ] = None,
    effect: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="With --from: the change to find, such as 1%; default the file's delta."),
    ] = None,
    power: Annotated[
        float, typer.Option(min=0.5, max=0.99, help="With --from: the probability of finding such a change.")
    ] = 0.8,
    form: Annotated[
        OutputFormat,
        typer.Option("--format", help="text for people; json for scripts: the report, or the plan with --dry-run."),
    ] = OutputFormat.TEXT,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the newest unfinished run of this file.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Random seed of the run. Default: the file's seed, or a new seed.")
    ] = None,
    blocks: Annotated[int | None, typer.Option(metavar="N", help="Number of blocks instead of the file's.")] = None,
    iterations: Annotated[
        int | None, typer.Option(metavar="N", help="Iterations in a block instead of the file's.")
    ] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Margin of equivalence instead of the file's, such as 2%.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="WORKLOAD", help="Run this workload, by its label, without the others; may be repeated."),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Run this variant and the baseline, without the others; may be repeated."),
    ] = None,
    fail_on: GivenFailOn = None,
    exit_as: GivenExit = ExitAs.CODES,
    sysroot: Sysroot = None,
    tunables: Tunables = None,
    target: GivenTarget = None,
    ssh_config: SshConfig = None,
    fleet: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Run an experiment on this machine, over ssh, in virtual machines or simulated, and print its verdicts.

    With several machines (ssh:A,B), each machine has a separate run at the same time, and a summary follows.

    Each trial is stored before the next begins: Ctrl-C loses at most the running trial, and every tunable is put back.
    """
    from schedlab.cli import experiment_run
    from schedlab.execution.runs import Request, file_source
    from schedlab.experiment.changes import Changes
    from schedlab.store.design import Purpose
    from schedlab.targets.selection import machines

    noise = _pilot(store, pilot, effect, power, dry_run=dry_run)
    if ssh_config is not None:
        os.environ["SCHEDLAB_SSH_CONFIG"] = str(ssh_config)
    use_tunables(tunables)
    source = file_source(file, Changes(blocks, iterations, delta, tuple(only or ()), tuple(variant or ())))
    where = measured_path(store, no_store=no_store, resume=resume)
    request = Request(source, where, quick, seed, resume, target, sysroot, Purpose(fleet=fleet))
    as_json = form is OutputFormat.JSON
    if fleet:
        end_with_input()
    elif names := machines(target, source.experiment):
        from schedlab.cli import fleet_run

        if dry_run:
            raise typer.Exit(fleet_run.show_plans(request, names, noise, verbose=appearance.verbose, as_json=as_json))
        raise typer.Exit(fleet_run.run_and_summarise(request, names, fail_on, exit_as, as_json=as_json))
    if dry_run:
        raise typer.Exit(experiment_run.show_plan(request, noise, verbose=appearance.verbose, as_json=as_json))
    raise typer.Exit(experiment_run.run_and_report(request, fail_on, exit_as, as_json=as_json))


def _pilot(store: Location | None, run: str | None, effect: str | None, power: float, *, dry_run: bool) -> Pilot | None:
    """Return the pilot that the options name; SchedlabError for options without a meaning."""
    from schedlab.errors import SchedlabError
    from schedlab.execution.runs import Pilot

    if run is None:
        if effect is not None:
            raise SchedlabError("the noise is not known without a run", where="--effect", todo="name a run with --from")
        return None
    if not dry_run:
        raise SchedlabError("has no meaning for a run, only for its plan", where="--from", todo="add --dry-run")
    return Pilot.of(run_number(store, run), effect, power)


def end_with_input() -> None:
    """End the run in order when standard input ends: a machine's run must not outlive the command for all machines."""

    def watch() -> None:
        while os.read(0, 1 << 12):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
