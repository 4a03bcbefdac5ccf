"""busyloop as ``schedload`` runs it: tasks that look at the clock and tell for how long it jumped."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from schedlab.workloads.base import MetricSpec
from schedlab.workloads.native import Mode, Nanoseconds, Tasks, Timed, TimedParameters, mode_flag


class BusyLoopParameters(TimedParameters):
    """Bind it (``cpus``) to a CPU that nobody else uses; more ``tasks`` than CPUs see each other as gaps."""

    tasks: Tasks = 1
    threshold: Annotated[Nanoseconds, Field(description="a longer time between two looks at the clock is a gap")] = 1000
    mode: Mode = "process"


class BusyLoop(Timed[BusyLoopParameters]):
    """The gaps that ticks, interrupts, kernel threads and other tasks tear into a loop of ``i++``."""

    name = "busyloop"
    summary = "a loop that looks at the clock: the gaps in it"
    parameters = BusyLoopParameters
    metrics = (
        MetricSpec("gap-max", "us", "lower"),
        MetricSpec("gap-p50", "us", "lower", judged=False),
        MetricSpec("gaps", "gaps/s", "lower", judged=False),
        MetricSpec("lost", "us/s", "lower", judged=False),
    )
    note = "a maximum: of longer runs it is larger; gap-p50 is the median of the longest gaps of stretches of 10 ms"

    def options(self, parameters: BusyLoopParameters) -> list[str]:
        """The options of ``schedload busyloop``."""
        threshold = ["--threshold", f"{parameters.threshold}ns"]
        tasks = ["--tasks", str(parameters.tasks), mode_flag(parameters.mode)]
        return ["busyloop", *tasks, *threshold, *parameters.timing()]
