"""The conditions of a trial: load, CPU time stolen by a hypervisor or used by other processes, CPU frequencies."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from schedlab.results.measurement import Conditions

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
"""Unit of the times in /proc/stat (proc_stat(5))."""

SHORTEST = 0.1
"""Seconds below which a trial's shares of CPU time are too coarse: ten ticks."""


@dataclass(frozen=True)
class CpuTime:
    """Seconds since boot over all CPUs: busy with any task, and stolen by the hypervisor (proc_stat(5))."""

    busy: float
    steal: float


@dataclass(frozen=True)
class Snapshot:
    """State of the machine; ``frequencies`` are kHz by CPU, empty where the kernel does not report them."""

    cpu: CpuTime
    load: float
    running: int
    frequencies: tuple[int, ...]
    clocksource: str


class Watch:
    """Reader of the state of a machine. The paths of the files are looked up once."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._stat = root / "proc/stat"
        self._load = root / "proc/loadavg"
        self._clock = root / "sys/devices/system/clocksource/clocksource0/current_clocksource"
        self._frequencies = sorted(root.glob("sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"))

    def snapshot(self) -> Snapshot:
        """Read the state now, in about 0.1 ms."""
        load, _, _, tasks, *_ = self._load.read_text().split()
        return Snapshot(
            cpu=self._cpu_time(),
            load=float(load),
            running=int(tasks.partition("/")[0]),
            frequencies=self.frequencies(),
            clocksource=self._clock.read_text().strip() if self._clock.exists() else "unknown",
        )

    def frequencies(self) -> tuple[int, ...]:
        """Return the kHz of each CPU now; empty without cpufreq, as in most virtual machines."""
        return tuple(int(path.read_text()) for path in self._frequencies)

    def _cpu_time(self) -> CpuTime:
        with self._stat.open() as file:
            user, nice, system, _idle, _iowait, irq, softirq, steal = cpu_ticks(file.readline())
        return CpuTime((user + nice + system + irq + softirq) / TICKS_PER_SECOND, steal / TICKS_PER_SECOND)


def between(
    before: Snapshot, after: Snapshot, during: Sequence[int], elapsed: float, trial_cpu: float, cpus: int
) -> Conditions:
    """Return the conditions of a trial between two snapshots.

    Args:
        before: snapshot before the trial.
        after: snapshot after the trial.
        during: further frequencies in kHz, read during the trial.
        elapsed: seconds of the trial.
        trial_cpu: CPU seconds that the trial used.
        cpus: number of CPUs.

    Shares of CPU time are None for trials below 0.1 s, since /proc/stat counts in ticks of 10 ms.
    """
    total = elapsed * cpus if elapsed >= SHORTEST else None
    other = after.cpu.busy - before.cpu.busy - trial_cpu
    frequencies = [*before.frequencies, *during, *after.frequencies]
    return Conditions(
        load=before.load,
        steal_percent=_share(after.cpu.steal - before.cpu.steal, total),
        other_percent=_share(other, total),
        mhz_min=round(min(frequencies) / 1000) if frequencies else None,
        mhz_max=round(max(frequencies) / 1000) if frequencies else None,
        clocksource=after.clocksource,
    )


def cpu_ticks(text: str, cpu: str = "cpu") -> list[int]:
    """Return the times of a CPU (``cpu3``), or of all CPUs together, in a text of /proc/stat: user, nice, system, idle,
    iowait, irq, softirq, steal (proc_stat(5)). Zeros for a CPU without a line."""
    for line in text.splitlines():
        name, *fields = line.split()
        if name == cpu:
            return ([int(field) for field in fields] + [0] * 8)[:8]
    return [0] * 8


def cpu_shares(before: str, after: str, cpu: str = "cpu") -> tuple[float, float]:
    """Return the shares of CPU time between two texts of /proc/stat that tasks and interrupts used, and that a
    hypervisor took."""
    spent = [last - first for first, last in zip(cpu_ticks(before, cpu), cpu_ticks(after, cpu), strict=True)]
    user, nice, system, _idle, _wait, interrupts, softirqs, steal = spent
    total = max(sum(spent), 1)
    return (user + nice + system + interrupts + softirqs) / total, steal / total


def _share(seconds: float, total: float | None) -> float | None:
    return None if total is None else round(min(100.0, 100 * max(seconds, 0.0) / total), 3)
