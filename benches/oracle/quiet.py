"""Whether a trial had the machine to itself. The rule looks at the disturbance only, never at what was measured."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

OTHERS = 0.01
"""Largest share of all CPU time that others, or the hypervisor, may take during a trial: a third of the limit that
shares of CPU time are held to."""

SPEED = 0.02
"""Largest change of the CPUs' speed from before a trial to after it: work is measured in rounds of computation, so a
change of speed is one of the work that a file asks for."""


@dataclass(frozen=True)
class Machine:
    """CPU seconds so far: of every process but this one and those below it, and what the hypervisor took; the clock.

    A kernel's own work between tasks, on interrupts and on the way to and from idleness, is part of what a trial does
    to its machine and no other's. ``processes`` are CPU seconds by number and start (proc_pid_stat(5)).
    """

    processes: Mapping[tuple[int, int], float]
    stolen: float
    clock: float

    @classmethod
    def now(cls) -> Machine:
        """Read it."""
        tick = os.sysconf("SC_CLK_TCK")
        stolen = int(Path("/proc/stat").read_text().split("\n", maxsplit=1)[0].split()[8])
        return cls(dict(_processes(tick)), stolen / tick, time.monotonic())


def _processes(tick: int) -> Iterator[tuple[tuple[int, int], float]]:
    """Every process that runs, without this one: its CPU time, and that of children it has waited for."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text()
        except OSError:
            continue
        fields = text.rsplit(")", maxsplit=1)[1].split()
        if int(folder.name) != os.getpid():
            yield (int(folder.name), int(fields[19])), sum(map(int, fields[11:15])) / tick


def others(before: Machine, after: Machine) -> float:
    """Share of all CPU time between two readings that processes other than the trial's, or the hypervisor, took.

    The trial's processes have come and gone between the readings; of others that have, their parents tell. The clocks'
    grain, a tick for each CPU, is forgiven.
    """
    cpus = os.cpu_count() or 1
    used = sum(seconds - before.processes.get(process, 0.0) for process, seconds in after.processes.items())
    unknown = used + after.stolen - before.stolen - cpus / os.sysconf("SC_CLK_TCK")
    # A parent is told all that its child ever used, even before the first reading: at most everything was taken.
    return min(1.0, max(0.0, unknown) / ((after.clock - before.clock) * cpus))


def disturbance(others_share: float, speed_before: float, speed_after: float) -> str | None:
    """Why a trial does not count, or None if it does."""
    if others_share > OTHERS:
        return f"others took {others_share:.1%} of the CPU time (at most {OTHERS:.0%})"
    change = abs(speed_after / speed_before - 1)
    if change > SPEED:
        return f"the CPUs' speed changed by {change:.1%} (at most {SPEED:.0%})"
    return None
