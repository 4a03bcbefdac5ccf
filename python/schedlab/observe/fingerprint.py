"""The fingerprint: a description of the machine, and a hash that changes only with the machine's configuration.

Figures that cannot be read are None.
"""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from schedlab.notation.cpulist import parse_cpu_list
from schedlab.workloads.base import Tool
from schedlab.workloads.tools import SCHEDLOAD, find

_TRANSIENT = ("steal_seconds", "uptime_seconds", "hostname")
"""Fields that change while the machine stays the same. These fields are recorded but not hashed."""

_CPUINFO = {
    "model name": "model", "vendor_id": "vendor", "cpu family": "family", "model": "model_number",
    "stepping": "stepping", "microcode": "microcode", "CPU implementer": "implementer", "CPU part": "part",
}  # fmt: skip

_SYSTEM = "/sys/devices/system"
FILES = (
    "/proc/cpuinfo", "/proc/meminfo", "/proc/uptime", "/proc/stat", "/proc/cmdline", "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/version", "/proc/sys/kernel/hostname", "/sys/kernel/sched_ext/state",
    "/sys/kernel/sched_ext/root/ops", "/sys/hypervisor/type", "/sys/class/dmi/id/product_name",
    "/sys/class/dmi/id/sys_vendor",
    *(f"{_SYSTEM}/cpu/{name}" for name in (
        "online", "isolated", "nohz_full", "smt/control", "smt/active", "vulnerabilities/*", "cpu*/topology/core_id",
        "cpu*/topology/physical_package_id", "cpu0/cache/index*/*", "cpu0/cpufreq/scaling_*", "intel_pstate/no_turbo",
        "cpufreq/boost", "cpuidle/current_driver",
    )),
    *(f"{_SYSTEM}/{name}" for name in (
        "node/node*/cpulist", "node/node*/distance", "clocksource/clocksource0/current_clocksource",
    )),
)  # fmt: skip
"""Patterns of the files that :func:`take` reads, for targets that copy them from another machine."""

_VERSIONED = (Tool("perf", "linux-perf"), SCHEDLOAD)
"""Tools whose version affects the figures."""


def take(root: Path = Path("/")) -> dict[str, Any]:
    """Return the fingerprint of the machine below ``root``."""
    return {
        "cpu": _cpu(root),
        "topology": _topology(root),
        "caches": _caches(root),
        "memory_kib": _memory(root),
        "kernel": _kernel(root),
        "mitigations": {
            path.name: _text(path) for path in sorted(root.glob("sys/devices/system/cpu/vulnerabilities/*"))
        },
        "frequency": _frequency(root),
        "virtualisation": _virtualisation(root),
        "tools": _versions() if root == Path("/") else {},
        "root": None if root == Path("/") else "a tree of files, not this machine's /proc and /sys",
    }


def stable_hash(fingerprint: Mapping[str, Any]) -> str:
    """Return twelve hex digits over all fields except transient fields (steal, uptime, host name)."""
    return sha256(
        json.dumps(_without_transient(fingerprint), sort_keys=True, separators=(",", ":")).encode()
    ).hexdigest()[:12]


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the differences, except transient fields: ``frequency.governor (powersave → performance)``."""
    old, new = _flat(_without_transient(before)), _flat(_without_transient(after))
    paths = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    return [f"{path} ({old.get(path)} → {new.get(path)})" for path in paths]


def _without_transient(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_transient(item) for key, item in value.items() if key not in _TRANSIENT}
    return value


def _flat(value: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {path: value}
    return {
        name: item for key, field in value.items() for name, item in _flat(field, f"{path}.{key}".strip(".")).items()
    }


def _text(path: Path) -> str | None:
    """Return the file's stripped text; None when the file cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None


def _number(path: Path) -> int | None:
    """Return the file's number; None when the file cannot be read or does not contain a number."""
    text = _text(path)
    return int(text) if text is not None and text.lstrip("-").isdecimal() else None


def _cpu(root: Path) -> dict[str, Any]:
    """Return the first CPU's identity from /proc/cpuinfo. The fields of the file differ between x86 and Arm."""
    identity: dict[str, Any] = {}
    for line in (_text(root / "proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if (name := _CPUINFO.get(key.strip())) and name not in identity:
            identity[name] = value.strip()
    return identity


def _topology(root: Path) -> dict[str, Any]:
    """Online CPUs, sockets, cores, NUMA nodes with their CPUs and distances, SMT."""
    base = root / "sys/devices/system"
    online = _text(base / "cpu/online")
    cpus = parse_cpu_list(online) if online else []
    places = [base / f"cpu/cpu{i}/topology" for i in cpus]
    packages = {_number(place / "physical_package_id") for place in places}
    cores = {(_number(place / "physical_package_id"), _number(place / "core_id")) for place in places}
    nodes = {
        node.name: {"cpus": _text(node / "cpulist"), "distances": _text(node / "distance")}
        for node in sorted(base.glob("node/node[0-9]*"))
    }
    return {
        "cpus": len(cpus),
        "online": online,
        "isolated": _text(base / "cpu/isolated") or "",
        "nohz_full": _text(base / "cpu/nohz_full") or "",
        "sockets": len(packages),
        "cores": len(cores),
        "nodes": nodes,
        "smt": _text(base / "cpu/smt/control"),
        "smt_active": _number(base / "cpu/smt/active"),
    }


def _caches(root: Path) -> list[dict[str, Any]]:
    """The first CPU's caches: level, type, size, and the CPUs that share them."""
    return [
        {
            "level": _number(index / "level"),
            "type": _text(index / "type"),
            "size": _text(index / "size"),
            "shared_by": _text(index / "shared_cpu_list"),
        }
        for index in sorted(root.glob("sys/devices/system/cpu/cpu0/cache/index[0-9]*"))
    ]


def _memory(root: Path) -> int | None:
    for line in (root / "proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1])
    return None


def _frequency(root: Path) -> dict[str, Any]:
    """Governor, driver, limits in kHz, turbo; all None in most virtual machines."""
    policy = root / "sys/devices/system/cpu/cpu0/cpufreq"
    no_turbo = _number(root / "sys/devices/system/cpu/intel_pstate/no_turbo")
    boost = _number(root / "sys/devices/system/cpu/cpufreq/boost")
    turbo = boost if no_turbo is None else 1 - no_turbo
    return {
        "driver": _text(policy / "scaling_driver"),
        "governor": _text(policy / "scaling_governor"),
        "min_khz": _number(policy / "scaling_min_freq"),
        "max_khz": _number(policy / "scaling_max_freq"),
        "turbo": None if turbo is None else bool(turbo),
        "idle_driver": _text(root / "sys/devices/system/cpu/cpuidle/current_driver"),
    }


def _kernel(root: Path) -> dict[str, Any]:
    """Release, build, command line, clock source, sched_ext, time since boot."""
    clock = root / "sys/devices/system/clocksource/clocksource0"
    uptime = _text(root / "proc/uptime")
    return {
        "release": _text(root / "proc/sys/kernel/osrelease"),
        "version": _text(root / "proc/sys/kernel/version"),
        "machine": platform.machine(),
        "command_line": _text(root / "proc/cmdline"),
        "clocksource": _text(clock / "current_clocksource"),
        "sched_ext": _sched_ext(root),
        "hostname": _text(root / "proc/sys/kernel/hostname"),
        "uptime_seconds": float(uptime.split()[0]) if uptime else None,
    }


def _sched_ext(root: Path) -> str | None:
    """Return the state of sched_ext and the loaded scheduler's name, which matters as much as the kernel's version."""
    state, ops = (_text(root / "sys/kernel/sched_ext" / name) for name in ("state", "root/ops"))
    return f"{state}: {ops}" if state and ops else state


def _virtualisation(root: Path) -> dict[str, Any]:
    """Whether the kernel reports a hypervisor, its vendor and product, and the CPU time stolen since boot."""
    cpuinfo = _text(root / "proc/cpuinfo") or ""
    flags = next((line for line in cpuinfo.splitlines() if line.startswith("flags")), "")
    stat = (_text(root / "proc/stat") or "").splitlines()
    fields = stat[0].split() if stat else []
    return {
        "virtualised": "hypervisor" in flags.split() or (root / "sys/hypervisor/type").exists() or None,
        "product": _text(root / "sys/class/dmi/id/product_name"),
        "vendor": _text(root / "sys/class/dmi/id/sys_vendor"),
        "steal_seconds": int(fields[8]) / 100 if len(fields) > 8 else None,
    }


@cache
def _versions() -> dict[str, str | None]:
    """Version of each tool; None when the program is not installed or does not end within 5 s."""
    versions: dict[str, str | None] = {"schedlab": version("schedlab"), "python": platform.python_version()}
    for tool in _VERSIONED:
        path = find(tool)
        versions[tool.program] = None if path is None else _first_line([str(path), "--version"])
    versions["libc"] = " ".join(platform.libc_ver())
    # The hackbench of Debian's package has no --version.
    versions["rt-tests"] = _first_line(["dpkg-query", "--showformat=${Version}", "--show", "rt-tests"])
    return versions


def _first_line(argv: list[str]) -> str | None:
    try:
        result = subprocess.run(argv, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.strip().partition("\n")[0] or None if result.returncode == 0 else None
