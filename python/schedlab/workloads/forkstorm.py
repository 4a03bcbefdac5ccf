"""forkstorm as ``schedload`` runs it: tasks that start children and wait for them as fast as they can."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from schedlab.workloads.base import MetricSpec
from schedlab.workloads.native import LATENCIES, Tasks, Timed, TimedParameters


class ForkstormParameters(TimedParameters):
    """``tasks`` that fork at once."""

    tasks: Tasks = 2
    exec: Annotated[bool, Field(description="children become a fresh program before they exit")] = False


class Forkstorm(Timed[ForkstormParameters]):
    """Latency is from before the fork until the child is reaped."""

    name = "forkstorm"
    summary = "tasks fork children and wait for them: forks/s"
    parameters = ForkstormParameters
    metrics = (MetricSpec("forks", "forks/s", "higher"), *LATENCIES)

    def options(self, parameters: ForkstormParameters) -> list[str]:
        """The options of ``schedload forkstorm``."""
        fresh = ["--exec"] if parameters.exec else []
        return ["forkstorm", "--tasks", str(parameters.tasks), *fresh, *parameters.timing()]
