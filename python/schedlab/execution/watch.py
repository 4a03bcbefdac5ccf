"""What a command reports while it measures. The command line prints the reports; a Python program gets warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from schedlab.execution.estimate import Estimate
from schedlab.execution.loop import Progress
from schedlab.experiment.plan import Plan, Trial
from schedlab.experiment.sweep import Sweep
from schedlab.results.measurement import Measurement
from schedlab.targets.protocol import Target
from schedlab.tunables import restore_on_signals

CellProgress = Callable[[int, list[Measurement]], None]
"""Function that is called with the number of stored cells of a sweep, and the measurements that were stored last."""


class Left(KeyboardInterrupt):
    """The end by a signal of a command that could not undo all its changes, or does not know what was undone."""


def _nothing(trial: Trial, measurement: Measurement | None) -> None:
    """Report no progress."""


class Watch:
    """Reports of a command that measures. This class warns of values that could not be put back, and is silent
    otherwise."""

    def interruptible(self) -> AbstractContextManager[None]:
        """Return the context of a measurement, where a signal raises ``Interrupted``."""
        return restore_on_signals()

    def download(self, what: str) -> None:
        """Report the description of a file before its download."""

    def step(self, label: str, text: str) -> None:
        """Report a step before or between the measurements."""

    def remark(self, label: str, text: str, style: str = "yellow") -> None:
        """Report a fact that people should know; ``style`` is a style of rich."""

    def progress(self, plan: Plan, expected: Estimate) -> AbstractContextManager[Progress]:
        """Return the context of a run, which gets the trials of its plan."""
        return nullcontext(_nothing)

    def points(self, reference: Collection[str]) -> Progress:
        """Return the function that gets the trials of a search. ``reference`` has the names of the variants that are
        not points of the search."""
        return _nothing

    def cells(self, sweep: Sweep) -> AbstractContextManager[CellProgress]:
        """Return the context of a sweep, which gets the cells."""
        return nullcontext(lambda stored, measured: None)

    def leftover(self, text: str) -> None:
        """Report a value that could not be put back."""
        warnings.warn(f"not put back: {text}", stacklevel=2)


SILENT = Watch()
"""Reports of a program that does not print."""


@contextmanager
def measuring(watch: Watch, target: Target) -> Iterator[None]:
    """After the block, name the values that could not be put back. The exception of a signal then becomes Left."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise (Left() if target.leftovers else error) from None
    finally:
        for leftover in target.leftovers:
            watch.leftover(leftover)
