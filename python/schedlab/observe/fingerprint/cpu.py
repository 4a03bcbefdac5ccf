"""CPUs: model, topology, caches, how their frequency is governed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from schedlab.cpulist import parse_cpu_list
from schedlab.observe.fingerprint.files import number, text

_CPUINFO = {
    "model name": "model", "vendor_id": "vendor", "cpu family": "family", "model": "model_number",
    "stepping": "stepping", "microcode": "microcode", "CPU implementer": "implementer", "CPU part": "part",
}  # fmt: skip


def cpu(root: Path) -> dict[str, Any]:
    """The first CPU's identity from /proc/cpuinfo (x86 and Arm name theirs differently), and the machine's arch."""
    found: dict[str, Any] = {}
    for line in (text(root / "proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if (name := _CPUINFO.get(key.strip())) and name not in found:
            found[name] = value.strip()
    return found


def topology(root: Path) -> dict[str, Any]:
    """Online CPUs, sockets, cores, NUMA nodes with their CPUs and distances, SMT."""
    base = root / "sys/devices/system"
    online = text(base / "cpu/online")
    cpus = parse_cpu_list(online) if online else []
    places = [base / f"cpu/cpu{i}/topology" for i in cpus]
    packages = {number(place / "physical_package_id") for place in places}
    cores = {(number(place / "physical_package_id"), number(place / "core_id")) for place in places}
    nodes = {
        node.name: {"cpus": text(node / "cpulist"), "distances": text(node / "distance")}
        for node in sorted(base.glob("node/node[0-9]*"))
    }
    return {
        "cpus": len(cpus),
        "online": online,
        "isolated": text(base / "cpu/isolated") or "",
        "nohz_full": text(base / "cpu/nohz_full") or "",
        "sockets": len(packages),
        "cores": len(cores),
        "nodes": nodes,
        "smt": text(base / "cpu/smt/control"),
        "smt_active": number(base / "cpu/smt/active"),
    }


def caches(root: Path) -> list[dict[str, Any]]:
    """The first CPU's caches: level, type, size, and the CPUs that share them."""
    return [
        {
            "level": number(index / "level"),
            "type": text(index / "type"),
            "size": text(index / "size"),
            "shared_by": text(index / "shared_cpu_list"),
        }
        for index in sorted(root.glob("sys/devices/system/cpu/cpu0/cache/index[0-9]*"))
    ]


def frequency(root: Path) -> dict[str, Any]:
    """Governor, driver, limits in kHz, turbo; all None in most virtual machines."""
    policy = root / "sys/devices/system/cpu/cpu0/cpufreq"
    no_turbo = number(root / "sys/devices/system/cpu/intel_pstate/no_turbo")
    boost = number(root / "sys/devices/system/cpu/cpufreq/boost")
    turbo = boost if no_turbo is None else 1 - no_turbo
    return {
        "driver": text(policy / "scaling_driver"),
        "governor": text(policy / "scaling_governor"),
        "min_khz": number(policy / "scaling_min_freq"),
        "max_khz": number(policy / "scaling_max_freq"),
        "turbo": None if turbo is None else bool(turbo),
        "idle_driver": text(root / "sys/devices/system/cpu/cpuidle/current_driver"),
    }
