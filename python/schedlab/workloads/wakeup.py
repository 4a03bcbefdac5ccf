"""wakeup as ``schedload`` runs it: message tasks wake workers, which tell how late they ran (schbench's shape)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from schedlab.workloads.base import MetricSpec
from schedlab.workloads.native import Mode, Nanoseconds, Tasks, Timed, TimedParameters, mode_flag


class WakeupParameters(TimedParameters):
    """``messages`` message tasks with ``workers`` each, which compute ``request_time`` for each wake-up."""

    messages: Tasks = 1
    workers: Annotated[Tasks, Field(description="of each message task")] = 2
    request_time: Nanoseconds = 100_000
    mode: Mode = "thread"


class Wakeup(Timed[WakeupParameters]):
    """Time from a wake-up until the woken task runs."""

    name = "wakeup"
    summary = "message tasks wake workers: wake-up latency (schbench)"
    parameters = WakeupParameters
    metrics = (
        MetricSpec("latency-p99", "us", "lower"),
        MetricSpec("latency-p50", "us", "lower", judged=False),
        MetricSpec("latency-p99.9", "us", "lower", judged=False),
        MetricSpec("latency", "us", "lower", judged=False),
        MetricSpec("requests", "requests/s", "higher", judged=False),
    )
    note = "schbench's workers do other work between wake-ups: compare each with itself"

    def options(self, parameters: WakeupParameters) -> list[str]:
        """The options of ``schedload wakeup``."""
        tasks = ["--messages", str(parameters.messages), "--workers", str(parameters.workers)]
        work = ["--request-time", f"{parameters.request_time}ns", mode_flag(parameters.mode)]
        return ["wakeup", *tasks, *work, *parameters.timing()]
