"""A machine file from the host's topology, with the costs of the most similar shipped machine or measured costs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import log2
from pathlib import Path
from typing import Any

from schedlab.extension import extension
from schedlab.notation import toml_text
from schedlab.notation.toml_text import quoted
from schedlab.notation.units import counted
from schedlab.simulation import models
from schedlab.simulation.errors import ModelError
from schedlab.simulation.host.solve import Figure
from schedlab.simulation.host.topology import Topology, read
from schedlab.simulation.models import Model

_ARM = ("kunpeng920", "rpi4b")
"""The shipped machines of the Arm architecture. The other shipped machines are x86."""

_OWN_LINES = frozenset({
    "name", "about", "sockets", "nodes_per_socket", "caches_per_node", "cores_per_cache", "cores_per_cluster",
    "threads_per_core", "numbering", "distances", "reclaim_distance", "hz", "mhz", "memory_mib", "private_kib",
    "llc_kib", "idle", "costs",
})  # fmt: skip
"""The keys that `_text_of` writes explicitly. All other keys are copied from the most similar machine."""

_FIRST_ZEN = 0x17
"""Family of the first Zen (AMD's processor programming reference of family 17h)."""

_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class _Facts:
    """Properties of the host other than its topology; None where the host does not show a property."""

    arm: bool | None
    zen: bool
    model: str | None
    mhz: int | None
    memory_mib: int | None
    hz: int | None


def machine_file(root: Path, name: str | None = None) -> str:
    """Return the TOML text of a machine like the host below ``root``; ModelError when no model can represent the
    host."""
    topology, facts = read(root), _facts(root)
    shipped = map(models.machine, models.machine_names())
    nearest = min(shipped, key=lambda model: _distance(topology, facts, model))
    text = _text_of(name or _host_name(root), topology, facts, nearest)
    try:
        extension().check_machine(text)
    except ModelError as error:
        raise ModelError(f"no model can represent this machine: {error.what}", todo=error.todo) from error
    return text


def _facts(root: Path) -> _Facts:
    cpuinfo = _text(root / "proc/cpuinfo")
    fields = dict(re.findall(r"^([^\t:]+?)\s*: (.*)$", cpuinfo, re.MULTILINE))
    amd = fields.get("vendor_id") == "AuthenticAMD"
    arm = True if "CPU implementer" in fields else False if "vendor_id" in fields else None
    highest = _text(root / "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").strip()
    mhz = int(highest) // 1000 if highest.isdecimal() else round(float(fields.get("cpu MHz", 0)))
    memory = re.search(r"^MemTotal:\s+(\d+) kB", _text(root / "proc/meminfo"), re.MULTILINE)
    release = _text(root / "proc/sys/kernel/osrelease").strip()
    hz = re.search(r"^CONFIG_HZ=(\d+)$", _text(root / f"boot/config-{release}"), re.MULTILINE)
    return _Facts(
        arm=arm,
        zen=amd and int(fields.get("cpu family", 0)) >= _FIRST_ZEN,
        model=fields.get("model name"),
        mhz=mhz or None,
        memory_mib=int(memory[1]) // 1024 if memory else None,
        hz=int(hz[1]) if hz else None,
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _host_name(root: Path) -> str:
    return _NAME.sub("-", _text(root / "proc/sys/kernel/hostname").strip()) or "host"


def _distance(topology: Topology, facts: _Facts, model: Model) -> float:
    """The difference to a shipped machine: doublings of each count and of the clock, and 4 for another architecture."""
    data = model.data
    pairs = [
        (topology.sockets, data["sockets"]),
        (topology.nodes, model.nodes),
        (topology.cpus, model.cpus),
        (topology.threads_per_core, data.get("threads_per_core", 1)),
        (facts.mhz or data["mhz"], data["mhz"]),
    ]
    other = facts.arm is not None and facts.arm != (model.name in _ARM)
    return sum(abs(log2(ours / theirs)) for ours, theirs in pairs) + 4 * other


def _text_of(name: str, topology: Topology, facts: _Facts, nearest: Model) -> str:
    data, copied = nearest.data, f"# {nearest.name}'s: this host does not show this value"
    memory = None if facts.memory_mib is None else max(1, facts.memory_mib // topology.nodes)

    def line(key: str, value: int | None) -> str:
        return f"{key} = {data[key]} {copied}" if value is None else f"{key} = {value}"

    about = f"{counted(topology.cpus, 'CPU')}{f', {facts.model}' if facts.model else ''}"
    lines = [
        "# Made from this host by 'schedlab sim machines from-host'. Topology, caches, clock, memory are this host's,",
        f"# except where a comment states another source. Idle states and costs are copied from {nearest.name},",
        "# the most similar shipped machine: these values were NOT measured here.",
        *(f"# {remark[0].upper()}{remark[1:]}." for remark in topology.remarks),
        f"name = {quoted(name)}",
        f"about = {quoted(about)}",
        f"sockets = {topology.sockets}",
        f"nodes_per_socket = {topology.nodes_per_socket}",
        f"caches_per_node = {topology.caches_per_node}",
        f"cores_per_cache = {topology.cores_per_cache}",
        *([f"cores_per_cluster = {topology.cores_per_cluster}"] if topology.cores_per_cluster else []),
        f"threads_per_core = {topology.threads_per_core}",
        f'numbering = "{topology.numbering}"',
        *([f"distances = {topology.distances}"] if topology.distances else []),
        *(["reclaim_distance = 32 # of all Zen (arch/x86/kernel/cpu/amd.c)"] if facts.zen else []),
        line("hz", facts.hz),
        line("mhz", facts.mhz),
        line("memory_mib", memory),
        line("private_kib", topology.private_kib),
        line("llc_kib", topology.llc_kib),
        *(f"{key} = {_value(data[key])} {copied}" for key in data if key not in _OWN_LINES),
        f"idle = [{', '.join(_inline(state) for state in data['idle'])}] # {nearest.name}'s",
        "",
        f"[costs] # {nearest.name}'s, without exception",
        *(f"{key} = {_inline(cost) if isinstance(cost, dict) else cost}" for key, cost in data["costs"].items()),
    ]
    return "\n".join(lines) + "\n"


def _value(value: bool | int | str) -> str:
    """The value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    return quoted(value) if isinstance(value, str) else str(value)


def _inline(table: dict[str, Any]) -> str:
    return "{ " + ", ".join(f"{key} = {value}" for key, value in table.items()) + " }"


AGENT_FLIPS = 16
"""``wakee_flips`` of the programs that an experiment's agent starts, see ``inherited_flips`` of machine files. On Linux
6.18 nine of ten forks of such a program had 16 to 31."""

Figures = Mapping[str, Figure]
"""Figures by dotted key of the machine file."""


def with_measured(text: str, data: Mapping[str, Any], figures: Figures) -> str:
    """The machine file with the measured costs, and a comment on the source of each cost."""
    head, _, copied = text.partition("[costs]")
    nearest = copied.partition("'s, without exception")[0].removeprefix(" # ")
    kept = [line for line in head.splitlines() if not line.startswith(_REPLACED)]
    lines = [
        "# Made from this host by 'schedlab sim machines calibrate'. Topology, caches, clock, memory are this host's,",
        "# except where a comment states another source. A measured cost is the value with which the simulated probe",
        "# takes as long as the probe on this host. In parentheses: the extremes of the tries.",
        *kept,
        f"llc_kib = {data['llc_kib']} # sysfs, or the largest buffer that random reads find in the cache",
        "mwait = false # interrupts wake idle CPUs; what mwait saves is in the measured costs",
        f"inherited_flips = {AGENT_FLIPS} # experiments start programs by schedload's agent, not by a shell",
    ]
    if "noise" in data:
        lines.append(
            "# Measured: gaps of a loop on one CPU that are at least three ticks long; means of sixteenths of all gaps."
        )
        lines.append(f"noise = {toml_text.value(data['noise'])}")
    if "speeds" in data:
        lines.append(
            "# Durations: measured, write() to /dev/null on two CPUs at once; means of sixteenths of all passes."
        )
        lines.append("# The mean interval is not measured: in about this time two virtual CPUs changed their ratio.")
        lines.append(f"speeds = {toml_text.value(data['speeds'])}")
    lines.append(f'costs_kernel = "{data["costs_kernel"]}" # the kernel model of the simulated probes')
    taken = f"copied from {nearest}"
    for state in range(len(data["idle"])):
        figure = figures.get(f"idle.{state}.exit_ns")
        lines.append(f"# idle state {state}: {figure.comment if figure else taken}")
    lines.append(f"idle = {toml_text.value(data['idle'])}")
    lines.append("")
    lines.append(f"[costs] # measured here, or {taken}")
    for key, cost in data["costs"].items():
        places = [f"costs.{key}"] if not isinstance(cost, Mapping) else [f"costs.{key}.{place}" for place in cost]
        known = {place: figures[place] for place in places if place in figures}
        for place, figure in known.items():
            name = place.removeprefix(f"costs.{key}").removeprefix(".")
            lines.append(f"# {name}: {figure.comment}" if name else f"# {figure.comment}")
        rest = "" if len(known) == len(places) else f" # {taken}" if not known else f" # the other distances: {taken}"
        lines.append(f"{key} = {toml_text.value(cost)}{rest}")
    return "\n".join(lines) + "\n"


_FROM_HOST = ("# Made from this host", "# except where a comment", "# the most similar shipped machine")
"""Beginnings of the lines about 'from-host' at the start of the file of 'from-host'."""

_REPLACED = (*_FROM_HOST, "idle = ", "mwait = ", "inherited_flips = ", "costs_kernel = ", "llc_kib = ")
"""Beginnings of the lines of that file which the calibration writes itself."""
