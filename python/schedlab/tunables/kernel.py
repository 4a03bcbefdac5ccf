"""Kernel versions and the ranges of them in which something exists."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple


class KernelVersion(NamedTuple):
    """A mainline version, to the precision at which tunables come and go: 6.18 of 6.18.44-generic."""

    major: int
    minor: int

    @classmethod
    def parse(cls, release: str) -> KernelVersion:
        """Read `6.18`, `6.18.0` or what `uname -r` prints; ValueError when it does not begin like one."""
        found = re.match(r"(\d+)\.(\d+)", release.strip())
        if found is None:
            raise ValueError(f"not a kernel version: {release!r}")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


FIRST = KernelVersion(4, 4)
"""The oldest kernel the catalogue speaks of; what was there already carries this as its beginning."""


@dataclass(frozen=True)
class KernelRange:
    """First and last mainline version that has something; `until` None means that it is still there."""

    since: KernelVersion = FIRST
    until: KernelVersion | None = None

    def __contains__(self, version: KernelVersion) -> bool:
        return self.since <= version and (self.until is None or version <= self.until)

    def overlaps(self, other: KernelRange) -> bool:
        """Whether any version lies in both ranges."""
        return (other.until is None or self.since <= other.until) and (self.until is None or other.since <= self.until)

    @property
    def is_all(self) -> bool:
        """Whether it is every version that is known of."""
        return self.since <= FIRST and self.until is None

    def __str__(self) -> str:
        begin = f"{FIRST} or earlier" if self.since <= FIRST else str(self.since)
        if self.until is None:
            return f"since {begin}"
        return f"{begin} to {self.until}" if self.since > FIRST else f"until {self.until}"
