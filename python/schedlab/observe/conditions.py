"""The conditions of a trial: how loaded, how robbed by a hypervisor, how fast the CPUs were while it ran."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from schedlab.measurement import Conditions

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
"""Unit of the times in /proc/stat (proc_stat(5))."""

SHORTEST = 0.1
"""Seconds below which a trial's shares of CPU time are too coarse: ten ticks."""


@dataclass(frozen=True)
class CpuTime:
    """Seconds since boot over all CPUs: at work for anybody, and stolen by the hypervisor (proc_stat(5))."""

    busy: float
    steal: float


@dataclass(frozen=True)
class Snapshot:
    """One look at the machine; ``frequencies`` are kHz by CPU, empty where the kernel tells none."""

    cpu: CpuTime
    load: float
    running: int
    frequencies: tuple[int, ...]
    clocksource: str


class Watch:
    """Looks at one machine; files that stay the same are found once, when it is made."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._stat = root / "proc/stat"
        self._load = root / "proc/loadavg"
        self._clock = root / "sys/devices/system/clocksource/clocksource0/current_clocksource"
        self._frequencies = sorted(root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"))

    def snapshot(self) -> Snapshot:
        """A snapshot now; about 0.1 ms."""
        load, _, _, tasks, *_ = self._load.read_text().split()
        return Snapshot(
            cpu=self._cpu_time(),
            load=float(load),
            running=int(tasks.partition("/")[0]),
            frequencies=self.frequencies(),
            clocksource=self._clock.read_text().strip() if self._clock.exists() else "unknown",
        )

    def frequencies(self) -> tuple[int, ...]:
        """kHz of each CPU now; empty where cpufreq is absent, as in most virtual machines."""
        return tuple(int(path.read_text()) for path in self._frequencies)

    def _cpu_time(self) -> CpuTime:
        with self._stat.open() as file:
            fields = [int(field) for field in file.readline().split()[1:]]
        user, nice, system, _idle, _iowait, irq, softirq, steal = (fields + [0] * 8)[:8]
        return CpuTime((user + nice + system + irq + softirq) / TICKS_PER_SECOND, steal / TICKS_PER_SECOND)


def between(
    before: Snapshot, after: Snapshot, during: Sequence[int], elapsed: float, own: float, cpus: int
) -> Conditions:
    """The conditions of a trial that took ``elapsed`` seconds and used ``own`` CPU seconds itself.

    ``during`` holds further frequencies, in kHz, seen while it ran.

    Shares of trials below 0.1 s are not known: /proc/stat counts in ticks of 10 ms.
    """
    whole = elapsed * cpus if elapsed >= SHORTEST else None
    other = after.cpu.busy - before.cpu.busy - own
    seen = [*before.frequencies, *during, *after.frequencies]
    return Conditions(
        load=before.load,
        steal_percent=_share(after.cpu.steal - before.cpu.steal, whole),
        other_percent=_share(other, whole),
        mhz_min=round(min(seen) / 1000) if seen else None,
        mhz_max=round(max(seen) / 1000) if seen else None,
        clocksource=after.clocksource,
    )


def _share(seconds: float, whole: float | None) -> float | None:
    return None if whole is None else round(min(100.0, 100 * max(seconds, 0.0) / whole), 3)
