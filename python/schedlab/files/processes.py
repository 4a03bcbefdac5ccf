"""Identity of a process: host, boot, PID namespace, PID and start time. Kernels reuse PIDs, so a PID is not unique."""

from __future__ import annotations

import os
from pathlib import Path


def this_process() -> str:
    """Return the identity of this process as five words: host, boot, PID namespace, PID and start time."""
    pid = os.getpid()
    return " ".join((*_machine(), str(pid), str(start_of(pid) or "?")))


def has_ended(process: str | None) -> bool:
    """Whether a process has certainly ended. A process of another host or PID namespace cannot be checked.

    Args:
        process: the identity as `this_process` returned it; None or any other text means that the process has ended.
    """
    words, (host, boot, _) = tuple((process or "").split()), _machine()
    if len(words) != 5 or (words[0] == host and words[1] != boot):
        return True
    return words[0] == host and is_gone(words[3], words[4], words[2])


def is_running(process: str | None) -> bool:
    """Whether a process certainly exists: it is a process of this host, boot and PID namespace."""
    words = tuple((process or "").split())
    return len(words) == 5 and words[:3] == _machine() and not has_ended(process)


def is_gone(pid: int | str, start: int | str, in_namespace: str) -> bool:
    """Whether a process of this boot has certainly ended. PIDs of other namespaces cannot be checked: False."""
    return in_namespace == namespace() and str(start_of(pid)) != str(start)


def start_of(pid: int | str) -> int | None:
    """Return a process's start time in clock ticks since the boot (proc_pid_stat(5), field 22); None after its end."""
    try:
        # The name in parentheses may contain spaces and parentheses, so fields are counted after the closing
        # parenthesis.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(fields[19]) if len(fields) > 19 and fields[0] not in (b"Z", b"X") else None


def namespace() -> str:
    """Return the identity of this process's PID namespace; an empty text without /proc."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _machine() -> tuple[str, str, str]:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return os.uname().nodename or "?", boot, namespace()
