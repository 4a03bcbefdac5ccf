"""cyclictest of the rt-tests package: how late timers wake their threads."""

from __future__ import annotations

import re
from collections.abc import Mapping
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

_COUNTS = r"((?:[ \t]+[0-9]{1,15})+)"
_BUCKET = re.compile(rf"^([0-9]{{1,9}}){_COUNTS}[ \t]*$", re.MULTILINE)
_SUMMARY = re.compile(rf"^# (Avg Latencies|Max Latencies|Histogram Overflows):{_COUNTS}[ \t]*$", re.MULTILINE)
_PERCENTILES = {"latency-p50": 0.5, "latency-p99": 0.99, "latency-p99.9": 0.999}


def figures(text: str) -> dict[str, float]:
    """The figures of a histogram and the summary below it by the names of the metrics, in µs, over all threads.

    Raises:
        NotUnderstood: either is missing, or no wake-up was counted.
    """
    buckets = {int(us): sum(map(int, counts.split())) for us, counts in _BUCKET.findall(text)}
    said = {name: [int(word) for word in numbers.split()] for name, numbers in _SUMMARY.findall(text)}
    if not buckets or len(said) != 3:
        raise NotUnderstood("cyclictest printed no histogram with its summary")
    largest = float(max(said["Max Latencies"]))
    means = {"latency-mean": fmean(said["Avg Latencies"]), "latency-max": largest}
    return percentiles(buckets, sum(said["Histogram Overflows"]), largest) | means


def percentiles(buckets: Mapping[int, int], beyond: int, largest: float) -> dict[str, float]:
    """Percentiles of wake-ups counted by µs, of which ``beyond`` lie above the last bucket, the latest at ``largest``.

    Raises:
        NotUnderstood: no wake-up was counted.
    """
    cycles = sum(buckets.values()) + beyond
    if not cycles:
        raise NotUnderstood("cyclictest counted no wake-up")
    below = list(zip(buckets, accumulate(buckets.values()), strict=True))
    return {
        # What lies beyond the histogram is only known to be at most the maximum.
        name: float(next((us for us, count in below if count >= share * cycles), largest))
        for name, share in _PERCENTILES.items()
    }


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
        values = figures(output.stdout)
        return [Metric(spec, values[spec.name]) for spec in self.metrics]

    def seconds(self, parameters: CyclictestParameters) -> float:
        """The duration."""
        return parameters.duration + 0.1
