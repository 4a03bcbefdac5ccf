"""Reports of a command that measures, on a console."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from schedlab.cli import progress
from schedlab.cli.appearance import appearance
from schedlab.cli.console import Console
from schedlab.cli.interruption import UNDONE, Points, ending
from schedlab.execution.estimate import Estimate
from schedlab.execution.loop import Progress as Trials
from schedlab.execution.watch import CellProgress, Watch
from schedlab.experiment.plan import Plan
from schedlab.experiment.sweep import Sweep
from schedlab.results.measurement import Measurement


@dataclass(frozen=True)
class Shown(Watch):
    """Printer of the reports.

    Attributes:
        aside: the console of progress and hints.
        again: the command line that resumes the work; () without such a command.
        interrupted: the message of a command that a signal ends.
    """

    aside: Console
    again: Sequence[str] = ()
    interrupted: str = UNDONE

    def interruptible(self) -> AbstractContextManager[None]:
        """See :func:`schedlab.cli.interruption.ending`."""
        return ending(self.aside, self.interrupted, self.again)

    def download(self, what: str) -> None:
        """Print the description."""
        self.aside.print(f"downloading {what}", style="dim")

    def step(self, label: str, text: str) -> None:
        """Print a line, but not under ``--quiet``."""
        if not appearance.quiet:
            self.aside.say(label, text, "dim")

    def remark(self, label: str, text: str, style: str = "yellow") -> None:
        """Print a line."""
        self.aside.say(label, text, style)

    def progress(self, plan: Plan, expected: Estimate) -> AbstractContextManager[Trials]:
        """Show a bar on a terminal, a line for each block elsewhere."""
        return progress.shown(self.aside, plan, expected)

    def points(self, reference: Collection[str]) -> Trials:
        """Print a line for each point, and for each failed trial."""
        return Points(self.aside, reference)

    @contextmanager
    def cells(self, sweep: Sweep) -> Iterator[CellProgress]:
        """Show a bar on a terminal, otherwise nothing."""
        if appearance.quiet or not self.aside.file.isatty():
            yield lambda stored, measured: None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self.aside, transient=True) as bar:
            task = bar.add_task(sweep.plan.experiment.experiment.name, total=len(sweep.plan.trials))

            def report_progress(stored: int, measured: list[Measurement]) -> None:
                bar.update(task, completed=stored)

            yield report_progress

    def leftover(self, text: str) -> None:
        """Print a line."""
        self.aside.say("not put back:", text, "red")
