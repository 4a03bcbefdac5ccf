"""Memory that is available to this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

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
