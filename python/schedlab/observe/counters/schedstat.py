"""/proc/schedstat: counters of the scheduler, by runqueue and by scheduling domain.

Source: Documentation/scheduler/sched-stats.rst for the meanings, ``show_schedstat`` in kernel/sched/stats.c for the
order of the fields. Version 15 is Linux 3.x to 6.9, 16 is 6.10 to 6.13, 17 is 6.14 and later.

    cpuN      1 … 9
    domainN   [name, since 17] cpumask   8 or 11 fields for each of three kinds of idleness   12 fields
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from schedlab.observe.counters.source import NotUnderstood, Probed, Reading, probe_source, switched

UNUSED = ""
"""A field that the kernel prints for old readers and never counts."""

CPU = (
    "yld_count", UNUSED, "sched_count", "sched_goidle", "ttwu_count", "ttwu_local",
    "rq_cpu_time_ns", "run_delay_ns", "pcount",
)  # fmt: skip

ALWAYS_ON = frozenset({"rq_cpu_time_ns", "run_delay_ns", "pcount"})
"""Fields that CONFIG_SCHED_INFO counts in every kernel with CONFIG_SCHEDSTATS, independently of kernel.sched_schedstats
(``rq_sched_info_arrive`` and ``_depart`` in kernel/sched/stats.h)."""

_BALANCE_15 = (
    "lb_count", "lb_balanced", "lb_failed", "lb_imbalance", "lb_gained", "lb_hot_gained", "lb_nobusyq", "lb_nobusyg",
)  # fmt: skip
_BALANCE_17 = (
    "lb_count", "lb_balanced", "lb_failed", "lb_imbalance_load", "lb_imbalance_util", "lb_imbalance_task",
    "lb_imbalance_misfit", "lb_gained", "lb_hot_gained", "lb_nobusyq", "lb_nobusyg",
)  # fmt: skip
_REST = (
    "alb_count", "alb_failed", "alb_pushed",
    *(UNUSED,) * 6,  # balancing at exec and fork, not counted since 2.6.2x
    "ttwu_wake_remote", "ttwu_move_affine", "ttwu_move_balance",
)  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """One version: the number of words between ``domainN`` and the fields, and the fields' names."""

    words: int
    domain: tuple[str, ...]


def _layout(words: int, idleness: tuple[str, ...], balance: tuple[str, ...]) -> Layout:
    return Layout(words, (*(f"{idle}.{field}" for idle in idleness for field in balance), *_REST))


LAYOUTS = {
    15: _layout(1, ("idle", "busy", "newidle"), _BALANCE_15),
    16: _layout(1, ("busy", "idle", "newidle"), _BALANCE_15),
    17: _layout(2, ("busy", "idle", "newidle"), _BALANCE_17),
}
"""Layouts by the version in the file's first line."""

OFF = (
    "schedstats are off: `kernel.sched_schedstats=1` turns them on; "
    "until then only run_delay_ns, rq_cpu_time_ns and pcount are counted"
)
NOT_COMPILED_IN = "schedstats are not compiled in: they need a kernel with CONFIG_SCHEDSTATS=y"


def probe(root: Path) -> Probed:
    """Probe the file; snapshots with the switch off get a remark."""
    read = switched(root / "proc/sys/kernel/sched_schedstats", root / "proc/schedstat")
    return probe_source("/proc/schedstat", read, parse, NOT_COMPILED_IN, off=OFF)


def parse(raw: bytes) -> Reading:
    """Return ``schedstat.FIELD`` and ``schedstat.domainN[.IDLENESS].FIELD``, each by the CPU that counted it.

    The first line is the switch's state, the rest the file. While the switch is off, only fields that are counted
    regardless are returned: other fields do not change and would appear as zeros.
    """
    switch, _, table = raw.partition(b"\n")
    on = switch != b"0"
    cpu_fields = CPU if on else tuple(name if name in ALWAYS_ON else UNUSED for name in CPU)
    lines = table.decode(errors="replace").splitlines()
    layout = _version(lines[0] if lines else "")
    reading: dict[str, dict[str, int]] = {}
    cpu = ""
    for line in lines[1:]:
        label, *fields = line.split() or [""]
        if label.startswith("cpu"):
            cpu = label.removeprefix("cpu")
            _add(reading, "schedstat", cpu, cpu_fields, fields, label)
        elif label.startswith("domain") and on:
            _add(reading, f"schedstat.{label}", cpu, layout.domain, fields[layout.words :], label)
    return reading


def _version(line: str) -> Layout:
    word, _, number = line.partition(" ")
    if word != "version" or not number.strip().isdecimal():
        raise NotUnderstood(f"the file begins with {line[:40]!r}, not with a version")
    layout = LAYOUTS.get(int(number))
    if layout is None:
        raise NotUnderstood(
            f"the file's version is {int(number)}; supported versions are {', '.join(map(str, LAYOUTS))}"
        )
    return layout


def _add(
    reading: dict[str, dict[str, int]], prefix: str, cpu: str, names: tuple[str, ...], fields: list[str], label: str
) -> None:
    try:
        values = list(map(int, fields))
    except ValueError:
        values = []
    if len(values) != len(names):
        raise NotUnderstood(f"line {label} does not have the {len(names)} numbers of its version")
    for name, value in zip(_counters(prefix, names), values, strict=True):
        if name != UNUSED:
            reading.setdefault(name, {})[cpu] = value


@cache
def _counters(prefix: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the counters' complete names. The cache helps on a large machine, where a thousand lines have the same
    names."""
    return tuple(name and f"{prefix}.{name}" for name in names)
