"""/proc/PID/sched in the layouts of two kernels, and of a child that has ended and is not yet reaped."""

from __future__ import annotations

import os
from pathlib import Path

from schedlab.observe.counters import proc

WITH_SCHEDSTATS = """\
cat (1234, #threads: 1)
-------------------------------------------------------------------
se.exec_start                                :       1838568.971218
se.sum_exec_runtime                          :            12.500000
se.nr_migrations                             :                    3
{prefix}wait_max                                     :             0.250000
{prefix}wait_sum                                     :             1.750000
{prefix}wait_count                                   :                   41
{prefix}nr_wakeups_affine                            :                    9
avg_atom                                     :             0.300000
nr_switches                                  :                   42
se.avg.load_avg                              :                 1024
current_node=0, numa_group_id=0
"""


def test_both_layouts_of_the_file_give_the_same_names() -> None:
    old, new = (proc.parse_sched(WITH_SCHEDSTATS.format(prefix=prefix)) for prefix in ("se.statistics.", ""))
    assert old == new == {
        "process.sum_exec_runtime_ms": 12.5, "process.nr_migrations": 3, "process.wait_max_ms": 0.25,
        "process.wait_sum_ms": 1.75, "process.wait_count": 41, "process.nr_wakeups_affine": 9,
        "process.nr_switches": 42,
    }  # fmt: skip


def test_a_child_that_has_ended_can_be_read_until_it_is_reaped() -> None:
    cpus = sorted(os.sched_getaffinity(0))
    child = os.fork()
    if child == 0:
        for i in range(40):
            os.sched_setaffinity(0, {cpus[i % len(cpus)]})
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    try:
        counters = proc.parse_sched(Path(f"/proc/{child}/sched").read_text())
    finally:
        os.waitpid(child, 0)
    assert counters["process.nr_switches"] >= 1
    if len(cpus) > 1:
        assert counters["process.nr_migrations"] >= 39
