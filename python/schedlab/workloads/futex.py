"""futex as ``schedload`` runs it: pairs of tasks that wake each other in turn."""

from __future__ import annotations

from schedlab.workloads.base import MetricSpec
from schedlab.workloads.native import LATENCIES, Mode, Tasks, Timed, TimedParameters, mode_flag


class FutexParameters(TimedParameters):
    """``pairs`` at once."""

    pairs: Tasks = 1
    mode: Mode = "thread"


class Futex(Timed[FutexParameters]):
    """The shortest way from one task to another: no data, no file."""

    name = "futex"
    summary = "pairs of tasks wake each other through futexes"
    parameters = FutexParameters
    metrics = (MetricSpec("operations", "ops/s", "higher"), *LATENCIES)
    note = "one operation is one round trip: two wake-ups, two waits"

    def options(self, parameters: FutexParameters) -> list[str]:
        """The options of ``schedload futex``."""
        return ["futex", "--pairs", str(parameters.pairs), mode_flag(parameters.mode), *parameters.timing()]
