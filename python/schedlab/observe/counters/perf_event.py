"""perf_event_open(2) for software events of a whole CPU, straight from libc: no process runs beside the trial."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct

CPU_MIGRATIONS = 4
_DUMMY = 9
"""PERF_COUNT_SW_* of <linux/perf_event.h>. The dummy counts nothing and costs nothing; see :class:`CpuCounter`."""

_TYPE_SOFTWARE = 1
_FORMAT_GROUP = 1 << 3
_FLAG_FD_CLOEXEC = 1 << 3

_SYSCALL = {
    "x86_64": 298, "i686": 336, "aarch64": 241, "armv7l": 364, "riscv64": 241, "loongarch64": 241, "ppc64le": 319,
    "ppc64": 319, "s390x": 331,
}  # fmt: skip
"""The call's number by machine (syscall tables of the kernel; 241 is the generic one of newer machines)."""

_ATTR = struct.Struct("=IIQQQQQIIQ")
"""struct perf_event_attr in its first published size, PERF_ATTR_SIZE_VER0: 64 bytes, which every kernel accepts."""

_RECORD = struct.Struct("=QQQ")
"""What a read of a group of two gives: their number, then their counts."""

_NO_PROCESS, _NO_GROUP = -1, -1


class CpuCounter:
    """A software event of one CPU, in a group with the dummy event.

    The group tells what the count cannot: when its CPU goes offline the kernel stops the event for good, without an
    error, and dissolves the group (``__perf_event_exit_context`` in kernel/events/core.c).
    """

    def __init__(self, cpu: int, event: int) -> None:
        """Open the event, counting at once. Raises OSError (perf_event_open(2), "ERRORS")."""
        self.cpu = cpu
        self._files = [_open(cpu, event, _NO_GROUP)]
        try:
            self._files.append(_open(cpu, _DUMMY, self._files[0]))
        except OSError:
            self.close()
            raise

    def read(self) -> int | None:
        """The count since the opening; None once the CPU was offline."""
        data = os.read(self._files[0], _RECORD.size)
        if len(data) != _RECORD.size:
            return None
        members, count, _dummy = _RECORD.unpack(data)
        return int(count) if members == 2 else None

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
    file = int(libc.syscall(ctypes.c_long(number), attr, _NO_PROCESS, cpu, group, ctypes.c_ulong(_FLAG_FD_CLOEXEC)))
    if file < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return file
