"""CPU migrations of the whole machine, from perf's software event: no file of the kernel tells them.

A counter for each CPU stays open for the run, so a look costs microseconds. It belongs to the CPU, not to the command:
``perf stat COMMAND`` counts with inherited counters, which the kernel copies at every fork and folds back at every
exit, a cost that lands in the very figures of a workload that forks. perf's events for context switches and page
faults are not used for a like reason: they cost tens of nanoseconds at each switch or fault, and the kernel counts both
anyway, in /proc/stat and /proc/vmstat. A migration is rare and dear enough not to notice.
"""

from __future__ import annotations

import errno
import struct
from pathlib import Path

from schedlab.cpulist import parse_cpu_list
from schedlab.observe.counters import traced
from schedlab.observe.counters.perf_event import CPU_MIGRATIONS, CpuCounter
from schedlab.observe.counters.source import Probed, Reading, Source, contents

NAME = "cpu-migrations"

_RECORD = struct.Struct("=QQQ")
"""Generation, CPU, count."""


def probe(root: Path) -> Probed:
    """perf's software events of this machine; a tree of files has none, but may hold what a guest has traced."""
    if root != Path("/"):
        return traced.probe(root)
    try:
        migrations = Migrations(root / "sys/devices/system/cpu/online")
    except OSError as error:
        return Probed(None, [_why(error, root)])
    return Probed(Source("perf software events", migrations.read, parse, close=migrations.close))


class Migrations:
    """The counters of all online CPUs; opened anew when CPUs came or went, for instance when SMT is switched."""

    def __init__(self, online: Path) -> None:
        """``online`` is the file with the list of online CPUs. Raises OSError as perf_event_open(2) does."""
        self._path = str(online)
        self._online = b""
        self._generation = 0
        self._counters: list[CpuCounter] = []
        self._reopen(contents(self._path))

    def read(self) -> bytes:
        """A record a CPU. Counts of different generations do not compare, and :func:`parse` tells them apart."""
        online = contents(self._path)
        if online != self._online:
            self._reopen(online)
        counts = [(counter.cpu, counter.read()) for counter in self._counters]
        if any(count is None for _, count in counts):
            # A CPU was off and on again: its counter stays silent for good. New ones serve the next trial.
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
    """``cpu-migrations`` by CPU; the generation is part of the CPU's name: a counter opened anew does not compare."""
    counts = {f"{cpu}.{generation}": count for generation, cpu, count in _RECORD.iter_unpack(raw)}
    return {NAME: counts} if counts else {}


def _why(error: OSError, root: Path) -> str:
    """The reason in words, with what would mend it (perf_event_open(2), "ERRORS" and "perf_event_paranoid")."""
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
        return f"{NAME} is not known: this kernel has no perf software events, they need CONFIG_PERF_EVENTS=y"
    if error.errno == errno.EMFILE:
        return f"{NAME} is not known: perf needs two open files a CPU, raise 'ulimit -n'"
    return f"{NAME} is not known: perf events cannot be opened ({error.strerror})"
