"""The steps of ``schedlab run``."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from schedlab.cli import plan_json, plan_text, progress
from schedlab.cli.answering import AnswerFormat, present
from schedlab.cli.console import Console, make
from schedlab.cli.echo import echo
from schedlab.cli.gate import ExitAs, FailOn, verdict_code
from schedlab.cli.interruption import UNDONE, ending, measuring
from schedlab.cli.options import again, store_words
from schedlab.errors import Exit, RunStopped, StoreError
from schedlab.execution.design_size import quick
from schedlab.execution.estimate import Estimate, estimate
from schedlab.execution.loop import download, execute, require_runnable
from schedlab.execution.sample_size import Sizing, sizing
from schedlab.experiment import changes as changing
from schedlab.experiment.changes import Changes
from schedlab.experiment.load import load
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import Plan, plan
from schedlab.findings.run import Findings, findings
from schedlab.report.answers.report import compose
from schedlab.report.build import build
from schedlab.report.render import json
from schedlab.store import backends, reader, writer
from schedlab.store.file import open_store
from schedlab.store.location import Location
from schedlab.targets.protocol import Download, MissingRequirement, Target
from schedlab.targets.selection import boots_of, choose, table_of


@dataclass(frozen=True)
class Source:
    """The experiment of a command.

    Attributes:
        name: name of its file, for messages and for the store.
        words: words of the command line that name this experiment.
        load: return the experiment and the text that repeats it.
    """

    name: str
    words: Sequence[str]
    load: Callable[[], tuple[Experiment, str]]


def file_source(file: Path, changes: Changes) -> Source:
    """Return the experiment of a file with the changes of the command line."""

    def load_changed() -> tuple[Experiment, str]:
        experiment, text = load(file)
        return changing.apply(changes, experiment, text, str(file))

    return Source(str(file), ("run", str(file), *changes.words), load_changed)


@dataclass(frozen=True)
class Request:
    """The arguments of the command."""

    source: Source
    store: Location
    quick: bool
    seed: int | None
    resume: bool
    sysroot: Path | None
    target: str | None = None
    fleet: str = ""


@dataclass(frozen=True)
class Pilot:
    """A stored run whose noise gives the size of an experiment: its number, the change to find (None: the file's
    delta), and the probability of finding such a change."""

    run: int
    effect: float | None
    power: float


@dataclass(frozen=True)
class Examined:
    """A plan that was examined on its target without a change there."""

    plan: Plan
    expected: Estimate
    downloads: Sequence[Download]
    missing: Sequence[MissingRequirement]
    target: str
    sizing: Sizing | None

    @property
    def status(self) -> Exit:
        """The exit code of ``--dry-run``."""
        return Exit.CANNOT_RUN if self.missing else Exit.FINE

    def fields(self) -> dict[str, Any]:
        """Return the plan for JSON."""
        downloads = [each.what for each in self.downloads]
        return plan_json.fields(self.plan, self.expected, downloads, self.missing, self.sizing)


def examined(request: Request, pilot: Pilot | None = None) -> Examined:
    """Examine the plan of a request: its size, the estimated time, and the reasons why the run cannot start."""
    trial_plan, _ = _plan(request, None)
    engine = open_store(request.store, create=False) if backends.exists(request.store) else None
    target = _target(request, trial_plan.experiment)
    expected = _estimate(request, trial_plan, engine, target)
    sized = None
    if pilot is not None:
        store = engine or open_store(request.store, create=False)
        sized = sizing(trial_plan, store, pilot.run, pilot.effect, pilot.power)
    missing = target.missing_requirements(trial_plan)
    return Examined(trial_plan, expected, target.downloads(), missing, target.name, sized)


def show_plan(request: Request, pilot: Pilot | None = None, *, verbose: bool, as_json: bool) -> Exit:
    """``--dry-run``: print what would run, the estimated time, and the reasons why the run cannot start here."""
    here = examined(request, pilot)
    if as_json:
        echo(plan_json.text(here.fields()))
        return here.status
    console = make()
    plan_text.show(console, here.plan, here.target, here.expected, here.downloads, here.missing, here.sizing)
    if here.sizing is not None:
        plan_text.show_sizing(console, here.plan, here.sizing)
    if verbose:
        plan_text.show_details(console, here.plan, here.expected)
    return here.status


def show_download(description: str) -> None:
    """Print the description of a file before the download."""
    make().print(f"downloading {description}", style="dim")


def run_and_report(request: Request, fail_on: FailOn | None, exit_as: ExitAs, *, as_json: bool = False) -> int:
    """Run the experiment, store its trials and print the report; return the exit code.

    As JSON, the report is all of standard output; progress and hints go to standard error.
    """
    console = make()
    aside = make(stderr=True) if as_json else console
    results = judged(request, aside)
    if as_json:
        echo(json.render(compose(build(results))), nl=False)
    else:
        present(compose(build(results)), AnswerFormat.TEXT, width=console.width)
        console.hint("\nstore:", "" if request.store.temporary else str(request.store))
    shown = ["schedlab", "report", str(results.run.id), *store_words(request.store)]
    aside.hint("again:", shlex.join(again(request.store, shown)))
    return verdict_code(results, fail_on, exit_as)


def judged(request: Request, aside: Console, *, complete: bool = False) -> Findings:
    """Run the experiment and judge the trials; progress and messages go to ``aside``.

    With ``complete``, a resumed run may be complete: its trials are judged again.

    A signal ends the command, after a message with the command that resumes the run.
    """
    unfinished = None
    if request.resume:
        unfinished = unfinished_run(open_store(request.store, create=False), request, complete=complete)
    with ending(aside, UNDONE, again(request.store, resuming(request))):
        engine, run_id = measure(request, aside, unfinished)
    return findings(engine, run_id)


def measure(
    request: Request, aside: Console, unfinished: reader.Run | None, target: Target | None = None
) -> tuple[Engine, int]:
    """Run the experiment, or go on with its unfinished run, and store the trials, with progress on ``aside``.

    ``target`` takes the place of the target that the request names. Return the store and the run's number.
    """
    trial_plan, source = _plan(request, unfinished)
    target = target or _target(request, trial_plan.experiment)
    require_runnable(trial_plan, target, show_download)
    engine = open_store(request.store, create=True)
    run_id = unfinished.id if unfinished else begin(engine, request, trial_plan, source, target)
    try:
        expected = _estimate(request, trial_plan, engine, target)
        with measuring(aside, target), progress.shown(aside, trial_plan, expected) as report:
            execute(trial_plan, target, engine, run_id, report)
    except BrokenPipeError as error:
        raise RunStopped from error
    return engine, run_id


def _estimate(request: Request, trial_plan: Plan, engine: Engine | None, target: Target) -> Estimate:
    booted = boots_of(trial_plan, table_of(request.target, trial_plan.experiment))
    return estimate(trial_plan, engine, target.name, virtual=target.virtual, boots=booted)


def same_place(request: Request) -> list[str]:
    """The options with which another command uses the same store and the same target."""
    sysroot = ["--sysroot", str(request.sysroot)] if request.sysroot else []
    target = ["--target", request.target] if request.target else []
    return [*store_words(request.store), *sysroot, *target]


def resuming(request: Request) -> list[str]:
    """Return the command line that resumes the run."""
    return ["schedlab", *request.source.words, *same_place(request), "--resume"]


def _target(request: Request, experiment: Experiment) -> Target:
    return choose(request.target, experiment, request.sysroot)


def _plan(request: Request, unfinished: reader.Run | None) -> tuple[Plan, str]:
    """The plan, and the text of the file. An unfinished run keeps its seed and size."""
    experiment, source = request.source.load()
    is_quick = unfinished.quick if unfinished else request.quick
    seed = unfinished.seed if unfinished else request.seed
    if is_quick:
        experiment = quick(experiment, table_of(request.target, experiment))
    if seed is None:
        seed = experiment.design.seed
    return plan(experiment, secrets.randbits(32) if seed is None else seed, quick=is_quick), source


def begin(
    engine: Engine,
    request: Request,
    trial_plan: Plan,
    source: str,
    target: Target,
    *,
    bisection: bool = False,
    candidate: str = "",
    tuning: str = "",
    confirms: int = 0,
) -> int:
    """Record a new run, and return its number."""
    fingerprint = target.fingerprint()
    new = writer.NewRun(
        plan=trial_plan,
        target=target.name,
        kind=target.kind,
        quick=request.quick,
        experiment_file=source,
        experiment_path=request.source.name,
        fingerprint=fingerprint,
        fingerprint_hash=target.fingerprint_hash(fingerprint),
        bisection=bisection,
        candidate=candidate,
        tuning=tuning,
        confirms=confirms,
        fleet=request.fleet,
    )
    return writer.begin(engine, new)


def unfinished_run(engine: Engine, request: Request, *, complete: bool = False) -> reader.Run:
    """Return the newest incomplete run of this file; StoreError when the run does not exist or cannot continue here.

    With ``complete``, also return a complete run: a search with a larger budget continues the run.
    """
    experiment, source = request.source.load()
    where, name = str(request.store), experiment.experiment.name
    waiting = [run for run in reader.runs(engine) if run.name == name and (complete or run.state != "complete")]
    if request.fleet:
        waiting = [run for run in waiting if (run.design.fleet, run.target) == (request.fleet, request.target)]
    if not waiting:
        raise StoreError(f"contains no unfinished run of {name!r}", where=where, todo="start a new run: omit --resume")
    run = next((run for run in waiting if run.experiment_file == source), None)
    if run is None:
        raise StoreError(
            f"run {waiting[0].id} was made from another version of {request.source.name}, or with other options",
            where=where,
            todo="repeat the options of the run, restore its file "
            f"('schedlab store show {waiting[0].id} --file' prints the stored file), or start a new run",
        )
    if (request.seed is not None and request.seed != run.seed) or (request.quick and not run.quick):
        raise StoreError(
            f"run {run.id} has seed {run.seed} and is {'quick' if run.quick else 'of full size'}",
            where=where,
            todo="omit --seed and --quick, which --resume keeps, or start a new run",
        )
    target = _target(request, experiment)
    if run.target == target.name:
        download(target, show_download)  # the cache may have been emptied; only files that are here can be compared
    if (run.target, run.kind) != (target.name, target.kind) or target.changes(run.fingerprint):
        another = [f"target ({run.target} → {target.name})"] if run.target != target.name else []
        changed = "; ".join(another or target.changes(run.fingerprint)) or f"{run.kind} → {target.kind}"
        raise StoreError(
            f"run {run.id} was begun on another machine or configuration: {changed}",
            where=where,
            todo="resume on that machine, or start a new run here: a run contains trials of one machine only",
        )
    return run
