"""The steps of ``schedlab sweep``."""

from __future__ import annotations

import io
import secrets
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from sqlalchemy import Engine

from schedlab.cli.answering import AnswerFormat, present
from schedlab.cli.appearance import appearance
from schedlab.cli.console import Console, make
from schedlab.cli.experiment_run import show_download
from schedlab.cli.interruption import INTERRUPTED, ending
from schedlab.cli.options import SweepFormat, again, lasting
from schedlab.cli.report_output import write
from schedlab.errors import Exit, ExperimentError, StoreError
from schedlab.execution.cells import target_of
from schedlab.execution.loop import require_runnable
from schedlab.execution.sweep import Progress as Report
from schedlab.execution.sweep import run_sweep
from schedlab.execution.workers import Place, require_ray
from schedlab.experiment.load import load
from schedlab.experiment.sweep import Sweep
from schedlab.experiment.sweep import sweep as expand
from schedlab.findings.sweep import sweep_findings
from schedlab.notation.units import counted
from schedlab.observe.fingerprint import differences, stable_hash
from schedlab.report.answers.sweep import compose, size
from schedlab.results.kinds import SIMULATED
from schedlab.results.measurement import Measurement
from schedlab.store import reader, writer
from schedlab.store.file import open_store
from schedlab.store.location import Location
from schedlab.targets.protocol import Target
from schedlab.targets.several import joined
from schedlab.targets.sim.cells import fingerprint, simulated_name

SHOWN_POINTS = 20
"""Most points that ``--dry-run`` prints."""


@dataclass(frozen=True)
class Request:
    """The arguments of the command."""

    file: Path
    ray: str | None
    jobs: int | None
    store: Location
    seed: int | None
    resume: bool

    @property
    def words(self) -> list[str]:
        """The command line that repeats the sweep."""
        options = {"--ray": self.ray, "--jobs": self.jobs, "--seed": self.seed, "--store": self.store}
        given = [word for option, value in options.items() if value is not None for word in (option, str(value))]
        return ["schedlab", "sweep", str(self.file), *given]


def named(file: Path | None) -> Path:
    """Return the file; ExperimentError when the command line names none."""
    if file is None:
        raise ExperimentError(
            "no file is named", where="sweep", todo="name an experiment file with [sweep], or --show RUN"
        )
    return file


def show_points(request: Request) -> None:
    """``--dry-run``: print the size of the sweep and its first points."""
    experiment, _ = load(request.file)
    seed = experiment.design.seed if request.seed is None else request.seed
    whole, console = expand(experiment, seed or 0), make()
    console.print(f"{experiment.experiment.name}: {size(whole)}, {len(whole.plan.trials):,} cells")
    for point in whole.points[:SHOWN_POINTS]:
        values = (f"{factor.label} {factor.shown(point.values[factor.name])}" for factor in whole.factors)
        console.print(f"  {point.variant.name}  {', '.join(values)}", soft_wrap=True)
    if len(whole.points) > SHOWN_POINTS:
        console.print(f"  and {len(whole.points) - SHOWN_POINTS:,} more")
    if not whole.simulated:
        for requirement in target_of(whole).missing_requirements(whole.plan):
            console.say("cannot run here:", str(requirement))


def sweep_and_print(request: Request, form: SweepFormat, output: Path | None) -> int:
    """Measure or simulate the cells, and print the report; return the exit code."""
    if request.ray is not None:
        require_ray()
    experiment, text = load(request.file)
    begun = None
    if request.resume:
        begun = _begun(open_store(request.store, create=False), request, experiment.experiment.name, text)
    whole = expand(experiment, begun.seed if begun else _seed(experiment.design.seed, request.seed))
    target = None if whole.simulated else target_of(whole)
    if target is not None:
        require_runnable(whole.plan, target, show_download)
    engine = open_store(request.store, create=not request.resume)
    models = fingerprint(whole.points) if target is None else target.fingerprint()
    if begun is not None:
        changed = target.changes(begun.fingerprint) if target else differences(begun.fingerprint, models)
        if changed:
            todo = "resume with that version of schedlab and those machines, or start a new sweep: omit --resume"
            what = f"run {begun.id} was begun with other {'machines' if target else 'models'}"
            raise StoreError(f"{what}: {'; '.join(changed)}", todo=todo)
    run_id = begun.id if begun else _begin(engine, request, whole, text, models, target)
    aside = make(stderr=True)
    given_up: list[int] = []
    if begun is None or begun.state != "complete":
        with (
            ending(aside, INTERRUPTED, again(request.store, [*request.words, "--resume"])),
            _progress(aside, whole) as progress,
        ):
            given_up = run_sweep(whole, text, engine, run_id, Place(request.ray, request.jobs), progress)
    failed = print_report(request.store, run_id, form, output)
    if given_up:
        names = ", ".join(whole.plan.trials[index].variant.name for index in given_up[:10])
        aside.say("given up:", f"{counted(len(given_up), 'cell')} ended their workers: {names}", "red")
        aside.hint("repeat them:", shlex.join(again(request.store, [*request.words, "--resume"])))
    return Exit.TRIALS_FAILED if failed or given_up else Exit.FINE


def print_report(store: Location, run_id: int, form: SweepFormat, output: Path | None) -> int:
    """Print the report of a stored sweep, or write the report to a file; return the number of failed cells."""
    found = sweep_findings(open_store(store, create=False), run_id)
    if form is SweepFormat.CSV:
        write(found.table.write_csv(), output)
    elif form is SweepFormat.PARQUET:
        content = io.BytesIO()
        found.table.write_parquet(content)
        write(content.getvalue(), output)
    else:
        present(compose(found, lasting(store)), AnswerFormat(form.value), output)
    return len(found.failures)


def _seed(of_file: int | None, given: int | None) -> int:
    chosen = of_file if given is None else given
    return secrets.randbits(32) if chosen is None else chosen


def _begun(engine: Engine, request: Request, name: str, text: str) -> reader.Run:
    """Return the newest sweep of this text, complete or not; StoreError if the store has none."""
    for run in reader.runs(engine):
        same = run.name == name and run.experiment_file == text and run.validated().design.sweep
        if same and request.seed in (None, run.seed):
            return run
    todo = "start a new sweep: omit --resume; a changed file is another sweep"
    raise StoreError(f"contains no sweep of {request.file} as the file is now", where=str(request.store), todo=todo)


def _begin(
    engine: Engine, request: Request, whole: Sweep, text: str, models: Mapping[str, Any], target: Target | None
) -> int:
    new = writer.NewRun(
        plan=whole.plan,
        target=target.name if target else joined(dict.fromkeys(simulated_name(point) for point in whole.points)),
        kind=target.kind if target else SIMULATED,
        quick=False,
        experiment_file=text,
        experiment_path=str(request.file),
        fingerprint=models,
        fingerprint_hash=stable_hash(models),
        sweep=True,
    )
    return writer.begin(engine, new)


@contextmanager
def _progress(console: Console, whole: Sweep) -> Iterator[Report]:
    """Yield the function that prints progress: a bar on a terminal, otherwise nothing."""
    if appearance.quiet or not console.file.isatty():
        yield lambda stored, measured: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(whole.plan.experiment.experiment.name, total=len(whole.plan.trials))

        def report_progress(stored: int, measured: list[Measurement]) -> None:
            bar.update(task, completed=stored)

        yield report_progress
