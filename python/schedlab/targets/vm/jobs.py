"""The second archive of a guest's initial file system: the jobs of one boot.

All jobs are part of the boot. Nothing is sent to a running guest, which would make a deterministic guest unpredictable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from schedlab.targets.vm.initramfs import archive, regular

FIRST = 1
"""Number of a boot's first job. The guest counts up from this number, because 10 precedes 2 in the order of file
names."""

SCHEDULER = "/jobs/sched_ext"
"""Script that loads a sched_ext scheduler; see :mod:`schedlab.targets.sched_ext.protocol`."""

WATCHED = (
    "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/schedstat", "/proc/vmstat", "/proc/interrupts",
    "/proc/softirqs", "/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io", "/proc/pressure/irq",
    "/proc/sys/kernel/sched_schedstats", "/proc/sys/vm/numa_stat",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource", "/sys/devices/system/node/node[0-9]*/cpulist",
)  # fmt: skip
"""Files that are copied before and after each job: the sources of a trial's counters and conditions."""

FACTS = (
    "/proc/cpuinfo", "/proc/meminfo", "/proc/cmdline", "/proc/uptime", "/proc/stat", "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/version", "/sys/devices/system/clocksource/clocksource0/*_clocksource",
    "/sys/devices/system/cpu/online", "/sys/devices/system/cpu/isolated", "/sys/devices/system/cpu/nohz_full",
    "/sys/devices/system/cpu/cpu[0-9]*/topology/*_id", "/sys/devices/system/node/node[0-9]*/cpulist",
    "/sys/devices/system/node/node[0-9]*/distance", "/sys/devices/system/cpu/vulnerabilities/*",
)  # fmt: skip
"""Files that are copied once per boot: a description of the guest."""


@dataclass(frozen=True)
class Setting:
    """A file of the guest to write before its jobs; ``pattern`` may contain ``*``.

    Settings of the same name are alternative places of one tunable: the first existing file is written.
    """

    name: str
    place: int
    pattern: str
    text: str


@dataclass(frozen=True)
class Traced:
    """An event whose occurrences are counted by the values of its fields (Documentation/trace/histogram.rst).

    ``event`` is its path below the kernel's ``events``; a field ending in ``.sym`` is a function, shown by name.
    """

    event: str
    fields: tuple[str, ...]


TRACED = (
    Traced("sched/sched_migrate_task", ("orig_cpu", "dest_cpu")),
    Traced("sched/sched_move_numa", ("src_nid", "dst_nid")),
    Traced("sched/sched_swap_numa", ("src_nid", "dst_nid")),
    Traced("workqueue/workqueue_execute_start", ("function.sym", "common_cpu")),
)
"""Migrations, moves of tasks to the node that NUMA balancing prefers, and functions of kernel workers on each CPU
(include/trace/events/sched.h and workqueue.h, 6.1, 6.12)."""

TRACING = "/sys/kernel/tracing/events"


def contents(
    jobs: Sequence[str],
    settings: Sequence[Setting],
    pause: float = 0.0,
    scheduler: Mapping[str, bytes] = MappingProxyType({}),
    host_files: bool = False,
    facts: Sequence[str] = (),
    late_cpus: bool = False,
) -> bytes:
    """Return the archive for jobs in this order.

    Args:
        jobs: shell scripts.
        settings: files to write before the first job.
        pause: seconds before each job.
        scheduler: files by path, which load a sched_ext scheduler (:data:`SCHEDULER`).
        host_files: whether the guest mounts this machine's file tree at /host.
        facts: shell patterns of files to copy once, besides :data:`FACTS`.
        late_cpus: whether ``init.sh`` puts the CPUs online that are still offline.
    """
    histograms = [f"{TRACING}/{traced.event}/hist" for traced in TRACED]
    files = {
        "/jobs/watched": " ".join([*WATCHED, *histograms]),
        "/jobs/facts": " ".join([*FACTS, *facts]),
        "/jobs/traced": "".join(
            f"{TRACING}/{each.event}/trigger\thist:keys={','.join(each.fields)}:size=4096\n" for each in TRACED
        ),
        "/jobs/tunables": "".join(
            f"{setting.name}\t{setting.place}\t{setting.pattern}\t{setting.text}\n" for setting in settings
        ),
        "/jobs/pause": f"{pause:g}",
    }
    if host_files:
        files["/jobs/host_files"] = ""
    if late_cpus:
        files["/jobs/late_cpus"] = ""
    files |= {f"/jobs/{FIRST + index}": script for index, script in enumerate(jobs)}
    data = {path: text.encode() for path, text in files.items()} | dict(scheduler)
    return archive({path: regular(content) for path, content in data.items()})
