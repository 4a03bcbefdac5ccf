"""yield as ``schedload`` runs it: tasks that do nothing but give up the CPU."""

from __future__ import annotations

from schedlab.workloads.base import MetricSpec
from schedlab.workloads.native import Mode, Tasks, Timed, TimedParameters, mode_flag


class YieldParameters(TimedParameters):
    """More ``tasks`` than CPUs make each call a switch; fewer only enter and leave the scheduler."""

    tasks: Tasks = 4
    mode: Mode = "process"


class Yielding(Timed[YieldParameters]):
    """sched_yield(2) in a loop."""

    name = "yield"
    summary = "tasks that only call sched_yield"
    parameters = YieldParameters
    metrics = (MetricSpec("yields", "ops/s", "higher"),)

    def options(self, parameters: YieldParameters) -> list[str]:
        """The options of ``schedload yield``."""
        return ["yield", "--tasks", str(parameters.tasks), mode_flag(parameters.mode), *parameters.timing()]
