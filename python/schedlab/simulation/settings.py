"""Everything about a simulation that is neither machine, kernel nor program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from schedlab.simulation.errors import SettingRefused

SAMPLES = 100_000
"""Samples of a series that are kept, of more a random selection: as ``schedload`` does."""


@dataclass(frozen=True)
class Attributes:
    """How all tasks of a program are scheduled; ``cpus`` None: on all that are not isolated."""

    policy: str = "other"
    priority: int | None = None
    nice: int = 0
    cpus: Sequence[int] | None = None
    slice_ns: int | None = None

    def plain(self) -> dict[str, Any]:
        """As the extension module takes them."""
        cpus = None if self.cpus is None else list(self.cpus)
        words = {"policy": self.policy, "priority": self.priority, "nice": self.nice}
        return words | {"cpus": cpus, "slice_ns": self.slice_ns}


@dataclass(frozen=True)
class Settings:
    """``seed`` decides everything left to chance, ``horizon_ns`` when a simulation ends at the latest.

    ``tunables`` are whole numbers by the kernel's or schedlab's names; ``changes`` are (virtual ns, name, value).
    ``pids``: whose /proc/PID/sched is wanted; tasks of the program are numbered by their creation, from 1.
    """

    seed: int = 0
    tunables: Mapping[str, int] = field(default_factory=dict)
    changes: Sequence[tuple[int, str, int]] = ()
    command_line: str = ""
    horizon_ns: int | None = None
    samples: int = SAMPLES
    attributes: Attributes | None = None
    pids: Sequence[int] = ()

    def plain(self, groups: Sequence[str]) -> dict[str, Any]:
        """As the extension module takes them, for a program of these groups."""
        attributes = {} if self.attributes is None else dict.fromkeys(groups, self.attributes.plain())
        return {
            "seed": self.seed,
            "tunables": list(self.tunables.items()),
            "changes": list(self.changes),
            "command_line": self.command_line,
            "horizon_ns": self.horizon_ns,
            "samples": self.samples,
            "groups": attributes,
            "pids": list(self.pids),
        }


def tunable(name: str, value: object) -> tuple[str, int]:
    """The canonical name and the number of a tunable as an experiment file gives it: ``"0.5ms"``, ``true``, 100000.

    A number under a name that schedlab's catalogue lacks goes on as it is: a kernel model may have tunables of its own,
    and refuses others. SettingRefused tells what is wrong with a value.
    """
    from schedlab.tunables import BadValue, UnknownTunable, lookup
    from schedlab.tunables.model import Kind

    try:
        found = lookup(name)
        text = found.parse(value)
    except UnknownTunable as error:
        if isinstance(value, int) or (isinstance(value, str) and value.lstrip("-").isdecimal()):
            return name, int(value)
        raise SettingRefused(error.what, where=name, todo=error.todo) from error
    except BadValue as error:
        raise SettingRefused(error.what, where=name, todo=error.todo) from error
    if found.kind is Kind.FEATURE:
        return found.name, int(not text.startswith("NO_"))
    try:
        return found.name, int(text)
    except ValueError as error:
        raise SettingRefused(
            f"{value!r} is no number, and the simulated kernels have numbers only",
            where=name,
            todo="'schedlab kernels show NAME' prints a kernel model's tunables",
        ) from error
