"""Errors of the tunables package: a single tree, so that a caller catches `TunableError` and prints its text."""

from __future__ import annotations

from schedlab.errors import Exit, SchedlabError


class TunableError(SchedlabError):
    """Base of these errors. The text names the fault and, if possible, the remedy."""

    exit_code = Exit.CANNOT_RUN


class UnknownTunable(TunableError):
    """A name that is neither in the catalogue nor a knob's. `nearest` contains the most similar names, `why` the fault
    of a knob's name."""

    exit_code = Exit.USAGE

    def __init__(self, name: str, nearest: tuple[str, ...], why: str = "") -> None:
        self.name = name
        self.nearest = nearest
        hint = f"; nearest: {', '.join(nearest)}" if nearest else ""
        fault = f": {why}" if why else hint
        super().__init__(
            f"unknown tunable {name!r}{fault}",
            todo=""
            if fault
            else "'schedlab tunables list' prints all names; sysctl:NAME and file:/PATH name any other file",
        )


class BadValue(TunableError):
    """A value that is invalid for the tunable. `allowed` describes the valid values, with units and special values."""

    exit_code = Exit.USAGE

    def __init__(self, name: str, value: object, why: str, allowed: str) -> None:
        self.name = name
        self.value = value
        self.allowed = allowed
        super().__init__(f"{name}: {value!r} {why}; allowed: {allowed}")


class BadEntry(TunableError):
    """An entry of the user that is wrong, or that clashes with the catalogue."""

    exit_code = Exit.USAGE


class Unavailable(TunableError):
    """Error for a tunable that cannot be set on this system. `resolution` is the result of `System.resolve`."""

    def __init__(self, name: str, resolution: object, why: str) -> None:
        self.name = name
        self.resolution = resolution
        super().__init__(f"{name}: {why}")


class JournalError(TunableError):
    """A name of a run that cannot name a journal."""
