"""Results of `System.resolve`: whether a tunable can be set here, the reason if not, and the place where it can be
set."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from schedlab.tunables.terms import KernelRange, KernelVersion, PlaceKind

if TYPE_CHECKING:
    from schedlab.tunables.tunable import Place, Tunable

ELSEWHERE = (
    "run the experiment where the kernel gives root access: on another machine, or in a virtual machine "
    "(--target vm:KERNEL)"
)


class State(StrEnum):
    """Whether a tunable can be set here."""

    SETTABLE = "settable"
    READ_ONLY = "read-only"
    REFUSED = "refused"
    UNMOUNTED = "unmounted"
    BOOT = "boot"
    ABSENT = "absent"
    UNRESTORABLE = "unrestorable"


@dataclass(frozen=True)
class Available:
    """A tunable that can be read and written.

    `values` are canonical and correspond to `paths`. A per-CPU tunable has a path for each CPU.
    """

    state: ClassVar = State.SETTABLE
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
    """A tunable that this kernel lacks. `range` is the kernels that have the tunable, `config` the missing build
    option."""

    state: ClassVar = State.ABSENT
    current: ClassVar = None
    reason: str
    range: KernelRange
    config: str | None = None

    @property
    def why(self) -> str:
        return self.reason


@dataclass(frozen=True)
class Refused:
    """A tunable whose file cannot be opened. With `unmounted`, its file system must be mounted first."""

    current: ClassVar = None
    path: Path
    errno: int
    reason: str
    elsewhere: str
    unmounted: bool = False

    @property
    def state(self) -> State:
        return State.UNMOUNTED if self.unmounted else State.REFUSED

    @property
    def why(self) -> str:
        name = errno.errorcode.get(self.errno, str(self.errno))
        return f"{self.path} ({name}): {self.reason}; {self.elsewhere}"


@dataclass(frozen=True)
class ReadOnly:
    """A tunable whose file can be read but not written."""

    state: ClassVar = State.READ_ONLY
    path: Path
    current: str
    errno: int
    reason: str

    @property
    def why(self) -> str:
        return f"{self.path} can be read (now {self.current}), not written: {self.reason}"


@dataclass(frozen=True)
class BootOnly:
    """A tunable that no running kernel changes. `current` is its value on the command line of this kernel, if any."""

    state: ClassVar = State.BOOT
    parameter: str
    current: str | None

    @property
    def why(self) -> str:
        where = f"with {self.parameter} on the kernel's command line"
        return f"set at boot only, {where}: boot this machine, or a virtual machine, once for each value"


def by_hook(path: str) -> str:
    """Return the remedy for a file that schedlab does not write: an example of a hook that writes the file."""
    lines = ("[variant.hook]", f'apply = "echo VALUE >{path}"', 'undo = "COMMAND that takes the change back"')
    return "\n    ".join(["write the file in a hook of the variant (docs/tunables.md):", *lines])


@dataclass(frozen=True)
class Unrestorable:
    """A knob whose value could not be put back after a run, and which is therefore never changed."""

    state: ClassVar = State.UNRESTORABLE
    current: ClassVar = None
    path: Path
    reason: str

    @property
    def why(self) -> str:
        return f"schedlab cannot restore {self.path}, and changes only what it can restore: {self.reason}"


def remedy_of(name: str, answer: Resolution) -> str:
    """Return the remedy for a tunable that cannot be set here."""
    if isinstance(answer, Unrestorable):
        return by_hook(str(answer.path))
    return f"read its description with 'schedlab tunables show {name}'"


Resolution = Available | Absent | Refused | ReadOnly | BootOnly | Unrestorable


def lacking(tunable: Tunable, version: KernelVersion, config: Mapping[str, str] | None) -> Absent | BootOnly | None:
    """Return why a kernel of this version, built with these options, cannot change the tunable; None if it should.

    Args:
        config: the options of the kernel (:mod:`schedlab.tunables.kernel_files`); None when they are unknown.
    """
    places, kernels = tunable.places_in(version), tunable.range
    boot = [place for place in places if place.kind is PlaceKind.BOOT]
    if boot and len(boot) == len(places):
        return BootOnly(boot[0].where, None)
    if not places:
        text = f"kernel {version} does not have this tunable; kernels {kernels} have it"
        is_replaced = tunable.successor and version > (kernels.until or version)
        return Absent(f"{text}; see {tunable.successor}" if is_replaced else text, kernels)
    for need in tunable.config:
        if version in need.range and config is not None and need.option not in config:
            return Absent(f"kernel {version} is built without {need.option}", kernels, need.option)
    return None
