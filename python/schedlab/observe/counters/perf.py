"""Context switches, CPU migrations and page faults of the whole machine, from perf's software events.

One group of counters a CPU stays open for the run, so a look costs microseconds. They belong to CPUs, not to the
command: ``perf stat COMMAND`` counts with inherited counters, which the kernel must copy at every fork and fold back at
every exit, a cost that lands in the very figures of a workload that forks.
"""

from __future__ import annotations

import errno
import struct
from pathlib import Path

from schedlab.cpulist import parse_cpu_list
from schedlab.observe.counters.perf_event import CONTEXT_SWITCHES, CPU_MIGRATIONS, PAGE_FAULTS, Group
from schedlab.observe.counters.source import Probed, Reading, Source, contents

EVENTS = {"context-switches": CONTEXT_SWITCHES, "cpu-migrations": CPU_MIGRATIONS, "page-faults": PAGE_FAULTS}

_RECORD = struct.Struct(f"=QQ{len(EVENTS)}Q")
"""Generation, CPU, the events' counts."""

_LOST = "context switches come from /proc/stat instead, CPU migrations and page faults are not known"


def probe(root: Path) -> Probed:
    """perf's software events of this machine; a tree of files has none."""
    if root != Path("/"):
        return Probed(None, ["perf software events: a tree of files has none"])
    try:
        events = Events(root / "sys/devices/system/cpu/online")
    except OSError as error:
        return Probed(None, [_why(error, root)])
    return Probed(Source("perf software events", events.read, parse, close=events.close))


class Events:
    """The groups of all online CPUs; opened anew when CPUs came or went, for instance when SMT is switched."""

    def __init__(self, online: Path) -> None:
        """``online`` is the file with the list of online CPUs. Raises OSError as perf_event_open(2) does."""
        self._path = str(online)
        self._online = b""
        self._generation = 0
        self._groups: list[Group] = []
        self._reopen(contents(self._path))

    def read(self) -> bytes:
        """A record a CPU. Counts of different generations do not compare, and :func:`parse` tells them apart."""
        online = contents(self._path)
        if online != self._online:
            self._reopen(online)
        counts = [(group.cpu, group.read()) for group in self._groups]
        if any(found is None for _, found in counts):
            # A CPU was off and on again: its counters stay silent for good. New ones serve the next trial.
            self._online = b""
        return b"".join(_RECORD.pack(self._generation, cpu, *found) for cpu, found in counts if found is not None)

    def close(self) -> None:
        """Close every counter."""
        while self._groups:
            self._groups.pop().close()

    def _reopen(self, online: bytes) -> None:
        self.close()
        self._generation += 1
        try:
            for cpu in parse_cpu_list(online.decode()):
                self._groups.append(Group(cpu, tuple(EVENTS.values())))
        except OSError:
            self.close()
            raise
        self._online = online


def parse(raw: bytes) -> Reading:
    """Counter → CPU → count; the generation is part of the CPU's name, so that a re-opened counter is not compared."""
    reading: dict[str, dict[str, int]] = {name: {} for name in EVENTS}
    for generation, cpu, *values in _RECORD.iter_unpack(raw):
        for name, value in zip(EVENTS, values, strict=True):
            reading[name][f"{cpu}.{generation}"] = value
    return reading


def _why(error: OSError, root: Path) -> str:
    """The reason in words, with what would mend it (perf_event_open(2), "ERRORS" and "perf_event_paranoid")."""
    if error.errno in (errno.EACCES, errno.EPERM):
        try:
            level = contents(root / "proc/sys/kernel/perf_event_paranoid").decode().strip()
        except OSError:
            level = "unknown"
        return (
            f"perf software events are refused (kernel.perf_event_paranoid is {level}): run as root, give CAP_PERFMON, "
            f"or set kernel.perf_event_paranoid=0; until then {_LOST}"
        )
    if error.errno in (errno.ENOSYS, errno.ENOENT):
        return f"this kernel has no perf software events: they need CONFIG_PERF_EVENTS=y; {_LOST}"
    if error.errno == errno.EMFILE:
        return f"perf software events need {len(EVENTS)} open files a CPU: raise 'ulimit -n'; until then {_LOST}"
    return f"perf software events cannot be opened ({error.strerror}); {_LOST}"
