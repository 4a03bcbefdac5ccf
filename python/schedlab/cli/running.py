"""What ``schedlab run`` does, step by step."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from signal import SIGTERM

from rich.console import Console
from sqlalchemy import Engine

from schedlab.cli import plan_view, progress
from schedlab.cli.recovery import recover
from schedlab.errors import Exit, StoreError
from schedlab.execution.estimate import estimate
from schedlab.execution.loop import execute, require_runnable
from schedlab.experiment.load import load
from schedlab.experiment.plan import Plan, plan
from schedlab.experiment.quick import quick as quicken
from schedlab.report import text
from schedlab.report.findings import Findings, findings
from schedlab.store import reading, writing
from schedlab.store.file import open_store
from schedlab.targets.host import Host
from schedlab.targets.protocol import Target
from schedlab.tunables import Interrupted, restore_on_signals

console = Console(highlight=False)


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    file: Path
    store: Path
    quick: bool
    seed: int | None
    resume: bool
    sysroot: Path | None


def show_plan(request: Request) -> None:
    """``--dry-run``: the plan in the order it would run, its size and estimated time, and what would stop it here."""
    made, _ = _plan(request, None)
    known = open_store(request.store, create=False) if request.store.exists() else None
    plan_view.show(console, made, estimate(made, known))
    for obstacle in _target(request).obstacles(made):
        console.print(f"[yellow]cannot run here:[/] {obstacle}", soft_wrap=True)


def run_and_report(request: Request, *, fail_on_worse: bool) -> Exit:
    """Run, store, report; the exit code."""
    recover(console)
    engine = open_store(request.store, create=True)
    unfinished = _unfinished(engine, request) if request.resume else None
    made, source = _plan(request, unfinished)
    target = _target(request)
    require_runnable(made, target)
    run_id = unfinished.id if unfinished else _begin(engine, request, made, source, target)
    try:
        with restore_on_signals(), progress.shown(console, made, estimate(made, engine)) as tell:
            execute(made, target, engine, run_id, tell)
    except KeyboardInterrupt as error:
        again = f"schedlab run {request.file} --store {request.store} --resume"
        console.print(f"\ninterrupted; what was changed is undone. Go on with: {again}", soft_wrap=True)
        return Exit.TERMINATED if isinstance(error, Interrupted) and error.signum == SIGTERM else Exit.INTERRUPTED
    finally:
        for leftover in target.leftovers:
            console.print(f"[red]not put back:[/] {leftover}", soft_wrap=True)
    found = findings(engine, run_id)
    console.print(text.render(found))
    console.print(f"\nstore: {request.store}  (again with: schedlab report {run_id})", soft_wrap=True)
    return exit_code(found, fail_on_worse=fail_on_worse)


def exit_code(found: Findings, *, fail_on_worse: bool) -> Exit:
    """Failed trials first: a verdict over what is left is not the whole answer."""
    if len(found.failures):
        return Exit.TRIALS_FAILED
    worse = any(verdict.word == "worse" and not verdict.control for verdict in found.verdicts)
    return Exit.REGRESSION if worse and fail_on_worse else Exit.FINE


def _target(request: Request) -> Target:
    return Host(request.sysroot) if request.sysroot else Host()


def _plan(request: Request, unfinished: reading.Run | None) -> tuple[Plan, str]:
    """The plan, and the file's text; an unfinished run brings its own seed and size."""
    experiment, source = load(request.file)
    is_quick = unfinished.quick if unfinished else request.quick
    if is_quick:
        experiment = quicken(experiment)
    seed = unfinished.seed if unfinished else request.seed
    if seed is None:
        seed = experiment.design.seed
    return plan(experiment, secrets.randbits(32) if seed is None else seed, quick=is_quick), source


def _begin(engine: Engine, request: Request, made: Plan, source: str, target: Target) -> int:
    fingerprint = target.fingerprint()
    new = writing.NewRun(
        plan=made,
        target=target.name,
        kind=target.kind,
        quick=request.quick,
        experiment_file=source,
        experiment_path=str(request.file),
        fingerprint=fingerprint,
        fingerprint_hash=target.fingerprint_hash(fingerprint),
    )
    return writing.begin(engine, new)


def _unfinished(engine: Engine, request: Request) -> reading.Run:
    """The newest run of this very file that is not complete, on this very machine; StoreError tells what differs."""
    experiment, source = load(request.file)
    name = experiment.experiment.name
    for run in reading.runs(engine):
        if run.name != name or run.state == "complete":
            continue
        if run.experiment_file != source:
            raise StoreError(
                f"run {run.id} was made from another version of {request.file}",
                where=str(request.store),
                todo="put the file back as it was ('schedlab runs --file RUN' prints it) or start a new run",
            )
        target = _target(request)
        if run.fingerprint_hash != target.fingerprint_hash(target.fingerprint()):
            raise StoreError(
                f"run {run.id} was begun on another machine or configuration ({run.fingerprint_hash})",
                where=str(request.store),
                todo="go on there, or start a new run here: trials of two machines do not make one run",
            )
        return run
    raise StoreError(f"holds no unfinished run of {name!r}", where=str(request.store), todo="run it without --resume")
