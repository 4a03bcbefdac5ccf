"""Disturbance of trials. The rule depends on the disturbance alone, never on the measured figures."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

OTHERS = 0.01
"""Largest share of all CPU time that other processes or the hypervisor may take during a trial: a third of the limit of
shares of CPU time."""

SPEED = 0.02
"""Largest change of the CPUs' speed between the beginning and the end of a trial. Work is measured in rounds of
computation, so a change of speed changes the work of a file."""


@dataclass(frozen=True)
class Machine:
    """CPU seconds so far of every process except this one and its descendants, stolen seconds, and the clock.

    A kernel's own work between tasks, on interrupts and on the way to and from idleness, is part of what a trial does
    to its machine and no other's. ``processes`` are CPU seconds by number and start (proc_pid_stat(5)).
    """

    processes: Mapping[tuple[int, int], float]
    stolen: float
    clock: float

    @classmethod
    def now(cls) -> Machine:
        """Read the machine's present figures."""
        tick = os.sysconf("SC_CLK_TCK")
        stolen = int(Path("/proc/stat").read_text().split("\n", maxsplit=1)[0].split()[8])
        return cls(dict(_processes(tick)), stolen / tick, time.monotonic())


def _processes(tick: int) -> Iterator[tuple[tuple[int, int], float]]:
    """CPU time of every other process, with the children that it has waited for."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text()
        except OSError:
            continue
        fields = text.rsplit(")", maxsplit=1)[1].split()
        if int(folder.name) != os.getpid():
            yield (int(folder.name), int(fields[19])), sum(map(int, fields[11:15])) / tick


def others(before: Machine, after: Machine) -> float:
    """Share of all CPU time between two readings that the hypervisor and processes outside the trial took.

    The trial's processes have come and gone between the readings; of others that have, their parents tell. The clocks'
    grain, a tick for each CPU, is forgiven.
    """
    cpus = os.cpu_count() or 1
    used = sum(seconds - before.processes.get(process, 0.0) for process, seconds in after.processes.items())
    unknown = used + after.stolen - before.stolen - cpus / os.sysconf("SC_CLK_TCK")
    # A parent's figure includes its child's whole life, also before the first reading. The share is at most 1.
    return min(1.0, max(0.0, unknown) / ((after.clock - before.clock) * cpus))


def disturbance(others_share: float, speed_before: float, speed_after: float) -> str | None:
    """Return why a trial does not count, or None if it does."""
    if others_share > OTHERS:
        return f"others took {others_share:.1%} of the CPU time (at most {OTHERS:.0%})"
    change = abs(speed_after / speed_before - 1)
    if change > SPEED:
        return f"the CPUs' speed changed by {change:.1%} (at most {SPEED:.0%})"
    return None
