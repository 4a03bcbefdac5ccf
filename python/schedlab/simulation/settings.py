"""The settings of a simulation: seed, tunables, command line, and scheduling attributes of its tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedlab.notation.cpulist import parse_cpu_list
from schedlab.notation.units import SIZE_BYTES, parse_time_ns, scaled
from schedlab.simulation.errors import SettingRefused
from schedlab.simulation.models import Model, kernel, kernel_names

if TYPE_CHECKING:
    from schedlab.tunables import Setting


SAMPLES = 100_000
"""Largest number of samples that a series keeps. A longer series keeps a random selection, as in ``schedload``."""


@dataclass(frozen=True)
class Attributes:
    """The scheduling attributes of all tasks. ``cpus`` None: all CPUs that are not isolated. ``budget``: runtime,
    deadline and period of the policy deadline in nanoseconds.
    """

    policy: str = "other"
    priority: int | None = None
    nice: int = 0
    cpus: Sequence[int] | None = None
    slice_ns: int | None = None
    budget: tuple[int, int, int] | None = None

    def plain(self) -> dict[str, Any]:
        """Return the dictionary that the extension module takes."""
        cpus = None if self.cpus is None else list(self.cpus)
        words = {"policy": self.policy, "priority": self.priority, "nice": self.nice}
        return words | {"cpus": cpus, "slice_ns": self.slice_ns, "budget": self.budget}


@dataclass(frozen=True)
class ControlGroups:
    """Settings of control groups by name, and the groups in which the tasks of a program run.

    Settings are texts by the names of cgroup v2's files; ``changes`` are (group, virtual ns, settings). ``loads`` are
    the groups of the loads that :func:`schedlab.simulation.programs.beside` adds to a program.
    """

    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    changes: Sequence[tuple[str, int, Mapping[str, str]]] = ()
    workload: str | None = None
    loads: Sequence[str | None] = ()

    def of(self, tasks: str) -> str | None:
        """Return the control group of a program's group of tasks."""
        loads = (group for at, group in enumerate(self.loads) if tasks.startswith(prefix(at)))
        return next(loads, self.workload)

    def plain(self) -> list[tuple[str, Mapping[str, str], list[tuple[int, Mapping[str, str]]]]]:
        """Return the list that the extension module takes."""
        changes = {name: [(at, texts) for group, at, texts in self.changes if group == name] for name in self.settings}
        return [(name, texts, changes[name]) for name, texts in self.settings.items()]


def prefix(load: int) -> str:
    """Return the beginning of the names of a load's groups of tasks; loads are counted from 0."""
    return f"beside{load + 1}-"


@dataclass(frozen=True)
class Settings:
    """The input of a simulation other than machine, kernel and program.

    ``seed`` is the random seed. A simulation ends at ``horizon_ns`` at the latest. ``tunables`` are numbers by name;
    ``changes`` are (virtual ns, name, value). ``pids`` selects tasks for the output of /proc/PID/sched: the tasks of
    the program are numbered from 1 in the order of their creation. ``main`` are the attributes of the main task, which
    starts the others; by default ``attributes``. The main task of deadline tasks, which cannot fork, has default
    attributes. ``memory`` is the limit of the estimated memory in bytes; by default the memory available at the start.
    """

    seed: int = 0
    tunables: Mapping[str, int] = field(default_factory=dict)
    changes: Sequence[tuple[int, str, int]] = ()
    command_line: str = ""
    horizon_ns: int | None = None
    samples: int = SAMPLES
    attributes: Attributes | None = None
    main: Attributes | None = None
    pids: Sequence[int] = ()
    memory: int | None = None
    control_groups: ControlGroups = ControlGroups()

    def plain(self, groups: Sequence[str]) -> dict[str, Any]:
        """Return the dictionary that the extension module takes, for a program with these groups."""
        attributes = self.attributes or Attributes()
        main = self.main or attributes
        control = self.control_groups
        return {
            "seed": self.seed,
            "tunables": list(self.tunables.items()),
            "changes": list(self.changes),
            "command_line": self.command_line,
            "horizon_ns": self.horizon_ns,
            "samples": self.samples,
            "groups": {name: attributes.plain() | {"control_group": control.of(name)} for name in groups},
            "main": (Attributes() if main.budget else main).plain() | {"control_group": control.workload},
            "control_groups": control.plain(),
            "pids": list(self.pids),
            "memory_bytes": available_memory() if self.memory is None else self.memory,
        }


def numbers(settings: Iterable[Setting]) -> dict[str, int]:
    """Return the numbers that kernel models take, by canonical name; SettingRefused for a text."""
    values: dict[str, int] = {}
    for setting in settings:
        try:
            values[setting.name] = setting.number
        except ValueError as error:
            raise SettingRefused(
                f"{setting.text!r} is not a number, and tunables of simulated kernels are numbers",
                where=setting.name,
                todo="'schedlab sim kernels show NAME' prints the tunables of a kernel model",
            ) from error
    return values


def tunable(name: str, value: object) -> tuple[str, int]:
    """Return canonical name and number of a value from the command line or a caller: ``"0.5ms"``, ``"off"``, 100000.

    A name that the catalogue lacks is taken for a tunable of the kernel model. SettingRefused names the tunable.
    """
    from schedlab.tunables import BadValue, UnknownTunable, model_setting

    try:
        ((canonical, number),) = numbers([model_setting(name, value)]).items()
    except (UnknownTunable, BadValue) as error:
        raise SettingRefused(error.what, todo=error.todo) from error
    return canonical, number


def pair(text: str, where: str) -> tuple[str, str]:
    """Divide ``KEY=VALUE``; SettingRefused for another text."""
    key, equals, value = text.partition("=")
    if not (key and equals):
        raise SettingRefused(f"{text!r} is not KEY=VALUE", where=where, todo="write the name, '=' and the value")
    return key, value


def attributes(
    policy: str,
    priority: int | None,
    nice: int,
    length: str | int | None,
    cpus: str | None,
    under: Model,
    times: Sequence[str | int | None] = (None, None, None),
) -> Attributes:
    """Return the attributes of all tasks under a kernel model. ``length`` is the slice, and ``times`` are runtime,
    deadline and period of the policy deadline, as text or in nanoseconds.

    SettingRefused for attributes that cannot be combined, and for a slice when the kernel has no slices of tasks.
    """
    realtime = policy in ("fifo", "rr")
    if realtime != (priority is not None):
        message = f"policy {policy!r} needs a priority" if realtime else "priority is only for fifo and rr"
        todo = "give a priority from 1 to 99" if realtime else "remove the priority, or set the policy to fifo or rr"
        raise SettingRefused(message, where="priority", todo=todo)
    if length is not None and not has_slices(under):
        models = ", ".join(name for name in kernel_names() if has_slices(kernel(name)))
        raise SettingRefused(
            f"{under.name} has no slices of single tasks",
            where="slice",
            todo=f"use a kernel model with slices: {models}",
        )
    try:
        allowed = None if cpus is None else parse_cpu_list(cpus)
    except ValueError as error:
        raise SettingRefused(str(error), where="cpus", todo="write a list of CPUs such as 0-3,8") from error
    slice_ns = nanoseconds(length, "slice") if isinstance(length, str) else length
    return Attributes(policy, priority, nice, allowed, slice_ns, _budget(policy, times))


def _budget(policy: str, times: Sequence[str | int | None]) -> tuple[int, int, int] | None:
    """Return runtime, deadline and period in nanoseconds. The deadline is by default the period."""
    given = {
        name: nanoseconds(time, name) if isinstance(time, str) else time
        for name, time in zip(("runtime", "deadline", "period"), times, strict=True)
        if time is not None
    }
    if policy != "deadline":
        for name in given:
            raise SettingRefused(f"{name} is only for deadline", where=name, todo="set the policy to deadline")
        return None
    if "runtime" not in given or "period" not in given:
        message = "policy 'deadline' needs a runtime and a period"
        raise SettingRefused(message, where="policy", todo="give a runtime such as 2ms and a period such as 10ms")
    return given["runtime"], given.get("deadline", given["period"]), given["period"]


def has_slices(under: Model) -> bool:
    """Whether a task can set its slice: ``sched_attr::sched_runtime`` of EEVDF (since 6.12)."""
    return str(under.data["policy"]) == "eevdf"


LAST_NS = (1 << 54) - 2
"""The end of virtual time, 208 days; see the limits in docs/simulator-model.md."""


def nanoseconds(text: str, where: str) -> int:
    """Return a duration such as ``"0.1ms"``; SettingRefused for any other text, and beyond the end of virtual time."""
    try:
        ns = parse_time_ns(text)
    except ValueError as error:
        raise SettingRefused(str(error), where=where) from error  # which says how to write a duration
    if not 0 <= ns <= LAST_NS:
        raise SettingRefused(f"{text!r} is outside virtual time", where=where, todo=f"give 0 to {LAST_NS} ns")
    return ns


def memory_of(text: str, where: str) -> int:
    """Return a size such as ``"8GiB"`` in bytes; SettingRefused for any other text."""
    try:
        return scaled(text, SIZE_BYTES, "a size", "8GiB")
    except ValueError as error:
        raise SettingRefused(f"{text!r} {error}", where=where, todo="give a size such as 8GiB") from error


def seed_of(seed: int) -> int:
    """Return the seed; SettingRefused when it is not from 0 to 2^64 - 1."""
    if not 0 <= seed < 1 << 64:
        raise SettingRefused(f"{seed} is not a seed", where="seed", todo="give a number from 0 to 2^64 - 1")
    return seed


UNLIMITED = 1 << 63
"""Result on a system without /proc/meminfo."""


def available_memory(root: Path = Path("/")) -> int:
    """Return the bytes that this process can allocate without swapping.

    The result is the minimum of ``MemAvailable`` (proc_meminfo(5)) and of the free part of each limit on this process's
    cgroup and its ancestors, which is the limit minus the use (``memory.max`` and ``memory.current``, cgroups(7),
    version 2). ``root`` is the root of /proc and /sys.
    """
    return min([*_machine(root), *_cgroups(root)], default=UNLIMITED)


def _machine(root: Path) -> Iterator[int]:
    for line in _text(root / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) << 10


def _cgroups(root: Path) -> Iterator[int]:
    group = next((line[3:] for line in _text(root / "proc/self/cgroup").splitlines() if line.startswith("0::")), None)
    if group is None:
        return
    base = root / "sys/fs/cgroup"
    folder = base / group.lstrip("/")
    for each in (folder, *folder.parents):
        limit, used = _text(each / "memory.max").strip(), _text(each / "memory.current").strip()
        if limit.isdigit() and used.isdigit():
            yield max(int(limit) - int(used), 0)
        if each == base:
            return


def _text(path: Path) -> str:
    """The text of a file; empty if the kernel does not have the file."""
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
