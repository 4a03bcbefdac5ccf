"""Whether a trial had the machine to itself. The rule looks at the disturbance only, never at what was measured."""

from __future__ import annotations

import os
import time
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
    """The machine's CPU time so far, in seconds (proc_stat(5)), and the clock."""

    idle: float
    stolen: float
    clock: float

    @classmethod
    def now(cls) -> Machine:
        """Read it."""
        fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", maxsplit=1)[0].split()[1:9]]
        tick = os.sysconf("SC_CLK_TCK")
        return cls((fields[3] + fields[4]) / tick, fields[7] / tick, time.monotonic())


def others(before: Machine, after: Machine, own_seconds: float) -> float:
    """Share of all CPU time between two readings that was neither idle nor ``own_seconds``.

    Busy time is what is not idle: idleness is measured, while user and system time are sampled by ticks. What the
    hypervisor took while a CPU idled is added. The clocks' grain, a tick for each CPU, is forgiven.
    """
    cpus = os.cpu_count() or 1
    whole = (after.clock - before.clock) * cpus
    busy = whole - (after.idle - before.idle)
    stolen = after.stolen - before.stolen
    unknown = max(busy - own_seconds, stolen) - cpus / os.sysconf("SC_CLK_TCK")
    return max(0.0, unknown) / whole


def disturbance(others_share: float, speed_before: float, speed_after: float) -> str | None:
    """Why a trial does not count, or None if it does."""
    if others_share > OTHERS:
        return f"others took {others_share:.1%} of the CPU time (at most {OTHERS:.0%})"
    change = abs(speed_after / speed_before - 1)
    if change > SPEED:
        return f"the CPUs' speed changed by {change:.1%} (at most {SPEED:.0%})"
    return None
