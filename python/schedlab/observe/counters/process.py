"""/proc/PID/sched: what the scheduler knows of one task (``proc_sched_show_task`` in kernel/sched/debug.c).

It speaks of one thread only, and is gone with it. So it can be had of a command's first process, between its end and
its reaping (waitid(2) with WNOWAIT): then its figures are those of its whole life. A sampler that follows all of a
trial's threads would disturb what it watches; for the whole tree there is ``tree.*``.
"""

from __future__ import annotations

_COUNTS = frozenset({
    "nr_migrations", "nr_switches", "nr_voluntary_switches", "nr_involuntary_switches", "nr_migrations_cold",
    "nr_forced_migrations", "nr_failed_migrations_affine", "nr_failed_migrations_running", "nr_failed_migrations_hot",
    "nr_wakeups", "nr_wakeups_sync", "nr_wakeups_migrate", "nr_wakeups_local", "nr_wakeups_remote", "nr_wakeups_affine",
    "nr_wakeups_affine_attempts", "nr_wakeups_passive", "nr_wakeups_idle", "wait_count", "iowait_count",
    "numa_pages_migrated", "total_numa_faults",
})  # fmt: skip
_TIMES = frozenset({"sum_exec_runtime", "sum_sleep_runtime", "sum_block_runtime", "wait_sum", "wait_max", "iowait_sum"})
"""Printed in milliseconds with six decimals."""


def parse(text: str) -> dict[str, float]:
    """``process.NAME`` counts and ``process.NAME_ms`` times of a /proc/PID/sched.

    Waiting times and wake-ups are only in it while schedstats are on; what is not in it is left out.
    """
    found: dict[str, float] = {}
    for line in text.splitlines():
        label, colon, value = line.rpartition(":")
        # "se." and, before Linux 5.16, "se.statistics." say where the kernel keeps a figure, not what it is.
        name = label.strip().removeprefix("se.").removeprefix("statistics.")
        if not colon:
            continue
        if name in _COUNTS:
            found[f"process.{name}"] = int(value)
        elif name in _TIMES:
            found[f"process.{name}_ms"] = float(value)
    return found
