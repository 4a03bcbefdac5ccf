"""Types of single values in an experiment file: how each is written, and its limits."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, PlainValidator
from pydantic_core import PydanticCustomError

from schedlab.experiment.topology import BadTopology, Topology
from schedlab.notation.cpulist import parse_cpu_list
from schedlab.notation.units import parse_share, parse_time_ns
from schedlab.tunables import BadValue, Setting, UnknownTunable, model_setting, setting


class Table(BaseModel):
    """Base of the tables of an experiment file: unknown keys and values of another type are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


SLICE_NS_MIN, SLICE_NS_MAX = 100_000, 100_000_000
"""Range of a custom EEVDF slice: the kernel clamps ``sched_runtime`` to 0.1–100 ms (kernel/sched/syscalls.c, 6.12)."""


LONGEST_WAIT_S = 30 * 24 * 3600
"""Longest pause and timeout, 30 days. Longer times are typing mistakes, and Python's timers refuse very long times."""


def _seconds(value: object) -> float:
    seconds = parse_time_ns(value) / 1e9
    if seconds > LONGEST_WAIT_S:
        raise ValueError(f"{value!r} is too long: at most {LONGEST_WAIT_S // 3600}h (30 days) are possible")
    return seconds


def _slice_ns(value: object) -> int:
    ns = parse_time_ns(value)
    if not SLICE_NS_MIN <= ns <= SLICE_NS_MAX:
        raise ValueError(f"{value!r} is outside the range of a slice, 0.1ms to 100ms")
    return ns


def _cpu_list(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError('a CPU list is a string such as "0-3,8"')
    parse_cpu_list(value)
    return value


_MEMORY_POLICY = re.compile(r"local|preferred:\d+|(bind|interleave):(all|\d+(-\d+)?(,\d+(-\d+)?)*)")
"""The notation of ``schedload exec --mempolicy`` (``launcher/memory.rs``)."""


def _memory_policy(value: object) -> str:
    if not isinstance(value, str) or not _MEMORY_POLICY.fullmatch(value):
        todo = 'write "bind:NODES" or "interleave:NODES" with a list or all, "preferred:NODE", or "local"'
        raise ValueError(f"{value!r} is not a memory policy: {todo}")
    if (nodes := value.partition(":")[2]) not in ("", "all"):
        try:
            parse_cpu_list(nodes)
        except ValueError as error:
            raise ValueError(f"{value!r} names nodes that cannot exist: write a list such as 0-1,3") from error
    return value


def _command(value: object) -> tuple[str, ...]:
    """The arguments of a command. A string is split by the rules of a shell, without running a shell."""
    if isinstance(value, str):
        try:
            value = shlex.split(value)
        except ValueError as error:
            raise ValueError(f"{value!r} is not a command: {str(error).lower()}") from error
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        raise ValueError("a command is a string or a list of strings")
    if not value or not value[0].strip():
        raise ValueError("is empty: name the program")
    return tuple(value)


def _topology(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError('a topology is a string such as "4x2/4"')
    try:
        return str(Topology.parse(value))
    except BadTopology as error:
        raise ValueError(f"{error.what}; {error.todo}") from error


def _boot_parameters(value: str) -> str:
    if not value.isprintable():
        raise ValueError(f"{value!r} contains a control character: boot parameters are words on one line")
    return value


BAD_TUNABLES = "bad_tunables"
"""Type of the validation error for tunables; its context has ``faults``, pairs of the name as written and a message."""


def _tunables(table: object) -> dict[str, Setting]:
    """Parse a table of tunables into settings by canonical name; the error names every tunable with a fault."""
    if not isinstance(table, Mapping):
        raise ValueError('is not a table of names and values, such as { "vm.stat_interval" = 5 }')
    settings: dict[str, Setting] = {}
    written: dict[str, str] = {}
    faults: list[tuple[str, str]] = []
    for name, value in table.items():
        try:
            parsed = _setting(name, value)
        except (UnknownTunable, BadValue) as error:
            faults.append((name, str(error)))
            continue
        if (other := written.setdefault(parsed.name, name)) != name:
            faults.append((name, f"is the same tunable as {other!r}"))
        settings[parsed.name] = parsed
    if faults:
        raise PydanticCustomError(BAD_TUNABLES, "tunables that cannot be set", {"faults": faults})
    return settings


def _setting(name: str, value: object) -> Setting:
    """Return the setting. Names that exist only in shipped kernel models are accepted too, and need a simulated
    target."""
    try:
        return setting(name, value)
    except UnknownTunable:
        from schedlab.simulation.models import kernels_with

        if not kernels_with(name):
            raise
        return model_setting(name, value)


MEMORY_MIB_MIN = 192
"""Least memory of a node: with less, Debian's kernels cannot unpack the initial file system."""

Seconds = Annotated[float, BeforeValidator(_seconds), Field(ge=0)]
Limit = Annotated[float, BeforeValidator(_seconds), Field(gt=0)]
Nanoseconds = Annotated[int, BeforeValidator(parse_time_ns)]
SliceNs = Annotated[int, BeforeValidator(_slice_ns)]
CommandLine = Annotated[str, AfterValidator(_boot_parameters)]
MemoryMib = Annotated[int, Field(ge=MEMORY_MIB_MIN, le=1 << 24)]
TopologyText = Annotated[str, BeforeValidator(_topology)]
CommandWords = Annotated[tuple[str, ...], BeforeValidator(_command)]
Share = Annotated[float, BeforeValidator(parse_share), Field(gt=0, lt=1)]


def _texts(settings: Mapping[str, Setting]) -> dict[str, str]:
    return {name: setting.text for name, setting in settings.items()}


Tunables = Annotated[dict[str, Setting], PlainValidator(_tunables), PlainSerializer(_texts, return_type=dict[str, str])]
MemoryPolicy = Annotated[str, BeforeValidator(_memory_policy)]
CpuList = Annotated[str, BeforeValidator(_cpu_list)]


def _visible(name: str) -> str:
    """Refuse characters without a glyph, such as U+200B: two names that differ only by them look equal."""
    if hidden := next((character for character in name if not character.isprintable()), ""):
        raise ValueError(f"contains the invisible character U+{ord(hidden):04X}")
    return name


Name = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[^\s/,][^/,\n\t]*$"), AfterValidator(_visible)]
SwitchName = Annotated[str, Field(min_length=1, max_length=30, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
