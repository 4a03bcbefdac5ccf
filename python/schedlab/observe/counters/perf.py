"""CPU migrations of the whole machine, from perf's software event, because no file of the kernel shows migrations.

A counter for each CPU stays open for the run, so that a read costs microseconds. The counter belongs to the CPU, not to
the command: ``perf stat COMMAND`` counts with inherited counters, which the kernel copies at every fork and folds back
at every exit. That cost would distort a workload that forks. perf's events for context switches and page faults are not
used for a similar reason: they cost tens of nanoseconds at each switch or fault. /proc/stat and /proc/vmstat count both
anyway. Migrations are so rare and expensive that the cost of counting does not matter.

The counters are opened by perf_event_open(2) directly from libc, so that no process runs beside the trial.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from pathlib import Path

from schedlab.notation.cpulist import parse_cpu_list
from schedlab.observe.counters import histograms
from schedlab.observe.counters.source import Probed, Reading, Source, contents

NAME = "cpu-migrations"

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
"""The call's number by machine (syscall tables of the kernel; 241 is the generic number of newer machines)."""

_ATTR = struct.Struct("=IIQQQQQIIQ")
"""struct perf_event_attr in its first published size, PERF_ATTR_SIZE_VER0: 64 bytes, which every kernel accepts."""

_GROUP = struct.Struct("=QQQ")
"""Result of reading a group of two events: the number of events, then their counts."""

_RECORD = struct.Struct("=QQQ")
"""Record of a counter: generation, CPU, count."""

_NO_PROCESS, _NO_GROUP = -1, -1


def probe(root: Path) -> Probed:
    """Probe this machine's perf events. A tree of files has no perf events, but may contain a guest's histograms."""
    if root != Path("/"):
        return histograms.probe(root)
    try:
        migrations = Migrations(root / "sys/devices/system/cpu/online")
    except OSError as error:
        return Probed(None, [_reason(error, root)])
    return Probed(Source("perf software events", migrations.read, parse, close=migrations.close))


class CpuCounter:
    """A software event of one CPU, in a group with the dummy event.

    When its CPU goes offline, the kernel stops the event for good, without an error, and dissolves the group
    (``__perf_event_exit_context`` in kernel/events/core.c). The size of the group shows this; the count does not.
    """

    def __init__(self, cpu: int, event: int) -> None:
        """Open the event and start counting. Raises OSError (perf_event_open(2), "ERRORS")."""
        self.cpu = cpu
        self._files = [_open(cpu, event, _NO_GROUP)]
        try:
            self._files.append(_open(cpu, _DUMMY, self._files[0]))
        except OSError:
            self.close()
            raise

    def read(self) -> int | None:
        """Return the count since the opening; None once the CPU was offline."""
        data = os.read(self._files[0], _GROUP.size)
        if len(data) != _GROUP.size:
            return None
        members, count, _dummy = _GROUP.unpack(data)
        return int(count) if members == 2 else None

    def close(self) -> None:
        """Stop counting."""
        while self._files:
            os.close(self._files.pop())


def _open(cpu: int, event: int, group: int) -> int:
    number = _SYSCALL.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, f"the system call's number is unknown for {platform.machine()}")
    attr = _ATTR.pack(_TYPE_SOFTWARE, _ATTR.size, event, 0, 0, _FORMAT_GROUP, 0, 0, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    file = int(libc.syscall(ctypes.c_long(number), attr, _NO_PROCESS, cpu, group, ctypes.c_ulong(_FLAG_FD_CLOEXEC)))
    if file < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return file


class Migrations:
    """The counters of all online CPUs, reopened when CPUs came or went, for instance after SMT was switched."""

    def __init__(self, online: Path) -> None:
        """Open the events. ``online`` is the file with the list of online CPUs. OSError as from perf_event_open(2)."""
        self._path = str(online)
        self._online = b""
        self._generation = 0
        self._counters: list[CpuCounter] = []
        self._reopen(contents(self._path))

    def read(self) -> bytes:
        """Return a record for each CPU. Counts of different generations are not comparable, see :func:`parse`."""
        online = contents(self._path)
        if online != self._online:
            self._reopen(online)
        counts = [(counter.cpu, counter.read()) for counter in self._counters]
        if any(count is None for _, count in counts):
            # A CPU was off and on again, and its counter has stopped for good. The next read opens new counters.
            self._online = b""
        return b"".join(_RECORD.pack(self._generation, cpu, count) for cpu, count in counts if count is not None)

    def close(self) -> None:
        """Close every counter."""
        while self._counters:
            self._counters.pop().close()

    def _reopen(self, online: bytes) -> None:
        self.close()
        self._online = b""
        self._generation += 1
        try:
            for cpu in parse_cpu_list(online.decode()):
                self._counters.append(CpuCounter(cpu, CPU_MIGRATIONS))
        except OSError:
            self.close()
            raise
        self._online = online


def parse(raw: bytes) -> Reading:
    """Return ``cpu-migrations`` by CPU and generation, so that reopened counters are not compared with old counters."""
    counts = {f"{cpu}.{generation}": count for generation, cpu, count in _RECORD.iter_unpack(raw)}
    return {NAME: counts} if counts else {}


def _reason(error: OSError, root: Path) -> str:
    """Explain the error, with a remedy (perf_event_open(2), "ERRORS" and "perf_event_paranoid")."""
    if error.errno in (errno.EACCES, errno.EPERM):
        try:
            level = contents(root / "proc/sys/kernel/perf_event_paranoid").decode().strip()
        except OSError:
            level = "unknown"
        return (
            f"{NAME} is not known, perf events are refused (kernel.perf_event_paranoid is {level}): "
            "run as root, give CAP_PERFMON, or set kernel.perf_event_paranoid=0"
        )
    if error.errno in (errno.ENOSYS, errno.ENOENT):
        return f"{NAME} is missing: this kernel has no perf software events, which need CONFIG_PERF_EVENTS=y"
    if error.errno == errno.EMFILE:
        return f"{NAME} is not known: perf needs two open files for each CPU, raise 'ulimit -n'"
    return f"{NAME} is not known: perf events cannot be opened ({error.strerror})"
