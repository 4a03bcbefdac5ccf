"""Progress of a run: a bar on a terminal, a line for each block elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from schedlab.cli.appearance import appearance
from schedlab.cli.console import Console
from schedlab.execution.estimate import Estimate
from schedlab.execution.loop import Progress as Report
from schedlab.experiment.plan import Plan, Trial
from schedlab.notation.units import counted, format_time
from schedlab.results.measurement import Measurement


@contextmanager
def shown(console: Console, plan: Plan, estimate: Estimate) -> Iterator[Report]:
    """In the block, print progress: yield a function to call before a trial and after it, with the measurement."""
    if appearance.quiet:
        yield lambda trial, measurement: _report_failure(console, trial, measurement)
        return
    trials, blocks = counted(len(plan.trials), "trial"), counted(plan.experiment.design.blocks, "block")
    console.print(
        f"{plan.experiment.experiment.name}: {trials} in {blocks}, about {format_time(estimate.seconds)} "
        f"({estimate.basis})"
    )
    if console.file.isatty():
        with _bar(console, plan) as report:
            yield report
    else:
        yield _Lines(console, trials=len(plan.trials)).report


class _Lines:
    """Printer of a line with the time left when a block begins, and of a line for each failed trial."""

    def __init__(self, console: Console, trials: int) -> None:
        self._console = console
        self._trials = trials
        self._block: int | None = None
        self._measured = 0
        self._begun = time.monotonic()

    def report(self, trial: Trial, measurement: Measurement | None) -> None:
        if trial.block != self._block:
            self._block = trial.block
            self._console.print(_stage(trial, trial.block) + self._left(trial))
        self._measured += measurement is not None
        _report_failure(self._console, trial, measurement)

    def _left(self, trial: Trial) -> str:
        """The time left, from the trials so far: better than the plan's estimate, which may be a guess."""
        if not self._measured:
            return ""
        each = (time.monotonic() - self._begun) / self._measured
        return f", about {format_time(each * (self._trials - trial.index))} left"


@contextmanager
def _bar(console: Console, plan: Plan) -> Iterator[Report]:
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(20),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    # Automatic redraws would use a CPU that is being measured, so the bar moves between trials only.
    with Progress(*columns, console=console, auto_refresh=False, transient=True) as progress:
        task = progress.add_task("starting", total=len(plan.trials))

        def report(trial: Trial, measurement: Measurement | None) -> None:
            done = trial.index + (measurement is not None)
            what = f"{_stage(trial, plan.experiment.design.blocks)} {trial.variant.name}"[:36]
            progress.update(task, completed=done, description=what, refresh=measurement is None)
            _report_failure(console, trial, measurement)

        yield report


def _stage(trial: Trial, blocks: int) -> str:
    if trial.phase == "warmup":
        return "warm-up"
    return f"block {trial.block}" if blocks == trial.block else f"block {trial.block}/{blocks}"


def _report_failure(console: Console, trial: Trial, measurement: Measurement | None) -> None:
    if measurement is not None and measurement.state != "ok":
        reason = measurement.reason.partition("\n")[0]
        console.say("failed:", f"{trial.row} under {trial.variant.name}: {reason}", "red")
