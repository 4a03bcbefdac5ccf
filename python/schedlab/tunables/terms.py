"""Kernel versions, ranges of versions, and the kinds of tunables, places and costs.

This module does not import pydantic, because each start of a command recovers journals and must be quick.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class KernelVersion(NamedTuple):
    """A mainline version, to the precision at which tunables come and go: 6.18 of 6.18.44-generic."""

    major: int
    minor: int

    @classmethod
    def parse(cls, release: str) -> KernelVersion:
        """Parse `6.18`, `6.18.0` or the output of `uname -r`; ValueError unless the text begins with a version."""
        match = re.match(r"(\d{1,9})\.(\d{1,9})", release.strip())
        if match is None:
            raise ValueError(f"not a kernel version: {release[:60]!r}")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


FIRST = KernelVersion(4, 4)
"""The oldest kernel that the catalogue describes. The ranges of tunables that are older begin at this version."""


@dataclass(frozen=True)
class KernelRange:
    """A range of mainline versions, both ends included; `until` is None for a range without an end."""

    since: KernelVersion = FIRST
    until: KernelVersion | None = None

    def __contains__(self, version: KernelVersion) -> bool:
        return self.since <= version and (self.until is None or version <= self.until)

    @property
    def is_all(self) -> bool:
        """Whether every version of the catalogue lies in the range."""
        return self.since <= FIRST and self.until is None

    def __str__(self) -> str:
        begin = f"{FIRST} or earlier" if self.since <= FIRST else str(self.since)
        if self.until is None:
            return f"since {begin}"
        return f"{begin} to {self.until}" if self.since > FIRST else f"until {self.until}"


UNDOCUMENTED = "undocumented"
"""Area of knobs without an entry in a catalogue (:mod:`schedlab.tunables.knobs`)."""

GROUPS = "groups"
"""Area of the files of a run's control groups (:mod:`schedlab.targets.groups`)."""


class Kind(StrEnum):
    """The type of a tunable's value."""

    INT = "int"
    BOOL = "bool"
    CHOICE = "choice"
    FEATURE = "feature"
    STRING = "string"
    KNOB = "knob"


class PlaceKind(StrEnum):
    """The interface through which the kernel lets a tunable be set."""

    SYSCTL = "sysctl"
    DEBUGFS = "debugfs"
    SYSFS = "sysfs"
    PROC = "proc"
    BOOT = "boot"


class Cost(StrEnum):
    """The side effect of a write on the machine."""

    FREE = "free"
    FLUSHES = "flushes"
    STOP_MACHINE = "stop-machine"
    REBOOT = "reboot"

    @property
    def meaning(self) -> str:
        """Description in one line."""
        return _COST_MEANING[self]


_COST_MEANING = {
    Cost.FREE: "a store to a variable",
    Cost.FLUSHES: "drops the kernel's accumulated statistics or rebuilds a structure; warm up again after the write",
    Cost.STOP_MACHINE: "stops all CPUs for a moment to patch code or to take CPUs on or off line",
    Cost.REBOOT: "requires a reboot",
}
