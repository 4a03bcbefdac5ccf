"""How commands that measure end: by a signal, with values that could not be put back, with failed trials."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from signal import SIGINT

import typer

from schedlab.cli.appearance import appearance
from schedlab.cli.console import Console
from schedlab.errors import Exit
from schedlab.execution.watch import Left
from schedlab.experiment.plan import Trial
from schedlab.results.measurement import Measurement
from schedlab.tunables import Interrupted, restore_on_signals

INTERRUPTED = "\ninterrupted"
UNDONE = "\ninterrupted; all changes are undone"
NOT_UNDONE = "\ninterrupted; not all changes are undone"
"""Messages of commands that a signal ended."""


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """Return the exit code of a command that a signal ended."""
    if isinstance(interrupt, Left):
        return Exit.CANNOT_RUN
    return interrupt.exit_code if isinstance(interrupt, Interrupted) else 128 + SIGINT


@contextmanager
def ending(aside: Console, message: str, again: Sequence[str] = ()) -> Iterator[None]:
    """In the block, a signal raises an exception, which ends the command with its exit code, after a message.

    ``again`` is the command line that resumes the work.
    """
    with restore_on_signals():
        try:
            yield
        except KeyboardInterrupt as error:
            if isinstance(error, Left):
                message = message.replace(UNDONE, NOT_UNDONE)
            aside.print(f"{message}. Go on with:" if again else message)
            if again:
                aside.command(" ", shlex.join(again))
            raise typer.Exit(exit_code(error)) from error


@dataclass(frozen=True)
class Points:
    """Printer of a line for each measured point of a search, and of a line for each failed trial.

    A point is a variant other than the variants of ``reference``, in a block.
    """

    console: Console
    reference: Collection[str]

    def __call__(self, trial: Trial, measurement: Measurement | None) -> None:
        """Print the point before its trial, or the failure after its trial."""
        is_point = trial.phase == "measure" and trial.variant.name not in self.reference
        if measurement is None and is_point and not appearance.quiet:
            self.console.say(f"block {trial.block}:", trial.variant.name, "dim")
        show_failure(self.console, trial, measurement)


def show_failure(console: Console, trial: Trial, measurement: Measurement | None) -> None:
    """Print the reason of a failed trial."""
    if measurement is not None and measurement.state != "ok":
        reason = measurement.reason.partition("\n")[0]
        console.say("failed:", f"{trial.variant.name}: {reason}", "red")
