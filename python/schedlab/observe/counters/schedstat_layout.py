"""Where each field of /proc/schedstat stands, by version.

Source: Documentation/scheduler/sched-stats.rst for the meanings, ``show_schedstat`` in kernel/sched/stats.c for the
order. Version 15 is Linux 3.x to 6.9, 16 is 6.10 to 6.13, 17 is 6.14 and later.

    cpuN      1 … 9
    domainN   [name, since 17] cpumask   8 or 11 fields for each of three kinds of idleness   12 fields
"""

from __future__ import annotations

from dataclasses import dataclass

UNUSED = ""
"""A field that the kernel prints for old readers and never counts in."""

CPU = (
    "yld_count", UNUSED, "sched_count", "sched_goidle", "ttwu_count", "ttwu_local",
    "rq_cpu_time_ns", "run_delay_ns", "pcount",
)  # fmt: skip

ALWAYS_ON = frozenset({"rq_cpu_time_ns", "run_delay_ns", "pcount"})
"""Kept by every kernel with CONFIG_SCHEDSTATS whatever kernel.sched_schedstats says: they belong to CONFIG_SCHED_INFO's
accounting and do not ask the switch (``rq_sched_info_arrive`` and ``_depart`` in kernel/sched/stats.h)."""

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
    """One version: words between ``domainN`` and the fields, and the fields' names."""

    words: int
    domain: tuple[str, ...]


def _layout(words: int, idleness: tuple[str, ...], balance: tuple[str, ...]) -> Layout:
    return Layout(words, (*(f"{idle}.{field}" for idle in idleness for field in balance), *_REST))


LAYOUTS = {
    15: _layout(1, ("idle", "busy", "newidle"), _BALANCE_15),
    16: _layout(1, ("busy", "idle", "newidle"), _BALANCE_15),
    17: _layout(2, ("busy", "idle", "newidle"), _BALANCE_17),
}
"""Layouts by the number in the file's first line."""
