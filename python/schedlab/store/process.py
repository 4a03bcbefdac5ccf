"""Identity of the process that runs a run. Only a live process runs one, whatever the run's row says."""

from __future__ import annotations

import os
from pathlib import Path


def this_process() -> str:
    """Return host, boot, PID namespace, process and its start time."""
    pid = str(os.getpid())
    return " ".join((*_machine(), pid, _started(pid) or "?"))


def has_ended(process: str | None) -> bool:
    """Whether a process has certainly ended. A process of another host or PID namespace cannot be checked."""
    words, here = tuple((process or "").split()), _machine()
    if len(words) != 5 or (words[0] == here[0] and words[1] != here[1]):
        return True
    return words[:3] == here and _started(words[3]) != words[4]


def _machine() -> tuple[str, str, str]:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return os.uname().nodename or "?", boot, os.readlink("/proc/self/ns/pid")


def _started(pid: str) -> str | None:
    """Return a process's start time in clock ticks since the boot (proc_pid_stat(5), field 22); None after its end."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else fields[19].decode()
