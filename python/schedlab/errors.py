"""Errors for users: the fault, its place, and the remedy.

Every error with a message for users derives from :class:`SchedlabError` and has the exit code of the command line, so
that the command line needs no table of errors. Other exceptions of schedlab are signals between modules: a caller turns
each of them into a SchedlabError, a failed trial or a remark.
"""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of the ``schedlab`` command; documented in ``docs/exit-codes.md``."""

    FINE = 0
    REGRESSION = 1
    USAGE = 2
    CANNOT_RUN = 3
    TRIALS_FAILED = 4
    BUG = 70
    BROKEN_PIPE = 141


class SchedlabError(Exception):
    """An error with a message for people.

    Args:
        what: the fault, in one sentence.
        where: file, line, key path or device; shown first.
        todo: the remedy.
    """

    exit_code: Exit = Exit.USAGE

    def __init__(self, what: str, *, where: str = "", todo: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.todo = todo

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        return f"{head}\n  → {self.todo}" if self.todo else head


class ExperimentError(SchedlabError):
    """An experiment file with mistakes; the message has one finding a line."""


class StoreError(SchedlabError):
    """A store that is missing, damaged, of another version, or busy."""


class CannotRunHere(SchedlabError):
    """Error for a plan that cannot run on this target; nothing was started."""

    exit_code = Exit.CANNOT_RUN


class RunStopped(BrokenPipeError):
    """The end of a run whose output no process reads any more; its changes are undone."""


class TrialFailure(Exception):
    """A trial without a measurement. The store records the reason, and the run continues."""
