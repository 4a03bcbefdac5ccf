"""Counters of the trial's processes: ``tree.*`` for all processes, ``process.*`` for the command's first process.

``tree.*`` is the kernel's account of children that ended. The launcher reaps all processes of a trial, so that the
agent's account of its children covers the trial's whole tree, launcher included (getrusage(2), RUSAGE_CHILDREN). The
account lacks children that a program let the kernel discard (SIGCHLD ignored; wait(2), "NOTES").

``process.*`` comes from /proc/PID/sched (``proc_sched_show_task`` in kernel/sched/debug.c). The file covers one thread
and disappears with it, so the launcher reads it between the end of the first process and its reaping (waitid(2) with
WNOWAIT). The file's figures then cover the process's complete run time. Sampling all threads would disturb the trial.
"""

from __future__ import annotations

from collections.abc import Mapping

_TREE = ("voluntary_switches", "involuntary_switches", "minor_faults", "major_faults")

_COUNTS = frozenset({
    "nr_migrations", "nr_switches", "nr_voluntary_switches", "nr_involuntary_switches", "nr_migrations_cold",
    "nr_forced_migrations", "nr_failed_migrations_affine", "nr_failed_migrations_running", "nr_failed_migrations_hot",
    "nr_wakeups", "nr_wakeups_sync", "nr_wakeups_migrate", "nr_wakeups_local", "nr_wakeups_remote", "nr_wakeups_affine",
    "nr_wakeups_affine_attempts", "nr_wakeups_passive", "nr_wakeups_idle", "wait_count", "iowait_count",
    "numa_pages_migrated", "total_numa_faults",
})  # fmt: skip
_TIMES = frozenset({"sum_exec_runtime", "sum_sleep_runtime", "sum_block_runtime", "wait_sum", "wait_max", "iowait_sum"})
"""Printed in milliseconds with six decimals."""


def tree(usage: Mapping[str, int]) -> dict[str, float]:
    """Return the ``tree.*`` counters from the resources that processes have used (``Usage`` of schedload)."""
    return {f"tree.{name.replace('_', '-')}": float(usage[name]) for name in _TREE}


def parse_sched(text: str) -> dict[str, float]:
    """Return ``process.NAME`` counts and ``process.NAME_ms`` times of a /proc/PID/sched.

    Waiting times and wake-ups are present only while schedstats are on. Absent figures are left out. ValueError for a
    text that is not from a kernel.
    """
    figures: dict[str, float] = {}
    for line in text.splitlines():
        label, colon, value = line.rpartition(":")
        # "se." and, before Linux 5.16, "se.statistics." are the kernel's structures, not part of a figure's name.
        name = label.strip().removeprefix("se.").removeprefix("statistics.")
        if not colon:
            continue
        if name in _COUNTS:
            figures[f"process.{name}"] = int(value)
        elif name in _TIMES:
            figures[f"process.{name}_ms"] = float(value)
    return figures
