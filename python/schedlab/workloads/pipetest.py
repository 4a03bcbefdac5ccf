"""pipetest as ``schedload`` runs it: one byte goes back and forth between two tasks over two pipes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from schedlab.workloads.base import MetricSpec, Parameters
from schedlab.workloads.native import Native


class PipetestParameters(Parameters):
    """``loops`` round trips of ``size`` bytes between two processes or threads."""

    loops: Annotated[int, Field(ge=100, le=100_000_000)] = 100_000
    size: Annotated[int, Field(ge=1, le=65536, description="bytes per message")] = 4
    mode: Literal["process", "thread"] = "process"


class Pipetest(Native[PipetestParameters]):
    """Round-trip times, each iteration kept as a sample."""

    name = "pipetest"
    summary = "two tasks play ping-pong over pipes; every round trip is timed"
    parameters = PipetestParameters
    metrics = (
        MetricSpec("latency", "us/op", "lower"),
        MetricSpec("latency-p50", "us/op", "lower", judged=False),
        MetricSpec("latency-p99", "us/op", "lower", judged=False),
    )
    note = "one op is one round trip: two wake-ups, two context switches"

    def options(self, parameters: PipetestParameters) -> list[str]:
        """The options of ``schedload pipetest``."""
        threads = ["--threads"] if parameters.mode == "thread" else []
        return ["pipetest", "--loops", str(parameters.loops), "--size", str(parameters.size), *threads]

    def seconds(self, parameters: PipetestParameters) -> float:
        """About 8 µs a round trip on two cores."""
        return parameters.loops * 8e-6
