"""/proc/vmstat: NUMA balancing, page faults, page migration, huge pages (proc_vmstat(5)).

Only events are taken: the kernel sums them exactly at each look. Gauges (``nr_*``) are folded lazily and are no events.
"""

from __future__ import annotations

from pathlib import Path

from schedlab.observe.counters.source import NotUnderstood, Probed, Reading, probe_source, switched

WANTED = (b"numa_", b"pgfault", b"pgmajfault", b"pgmigrate_", b"thp_fault_", b"thp_collapse_", b"thp_migration_",
          b"thp_split_")  # fmt: skip

_BY_NUMA_STAT = {b"numa_hit", b"numa_miss", b"numa_foreign", b"numa_interleave", b"numa_local", b"numa_other"}
"""Counted only while vm.numa_stat is 1 (Documentation/admin-guide/sysctl/vm.rst)."""


def probe(root: Path) -> Probed:
    """The file, with notes for NUMA counters that this kernel does not keep."""
    read = switched(root / "proc/sys/vm/numa_stat", root / "proc/vmstat")
    absent = "there is no /proc/vmstat: it needs CONFIG_VM_EVENT_COUNTERS=y"
    off = "NUMA allocation counters (numa_hit, …) are off: `vm.numa_stat=1` turns them on"
    probed = probe_source("/proc/vmstat", read, parse, absent, off=off)
    if probed.source is not None and "vmstat.numa_hint_faults" not in parse(read()):
        probed.notes.append("NUMA balancing is not compiled in: its counters need CONFIG_NUMA_BALANCING=y")
    return probed


def parse(raw: bytes) -> Reading:
    """``vmstat.NAME``; the first line is vm.numa_stat's state, the rest the file."""
    state, _, table = raw.partition(b"\n")
    reading = {}
    for line in table.splitlines():
        name, _, value = line.partition(b" ")
        if not name.startswith(WANTED) or (state == b"0" and name in _BY_NUMA_STAT):
            continue
        try:
            reading[f"vmstat.{name.decode()}"] = {"": int(value)}
        except ValueError:
            raise NotUnderstood(line.decode(errors="replace")) from None
    return reading
