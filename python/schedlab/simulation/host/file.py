"""A machine file from the host's topology and the costs of the nearest shipped machine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import log2
from pathlib import Path
from typing import Any

from schedlab.simulation import models
from schedlab.simulation.errors import ModelError
from schedlab.simulation.host.topology import Topology, read
from schedlab.simulation.models import Model
from schedlab.simulation.native import extension

_ARM = ("kunpeng920", "rpi4b")
"""The shipped machines that are of the Arm architecture; the others are x86."""

_WRITTEN = frozenset({
    "name", "about", "sockets", "nodes_per_socket", "caches_per_node", "cores_per_cache", "threads_per_core",
    "numbering", "distances", "hz", "mhz", "memory_mib", "private_kib", "llc_kib", "idle", "costs",
})  # fmt: skip
"""The keys that have a line of their own; any other of the nearest machine's is taken over."""

_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class _Facts:
    """What else the host tells; None where it does not."""

    arm: bool | None
    model: str | None
    mhz: int | None
    memory_mib: int | None
    hz: int | None


def machine_file(root: Path, name: str | None = None) -> str:
    """The TOML text of a machine like the host below ``root``; ModelError when no model can be like it."""
    topology, facts = read(root), _facts(root)
    nearest = min((models.machine(known) for known in models.machine_names()), key=lambda m: _far(topology, facts, m))
    text = _written(name or _host_name(root), topology, facts, nearest)
    try:
        extension().check_machine(text)
    except ModelError as error:
        raise ModelError(f"no model can be like this machine: {error.what}", todo=error.todo) from error
    return text


def _facts(root: Path) -> _Facts:
    cpuinfo = _text(root / "proc/cpuinfo")
    found = dict(re.findall(r"^([^\t:]+?)\s*: (.*)$", cpuinfo, re.MULTILINE))
    arm = True if "CPU implementer" in found else False if "vendor_id" in found else None
    highest = _text(root / "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").strip()
    mhz = int(highest) // 1000 if highest.isdecimal() else round(float(found.get("cpu MHz", 0)))
    memory = re.search(r"^MemTotal:\s+(\d+) kB", _text(root / "proc/meminfo"), re.MULTILINE)
    release = _text(root / "proc/sys/kernel/osrelease").strip()
    hz = re.search(r"^CONFIG_HZ=(\d+)$", _text(root / f"boot/config-{release}"), re.MULTILINE)
    return _Facts(
        arm=arm,
        model=found.get("model name"),
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


def _far(topology: Topology, facts: _Facts, model: Model) -> float:
    """How unlike a shipped machine is: doublings of each count and of the clock, and four for the architecture."""
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


def _written(name: str, topology: Topology, facts: _Facts, nearest: Model) -> str:
    data, borrowed = nearest.data, f"# {nearest.name}'s: this host does not tell"
    memory = None if facts.memory_mib is None else max(1, facts.memory_mib // topology.nodes)

    def line(key: str, own: int | None) -> str:
        return f"{key} = {data[key]} {borrowed}" if own is None else f"{key} = {own}"

    about = f"{topology.cpus} CPUs{f', {facts.model}' if facts.model else ''}"
    lines = [
        "# Made from this host by 'schedlab machines from-host'. Topology, caches, clock and memory are the host's own",
        f"# where nothing else is said. Idle states and costs are those of {nearest.name},",
        "# the shipped machine most like it: they were NOT measured here.",
        *(f"# {remark[0].upper()}{remark[1:]}." for remark in topology.remarks),
        f"name = {_quoted(name)}",
        f"about = {_quoted(about)}",
        f"sockets = {topology.sockets}",
        f"nodes_per_socket = {topology.nodes_per_socket}",
        f"caches_per_node = {topology.caches_per_node}",
        f"cores_per_cache = {topology.cores_per_cache}",
        f"threads_per_core = {topology.threads_per_core}",
        f'numbering = "{topology.numbering}"',
        *([f"distances = {topology.distances}"] if topology.distances else []),
        line("hz", facts.hz),
        line("mhz", facts.mhz),
        line("memory_mib", memory),
        line("private_kib", topology.private_kib),
        line("llc_kib", topology.llc_kib),
        *(f"{key} = {_value(data[key])} {borrowed}" for key in data if key not in _WRITTEN),
        f"idle = [{', '.join(_inline(state) for state in data['idle'])}] # {nearest.name}'s",
        "",
        f"[costs] # {nearest.name}'s, all of them",
        *(f"{key} = {_inline(cost) if isinstance(cost, dict) else cost}" for key, cost in data["costs"].items()),
    ]
    return "\n".join(lines) + "\n"


def _value(value: bool | int | str) -> str:
    """As TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return _quoted(value) if isinstance(value, str) else str(value)


def _inline(table: dict[str, Any]) -> str:
    return "{ " + ", ".join(f"{key} = {value}" for key, value in table.items()) + " }"


def _quoted(text: str) -> str:
    """A TOML basic string; control characters have no place in a name."""
    plain = "".join(character for character in text if character.isprintable())
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
