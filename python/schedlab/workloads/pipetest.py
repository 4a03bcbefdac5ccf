"""pipetest as ``schedload`` runs it: a few bytes go back and forth between two tasks over two pipes."""

from __future__ import annotations

from statistics import quantiles
from typing import Annotated, Literal

from pydantic import Field

from schedlab.workloads.base import Metric, MetricSpec, Output, Parameters
from schedlab.workloads.native import Native


class PipetestParameters(Parameters):
    """``loops`` round trips of ``size`` bytes between two processes or threads."""

    loops: Annotated[int, Field(ge=100, le=100_000_000)] = 100_000
    size: Annotated[int, Field(ge=1, le=65536, description="bytes per message")] = 4
    mode: Literal["process", "thread"] = "process"


P50 = MetricSpec("latency-p50", "us", "lower")
MEAN = MetricSpec("latency", "us", "lower", judged=False)
P99 = MetricSpec("latency-p99", "us", "lower", judged=False)


class Pipetest(Native[PipetestParameters]):
    """Round-trip times, each iteration kept as a sample.

    The median is judged: a few pauses of milliseconds, which hypervisors and interrupts cause, double the mean of a
    hundred thousand trips of microseconds. Mean and 99th percentile are kept; ``metrics`` can name them.
    """

    name = "pipetest"
    summary = "two tasks play ping-pong over pipes; every round trip is timed"
    parameters = PipetestParameters
    metrics = (P50, MEAN, P99)
    note = "one latency is one round trip: two wake-ups, two context switches"

    def options(self, parameters: PipetestParameters) -> list[str]:
        """The options of ``schedload pipetest``."""
        threads = ["--threads"] if parameters.mode == "thread" else []
        return ["pipetest", "--loops", str(parameters.loops), "--size", str(parameters.size), *threads]

    def parse(self, parameters: PipetestParameters, output: Output) -> list[Metric]:
        """Mean, median and 99th percentile of the round trips, in µs; the samples go with the median."""
        told = self.told(output)
        mean = self.metric(told, MEAN)
        samples = mean.samples or [mean.value]
        cuts = quantiles(samples, n=100, method="inclusive") if len(samples) > 1 else [mean.value] * 99
        return [Metric(P50, cuts[49], samples), Metric(MEAN, mean.value), Metric(P99, cuts[98])]

    def seconds(self, parameters: PipetestParameters) -> float:
        """About 8 µs a round trip on two cores."""
        return parameters.loops * 8e-6
