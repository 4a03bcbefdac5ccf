"""The kernel: version, command line, clock source, mitigations, and whether a hypervisor stands below it."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

from schedlab.observe.fingerprint.files import text


def kernel(root: Path) -> dict[str, Any]:
    """Release, build, command line, preemption model as far as told, clock source, time since boot."""
    clock = root / "sys/devices/system/clocksource/clocksource0"
    uptime = text(root / "proc/uptime")
    return {
        "release": text(root / "proc/sys/kernel/osrelease"),
        "version": text(root / "proc/sys/kernel/version"),
        "machine": platform.machine(),
        "command_line": text(root / "proc/cmdline"),
        "clocksource": text(clock / "current_clocksource"),
        "sched_ext": _sched_ext(root),
        "hostname": text(root / "proc/sys/kernel/hostname"),
        "uptime_seconds": float(uptime.split()[0]) if uptime else None,
    }


def _sched_ext(root: Path) -> str | None:
    """State of sched_ext, with the name of a loaded scheduler: it is a part of the machine as much as the kernel is."""
    state, ops = (text(root / "sys/kernel/sched_ext" / name) for name in ("state", "root/ops"))
    return f"{state}: {ops}" if state and ops else state


def mitigations(root: Path) -> dict[str, str | None]:
    """What /sys says of each CPU vulnerability."""
    return {path.name: text(path) for path in sorted(root.glob("sys/devices/system/cpu/vulnerabilities/*"))}


def virtualisation(root: Path) -> dict[str, Any]:
    """Whether a hypervisor is told of, by what, and the CPU time that it has stolen since boot."""
    cpuinfo = text(root / "proc/cpuinfo") or ""
    flags = next((line for line in cpuinfo.splitlines() if line.startswith("flags")), "")
    stat = (text(root / "proc/stat") or "").splitlines()
    fields = stat[0].split() if stat else []
    return {
        "virtualised": "hypervisor" in flags.split() or (root / "sys/hypervisor/type").exists() or None,
        "product": text(root / "sys/class/dmi/id/product_name"),
        "vendor": text(root / "sys/class/dmi/id/sys_vendor"),
        "steal_seconds": int(fields[8]) / 100 if len(fields) > 8 else None,
    }
