"""/proc/softirqs: softirqs by kind and CPU (proc(5); Documentation/filesystems/proc.rst)."""

from __future__ import annotations

from pathlib import Path

from schedlab.observe.counters.cpu_table import rows
from schedlab.observe.counters.source import Probed, Reading, contents, probe_source

BY_CPU = frozenset(f"softirqs.{kind}" for kind in ("SCHED", "TIMER", "RCU", "NET_RX"))
"""The kinds that are also given by CPU."""


def probe(root: Path) -> Probed:
    """The file is in every /proc of a real machine."""
    path, absent = str(root / "proc/softirqs"), "there is no /proc/softirqs: softirqs are not told by kind"
    return probe_source("/proc/softirqs", lambda: contents(path), parse, absent, BY_CPU)


def parse(raw: bytes) -> Reading:
    """``softirqs.KIND`` by CPU."""
    return {f"softirqs.{row.label}": row.counts for row in rows(raw)}
