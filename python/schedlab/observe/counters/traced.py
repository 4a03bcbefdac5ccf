"""Scheduler events that a kernel counted in its own histograms (Documentation/trace/histogram.rst).

Guests are set up so before their first trial. A histogram counts in the kernel and costs a table look-up at each
event, and tells what no file does: from which CPU to which, so that migrations between NUMA nodes are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from schedlab.cpulist import parse_cpu_list
from schedlab.observe.counters.source import NotUnderstood, Probed, Reading, contents, probe_source

EVENTS = Path("sys/kernel/tracing/events/sched")
_NODES = Path("sys/devices/system/node")

_ENTRY = re.compile(r"^\{ \w+: +(\d+), \w+: +(\d+) \} hitcount: +(\d+)$", re.MULTILINE)
_DROPPED = re.compile(r"^ +Dropped: (\d+)$", re.MULTILINE)

_NUMA = {"sched_move_numa": "numa-task-moves", "sched_swap_numa": "numa-task-swaps"}
"""NUMA balancing moves a task to its preferred node, or has two tasks change places for it."""

ABSENT = (
    "cpu-migrations are not known: a tree of files has no perf events, and this one no histogram of them "
    "(a guest's kernel needs CONFIG_HIST_TRIGGERS=y)"
)


def probe(root: Path) -> Probed:
    """The histograms below ``root``; in the order of the events' names."""
    numa = [name for name in _NUMA if (root / EVENTS / name / "hist").exists()]
    paths = {name: str(root / EVENTS / name / "hist") for name in ("sched_migrate_task", *numa)}
    node_of = {
        cpu: path.parent.name
        for path in sorted((root / _NODES).glob("node[0-9]*/cpulist"))
        for cpu in parse_cpu_list(path.read_text())
    }

    def read() -> bytes:
        return b"".join(b"# %s\n%s" % (name.encode(), contents(path)) for name, path in paths.items())

    def parse(raw: bytes) -> Reading:
        return dict(_counters(raw.decode(errors="replace"), node_of))

    return probe_source("sched events", read, parse, ABSENT)


def _counters(text: str, node_of: dict[int, str]) -> Iterator[tuple[str, dict[str, int]]]:
    """``cpu-migrations``, ``node-migrations`` of them from a node to another, ``numa-task-moves`` and ``-swaps``."""
    for part in re.split(r"^# (?=sched_)", text, flags=re.MULTILINE)[1:]:
        event = part.partition("\n")[0].strip()
        dropped = _DROPPED.search(part)
        if dropped is None:
            raise NotUnderstood(f"{event} has no total of dropped events")
        if dropped[1] != "0":
            raise NotUnderstood(f"{event} dropped {dropped[1]} events: its table was too small")
        entries = [(int(one), int(other), int(times)) for one, other, times in _ENTRY.findall(part)]
        total = sum(times for _, _, times in entries)
        if event in _NUMA:
            yield _NUMA[event], {"": total}
            continue
        yield "cpu-migrations", {"": total}
        if node_of:
            across = (times for one, other, times in entries if node_of.get(one) != node_of.get(other))
            yield "node-migrations", {"": sum(across)}
