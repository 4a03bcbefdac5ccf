"""cyclictest of the rt-tests package: how late timers wake their threads."""

from __future__ import annotations

import re
from itertools import accumulate
from statistics import fmean
from typing import Annotated, Literal

from pydantic import Field

from schedlab.workloads.base import (
    Adapter,
    Command,
    Metric,
    MetricSpec,
    NotUnderstood,
    Output,
    Parameters,
    Place,
    Tool,
)
from schedlab.workloads.tools import need

_TOOL = Tool("cyclictest", "rt-tests")
_SPAN_US = 2_000
"""Microseconds that the histogram spans, one line each; what is later counts as an overflow."""

_BUCKET = re.compile(r"^(\d+)((?:[ \t]+\d+)+)\s*$", re.MULTILINE)
_SUMMARY = re.compile(r"^# (Avg Latencies|Max Latencies|Histogram Overflows):((?:[ \t]+\d+)+)[ \t]*$", re.MULTILINE)
_PERCENTILES = {"latency-p50": 0.5, "latency-p99": 0.99, "latency-p99.9": 0.999}


class CyclictestParameters(Parameters):
    """``threads`` timers that fire every ``interval`` µs, for ``duration`` seconds."""

    threads: Annotated[int, Field(ge=1, le=4096)] = 1
    interval: Annotated[int, Field(ge=100, le=1_000_000, description="microseconds")] = 1000
    policy: Literal["other", "batch", "fifo", "rr"] = "other"
    priority: Annotated[int, Field(ge=1, le=99, description="of policy fifo and rr")] = 80
    duration: Annotated[int, Field(ge=1, le=86_400, description="seconds")] = 10


class Cyclictest(Adapter[CyclictestParameters]):
    """Percentiles over all threads' histograms together."""

    name = "cyclictest"
    summary = "cyclictest of the rt-tests package: timer wake-up latency"
    parameters = CyclictestParameters
    metrics = (
        MetricSpec("latency-p99", "us", "lower"),
        MetricSpec("latency-p50", "us", "lower", judged=False),
        MetricSpec("latency-p99.9", "us", "lower", judged=False),
        MetricSpec("latency-mean", "us", "lower", judged=False),
        MetricSpec("latency-max", "us", "lower", judged=False),
    )
    tools = (_TOOL,)
    note = "cyclictest sets its threads' policy itself: a variant's policy does not reach them"

    def command(self, parameters: CyclictestParameters, place: Place) -> Command:
        """``--default-system`` leaves the machine's idle states alone; they are the variant's business."""
        realtime = [f"--priority={parameters.priority}"] if parameters.policy in ("fifo", "rr") else []
        return Command((
            need(_TOOL), "--quiet", "--default-system", f"--histogram={_SPAN_US}", f"--threads={parameters.threads}",
            f"--interval={parameters.interval}", f"--policy={parameters.policy}", *realtime,
            f"--duration={parameters.duration}",
        ))  # fmt: skip

    def parse(self, parameters: CyclictestParameters, output: Output) -> list[Metric]:
        """The histogram's percentiles, and the mean and maximum below it."""
        buckets = [sum(map(int, counts.split())) for _, counts in _BUCKET.findall(output.stdout)]
        said = {name: [int(word) for word in numbers.split()] for name, numbers in _SUMMARY.findall(output.stdout)}
        if not buckets or len(said) != 3:
            raise NotUnderstood("cyclictest printed no histogram with its summary")
        cycles = sum(buckets) + sum(said["Histogram Overflows"])
        if not cycles:
            raise NotUnderstood("cyclictest counted no wake-up")
        largest, below = float(max(said["Max Latencies"])), list(accumulate(buckets))
        values = {
            # What lies beyond the histogram is only known to be at most the maximum.
            name: float(next((us for us, count in enumerate(below) if count >= share * cycles), largest))
            for name, share in _PERCENTILES.items()
        } | {"latency-mean": fmean(said["Avg Latencies"]), "latency-max": largest}
        return [Metric(spec, values[spec.name]) for spec in self.metrics]

    def seconds(self, parameters: CyclictestParameters) -> float:
        """The duration."""
        return parameters.duration + 0.1
