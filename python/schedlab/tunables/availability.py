"""What `System.resolve` answers: whether a tunable can be set here, and if not, why and where else it can."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from pathlib import Path

from .kernel import KernelRange
from .model import Place

ELSEWHERE = (
    "run the experiment where the kernel lets root in: on another machine, or in a virtual machine whose kernel you "
    "boot yourself"
)


@dataclass(frozen=True)
class Available:
    """It can be read and written. `values` are canonical and go with `paths`, of which a per-CPU tunable has many."""

    place: Place
    paths: tuple[Path, ...]
    values: tuple[str, ...]

    @property
    def current(self) -> str:
        """The value, or `mixed` where the files differ."""
        return self.values[0] if len(set(self.values)) == 1 else "mixed"

    @property
    def why(self) -> str:
        return f"in {self.place.text}"


@dataclass(frozen=True)
class Absent:
    """This kernel does not have it. `range` says which do, `config` which missing build option explains it."""

    reason: str
    range: KernelRange
    config: str | None = None

    @property
    def why(self) -> str:
        return self.reason


@dataclass(frozen=True)
class Refused:
    """The file is there and does not open, or, with `unmounted`, its file system has first to be mounted."""

    path: Path
    errno: int
    reason: str
    elsewhere: str
    unmounted: bool = False

    @property
    def why(self) -> str:
        name = errno.errorcode.get(self.errno, str(self.errno))
        return f"{self.path} ({name}): {self.reason}; {self.elsewhere}"


@dataclass(frozen=True)
class ReadOnly:
    """The file shows its value and cannot be written."""

    path: Path
    current: str
    errno: int
    reason: str

    @property
    def why(self) -> str:
        return f"{self.path} can be read (now {self.current}), not written: {self.reason}"


@dataclass(frozen=True)
class BootOnly:
    """No running kernel lets it be changed; `current` is what this kernel was booted with, if it was told."""

    parameter: str
    current: str | None

    @property
    def why(self) -> str:
        where = f"with {self.parameter} on the kernel's command line"
        return f"set at boot only, {where}: boot this machine, or a virtual one, once for each value"


Resolution = Available | Absent | Refused | ReadOnly | BootOnly
