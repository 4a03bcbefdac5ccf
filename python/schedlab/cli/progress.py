"""Progress of a run: a bar on a terminal, a line for each block elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from schedlab.analysis.summaries import preview
from schedlab.cli.appearance import appearance
from schedlab.cli.console import Console
from schedlab.execution.estimate import Estimate
from schedlab.execution.loop import Progress as Report
from schedlab.experiment.plan import Plan, Trial, doubts
from schedlab.notation.terminal import escaped
from schedlab.notation.units import counted, format_time
from schedlab.report.numbers import change
from schedlab.results.measurement import Measurement


@contextmanager
def shown(console: Console, plan: Plan, estimate: Estimate) -> Iterator[Report]:
    """In the block, print progress: yield a function to call before a trial and after it, with the measurement."""
    if appearance.quiet:
        yield lambda trial, measurement: _report_failure(console, trial, measurement)
        return
    trials, blocks = counted(len(plan.trials), "trial"), counted(plan.experiment.design.blocks, "block")
    time_needed = f"{'about' if estimate.known else 'time'} {estimate.text}"
    console.print(f"{plan.experiment.experiment.name}: {trials} in {blocks}, {time_needed}")
    for warning in doubts(plan):
        console.say("!", warning)
    if console.file.isatty():
        with _bar(console, plan) as report:
            yield report
    else:
        yield _Lines(console, plan).report


class _Ratios:
    """Ratios of variants to the baseline in the trials so far: geometric means over blocks, of each row's first metric.

    These means are a preview without test, interval or correction.
    """

    def __init__(self, baseline: str) -> None:
        self._baseline = baseline
        self._values: dict[tuple[tuple[str, str], str], dict[int, list[float]]] = {}

    def add(self, trial: Trial, measurement: Measurement | None) -> None:
        if measurement is None or measurement.state != "ok" or trial.phase == "warmup" or not trial.row.judged:
            return
        values = [metric.value for metric in measurement.metrics if metric.spec.name == trial.row.judged[0]]
        blocks = self._values.setdefault((trial.row.key, trial.variant.name), {})
        blocks.setdefault(trial.block, []).extend(values)

    def text(self, trial: Trial) -> str:
        """Return the metric and the change so far, such as ``time -4.6 %``; empty without a common block."""
        ours = self._values.get((trial.row.key, trial.variant.name), {})
        base = self._values.get((trial.row.key, self._baseline), {})
        ratio = preview(ours, base) if trial.variant.name != self._baseline else None
        return "" if ratio is None else f"{trial.row.judged[0]} {change(ratio)}"


class _Lines:
    """Printer of a line with the time left when a block begins, and of a line for each failed trial.

    Under ``--verbose``, the printer also prints a line after each trial.
    """

    def __init__(self, console: Console, plan: Plan) -> None:
        self._console = console
        self._trials = len(plan.trials)
        self._ratios = _Ratios(plan.variants[0].name)
        self._block: int | None = None
        self._measured = 0
        self._begun = time.monotonic()

    def report(self, trial: Trial, measurement: Measurement | None) -> None:
        if trial.block != self._block:
            self._block = trial.block
            self._console.print(_stage(trial) + self._left(trial))
        self._measured += measurement is not None
        self._ratios.add(trial, measurement)
        if appearance.verbose and measurement is not None and measurement.state == "ok":
            ratio = self._ratios.text(trial)
            self._console.print(f"  {trial.row}  {trial.variant.name}{'  ' + ratio if ratio else ''}", soft_wrap=True)
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
        TextColumn("{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
        BarColumn(max(6, (console.width - 70) // 3)),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    ratios = _Ratios(plan.variants[0].name)
    # Automatic redraws would use a CPU that is being measured, so the bar moves between trials only.
    with Progress(*columns, console=console, auto_refresh=False, transient=True, expand=True) as progress:
        task = progress.add_task("starting", total=len(plan.trials))

        def report(trial: Trial, measurement: Measurement | None) -> None:
            done = trial.index + (measurement is not None)
            ratios.add(trial, measurement)
            words = (
                _stage(trial, plan.experiment.design.blocks),
                trial.variant.name,
                ratios.text(trial),
                str(trial.row),
            )
            description = escaped(" · ".join(word for word in words if word))
            progress.update(task, completed=done, description=description, refresh=measurement is None)
            _report_failure(console, trial, measurement)

        yield report


def _stage(trial: Trial, blocks: int | None = None) -> str:
    if trial.phase == "warmup":
        return "warm-up"
    return f"block {trial.block}" if blocks is None else f"block {trial.block}/{blocks}"


def _report_failure(console: Console, trial: Trial, measurement: Measurement | None) -> None:
    if measurement is not None and measurement.state != "ok":
        reason = measurement.reason.partition("\n")[0]
        console.say("failed:", f"{trial.row} under {trial.variant.name}: {reason}", "red")
