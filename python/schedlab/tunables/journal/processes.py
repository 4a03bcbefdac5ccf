"""Telling a live run from a dead one."""

from __future__ import annotations

import os
from pathlib import Path


def start_of(pid: int) -> int | None:
    """When the process began, in clock ticks since boot (field 22 of /proc/PID/stat); None when there is none.

    With the pid it names a process for good: a pid alone is soon used again.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name in parentheses may hold spaces and parentheses; the fields are counted after its end.
    fields = stat.rpartition(")")[2].split()
    return int(fields[19]) if len(fields) > 19 and fields[0] not in {"Z", "X"} else None


def namespace() -> str:
    """Identity of this process's pid namespace: pids of another one say nothing here."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
