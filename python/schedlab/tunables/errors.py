"""Errors of the tunables package: a single tree, so that a caller catches `TunableError` and prints its text."""

from __future__ import annotations

from pathlib import Path

from schedlab.errors import Exit, SchedlabError


class TunableError(SchedlabError):
    """Base of these errors. The text names the fault and, if possible, the remedy."""

    exit_code = Exit.CANNOT_RUN


class UnknownTunable(TunableError):
    """A name that the catalogue lacks. `nearest` contains the most similar names."""

    exit_code = Exit.USAGE

    def __init__(self, name: str, nearest: tuple[str, ...]) -> None:
        self.name = name
        self.nearest = nearest
        hint = f"; nearest: {', '.join(nearest)}" if nearest else ""
        super().__init__(
            f"unknown tunable {name!r}{hint}", todo="" if nearest else "'schedlab tunables list' prints all names"
        )


class BadValue(TunableError):
    """A value that is invalid for the tunable. `allowed` describes the valid values, with units and special values."""

    exit_code = Exit.USAGE

    def __init__(self, name: str, value: object, why: str, allowed: str) -> None:
        self.name = name
        self.value = value
        self.allowed = allowed
        super().__init__(f"{name}: {value!r} {why}; allowed: {allowed}")


class Unavailable(TunableError):
    """Error for a tunable that cannot be set on this system. `resolution` is the result of `System.resolve`."""

    def __init__(self, name: str, resolution: object, why: str) -> None:
        self.name = name
        self.resolution = resolution
        super().__init__(f"{name}: {why}")


class ChangedMeanwhile(TunableError):
    """Another process changed a value during this run. The value is left alone."""

    def __init__(self, name: str, path: Path, ours: str, current: str) -> None:
        self.name = name
        self.path = path
        super().__init__(
            f"{name}: another process changed {path} from {ours} to {current} during this run; schedlab did not "
            f"restore the value"
        )


class NotTaken(TunableError):
    """The kernel accepted a write but shows another value (rounding, clamping, a concurrent writer)."""

    def __init__(self, name: str, path: Path, wrote: str, current: str | None) -> None:
        self.name = name
        self.path = path
        shown = "nothing" if current is None else current
        super().__init__(
            f"{name}: wrote {wrote} to {path}, which contains {shown}; choose a value that the kernel keeps"
        )


class WriteFailed(TunableError):
    """A write that the kernel refused, with the kernel's reason."""

    def __init__(self, name: str, path: Path, wrote: str, error: OSError) -> None:
        self.name = name
        self.path = path
        self.errno = error.errno
        super().__init__(f"{name}: writing {wrote} to {path} failed: {error.strerror or error}")


class JournalError(TunableError):
    """Error for an unusable journal: another run uses the journal, or its folder cannot be written."""


class JournalUnreadable(JournalError):
    """A journal that has another format or cannot be read. Nothing was changed, and the journal stays."""

    def __init__(self, path: Path, why: str) -> None:
        self.path = path
        super().__init__(
            f"{path}: the journal {why}; nothing was changed. Undo the changes with the program that wrote the journal"
        )


class JournalDamaged(JournalError):
    """A damaged journal: `line` is the first line that differs from the written line."""

    def __init__(self, path: Path, line: int, why: str) -> None:
        self.path = path
        self.line = line
        self.why = why
        super().__init__(f"{path}:{line}: damaged journal ({why})")
