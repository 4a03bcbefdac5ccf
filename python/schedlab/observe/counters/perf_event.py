"""perf_event_open(2) for software events of a whole CPU, straight from libc: no library, no process beside the trial."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Sequence

PAGE_FAULTS, CONTEXT_SWITCHES, CPU_MIGRATIONS = 2, 3, 4
"""PERF_COUNT_SW_* of <linux/perf_event.h>."""

_TYPE_SOFTWARE = 1
_FORMAT_GROUP = 1 << 3
_FLAG_FD_CLOEXEC = 1 << 3

_SYSCALL = {
    "x86_64": 298, "i686": 336, "aarch64": 241, "armv7l": 364, "riscv64": 241, "loongarch64": 241, "ppc64le": 319,
    "ppc64": 319, "s390x": 331,
}  # fmt: skip
"""The call's number by machine (syscall tables of the kernel; the generic one for newer machines)."""

_ATTR = struct.Struct("=IIQQQQQIIQ")
"""struct perf_event_attr in its first published size, PERF_ATTR_SIZE_VER0: 64 bytes, which every kernel accepts."""

_NO_PROCESS, _NO_GROUP = -1, -1


class Group:
    """Several software events of one CPU, read together: one system call, and one interrupt of that CPU, a look."""

    def __init__(self, cpu: int, events: Sequence[int]) -> None:
        """Open the events, counting at once. Raises OSError (perf_event_open(2), "ERRORS")."""
        self.cpu = cpu
        self._format = struct.Struct(f"={1 + len(events)}Q")
        self._files: list[int] = []
        try:
            for event in events:
                self._files.append(_open(cpu, event, self._files[0] if self._files else _NO_GROUP))
        except OSError:
            self.close()
            raise

    def read(self) -> tuple[int, ...] | None:
        """The counts since the opening; None once the CPU went offline, which breaks the group for good."""
        data = os.read(self._files[0], self._format.size + 8)
        if len(data) != self._format.size:
            return None
        many, *values = self._format.unpack(data)
        return tuple(values) if many == len(values) else None

    def close(self) -> None:
        """Stop counting."""
        while self._files:
            os.close(self._files.pop())


def _open(cpu: int, event: int, group: int) -> int:
    number = _SYSCALL.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, f"the system call's number is not known for {platform.machine()}")
    attr = _ATTR.pack(_TYPE_SOFTWARE, _ATTR.size, event, 0, 0, _FORMAT_GROUP, 0, 0, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = (ctypes.c_long(number), attr, _NO_PROCESS, cpu, group, ctypes.c_ulong(_FLAG_FD_CLOEXEC))
    file = int(libc.syscall(*arguments))
    if file < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return file
