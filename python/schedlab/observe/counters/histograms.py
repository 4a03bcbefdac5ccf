"""Events that a guest's kernel counted in its own histograms (Documentation/trace/histogram.rst).

Guests enable these histograms before their first trial. A histogram counts in the kernel and costs a table look-up at
each event. Unlike the files of /proc, a histogram has source and destination CPU, and therefore shows migrations
between NUMA nodes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from schedlab.notation.cpulist import parse_cpu_list
from schedlab.observe.counters.source import NotUnderstood, Probed, Reading, contents, probe_source

EVENTS = Path("sys/kernel/tracing/events")
_NODES = Path("sys/devices/system/node")

_ENTRY = re.compile(r"^\{ \w+: +(\d+), \w+: +(\d+) \} hitcount: +(\d+)$", re.MULTILINE)
_WORK = re.compile(r"^\{ function: \[\w+\] (\S+) *, common_cpu: +(\d+) \} hitcount: +(\d+)$", re.MULTILINE)
_DROPPED = re.compile(r"^ +Dropped: (\d+)$", re.MULTILINE)

_MIGRATE = "sched/sched_migrate_task"
_NUMA = {"sched/sched_move_numa": "numa-task-moves", "sched/sched_swap_numa": "numa-task-swaps"}
"""NUMA balancing moves a task to its preferred node, or swaps two tasks for the same purpose."""

_WORKS = "workqueue/workqueue_execute_start"
_SINGLE_WORKS = ("vmstat_update",)
"""Functions of kernel workers that are also counted separately."""

BY_CPU = frozenset({"works", *(f"works.{function}" for function in _SINGLE_WORKS)})

ABSENT = (
    "cpu-migrations are missing: a tree of files has no perf events, and this tree has no histogram of them "
    "(a guest's kernel needs CONFIG_HIST_TRIGGERS=y)"
)


def probe(root: Path) -> Probed:
    """Probe the histograms below ``root``."""
    more = [name for name in (*_NUMA, _WORKS) if (root / EVENTS / name / "hist").exists()]
    paths = {name: str(root / EVENTS / name / "hist") for name in (_MIGRATE, *more)}
    node_of = {
        cpu: path.parent.name
        for path in sorted((root / _NODES).glob("node[0-9]*/cpulist"))
        for cpu in parse_cpu_list(path.read_text())
    }

    def read() -> bytes:
        return b"".join(b"# %s\n%s" % (name.encode(), contents(path)) for name, path in paths.items())

    def parse(raw: bytes) -> Reading:
        return dict(_counters(raw.decode(errors="replace"), node_of))

    return probe_source("kernel events", read, parse, ABSENT, BY_CPU)


def _counters(text: str, node_of: dict[int, str]) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield migrations, migrations between nodes, NUMA moves and swaps, and kernel workers' functions by CPU."""
    for part in re.split(r"^# (?=sched/|workqueue/)", text, flags=re.MULTILINE)[1:]:
        event = part.partition("\n")[0].strip()
        dropped = _DROPPED.search(part)
        if dropped is None:
            raise NotUnderstood(f"{event} has no total of dropped events")
        if dropped[1] != "0":
            raise NotUnderstood(f"{event} dropped {dropped[1]} events: its table was too small")
        if event == _WORKS:
            yield from _works(part, node_of)
            continue
        entries = [(int(source), int(target), int(hits)) for source, target, hits in _ENTRY.findall(part)]
        total = sum(hits for _, _, hits in entries)
        if event in _NUMA:
            yield _NUMA[event], {"": total}
            continue
        yield "cpu-migrations", {"": total}
        if node_of:
            across = (hits for source, target, hits in entries if node_of.get(source) != node_of.get(target))
            yield "node-migrations", {"": sum(across)}


def _works(part: str, cpus: Collection[int]) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield counts of all workers' functions, and of each function in :data:`_SINGLE_WORKS`; by CPU if CPUs are
    known."""
    entries = _WORK.findall(part)
    for selected in (None, *_SINGLE_WORKS):
        counts = {str(cpu): 0 for cpu in cpus} or {"": 0}
        for function, cpu, hits in entries:
            if selected in (None, function):
                key = cpu if cpus else ""
                counts[key] = counts.get(key, 0) + int(hits)
        yield f"works.{selected}" if selected else "works", counts
