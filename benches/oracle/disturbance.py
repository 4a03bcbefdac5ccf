"""Disturbance of trials. The rule depends on other load and on the CPUs' speed, never on the measured figures."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

OTHERS = 0.01
"""Largest share of all CPU time that other processes or the hypervisor may take during a trial.

The limit is a third of the limit for shares of CPU time (compare.py).
"""

SPEED = 0.02
"""Largest relative change of the CPUs' speed during a trial.

Work is measured in rounds of computation, so a change of speed changes the work of a file.
"""


@dataclass(frozen=True)
class Machine:
    """Reading of the machine's CPU time.

    ``processes``: CPU seconds of every other process, by number and start time (proc_pid_stat(5));
    ``stolen``: seconds that the hypervisor took; ``clock``: time of the reading in seconds. The kernel's time in
    interrupts and on the way to and from idle belongs to no process and does not count as a disturbance, because the
    trial causes this time.
    """

    processes: Mapping[tuple[int, int], float]
    stolen: float
    clock: float

    @classmethod
    def now(cls) -> Machine:
        """Read the present figures."""
        tick = os.sysconf("SC_CLK_TCK")
        stolen = int(Path("/proc/stat").read_text().split("\n", maxsplit=1)[0].split()[8])
        return cls(dict(_processes(tick)), stolen / tick, time.monotonic())


def _processes(tick: int) -> Iterator[tuple[tuple[int, int], float]]:
    """Yield the CPU seconds of every other process, including the reaped children of the process."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text()
        except OSError:
            continue
        fields = text.rsplit(")", maxsplit=1)[1].split()
        if int(folder.name) != os.getpid():
            yield (int(folder.name), int(fields[19])), sum(map(int, fields[11:15])) / tick


def others(before: Machine, after: Machine) -> float:
    """Share of all CPU time that the hypervisor and other processes took between two readings.

    The trial's processes start after the first reading and end before the second, so neither reading includes them. If
    another process ends between the readings, the kernel adds its CPU time to its parent's figure. One tick for each
    CPU is subtracted, because the clocks of processes count whole ticks.
    """
    cpus = os.cpu_count() or 1
    used = sum(seconds - before.processes.get(process, 0.0) for process, seconds in after.processes.items())
    taken = used + after.stolen - before.stolen - cpus / os.sysconf("SC_CLK_TCK")
    # A parent's figure includes all CPU time of an ended child, even from before the first reading: limit the share.
    return min(1.0, max(0.0, taken) / ((after.clock - before.clock) * cpus))


def disturbance(others_share: float, speed_before: float, speed_after: float) -> str | None:
    """Return the reason why a trial is disturbed, or None. The unit of the speeds does not matter."""
    if others_share > OTHERS:
        return f"other processes and the hypervisor took {others_share:.1%} of the CPU time (limit {OTHERS:.0%})"
    change = abs(speed_after / speed_before - 1)
    if change > SPEED:
        return f"the CPUs' speed changed by {change:.1%} (limit {SPEED:.0%})"
    return None
