"""schbench: a message thread wakes workers that do requests; how late the workers run."""

from __future__ import annotations

import re
from typing import Annotated

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

_TOOL = Tool("schbench", "schbench", source="from https://github.com/masoncl/schbench; 'wakeup' does without")
_LONGEST = 1_000_000
"""Seconds between interim reports: longer than any run, so that only the last report is printed."""

_BLOCK = re.compile(r"^(Wakeup|Request) Latencies percentiles \(usec\)[^\n]*\n((?:[ \t]+[^\n]*\n?)+)", re.MULTILINE)
_LINE = re.compile(r"^[ \t]+\*?[ \t]*([0-9.]+)th:[ \t]+(\d+)", re.MULTILINE)
_RPS = re.compile(r"^average rps: ([0-9.]+)$", re.MULTILINE)


class SchbenchParameters(Parameters):
    """``messages`` message threads with ``workers`` each, the tool's own think time and cache footprint."""

    messages: Annotated[int, Field(ge=1, le=4096)] = 1
    workers: Annotated[int, Field(ge=1, le=4096)] = 2
    duration: Annotated[int, Field(ge=1, le=86_400, description="seconds, warm-up included")] = 10
    warmup: Annotated[int, Field(ge=0, le=3600, description="seconds at the start that are not counted")] = 0


class Schbench(Adapter[SchbenchParameters]):
    """Percentiles of the whole run, as schbench prints them at its end."""

    name = "schbench"
    summary = "schbench: wake-up and request latency of workers, requests/s"
    parameters = SchbenchParameters
    metrics = (
        MetricSpec("wakeup-p99", "us", "lower"),
        MetricSpec("wakeup-p50", "us", "lower", judged=False),
        MetricSpec("wakeup-p99.9", "us", "lower", judged=False),
        MetricSpec("request-p50", "us", "lower", judged=False),
        MetricSpec("request-p99", "us", "lower", judged=False),
        MetricSpec("request-p99.9", "us", "lower", judged=False),
        MetricSpec("requests", "requests/s", "higher", judged=False),
    )
    tools = (_TOOL,)

    def command(self, parameters: SchbenchParameters, place: Place) -> Command:
        """``schbench`` with one report."""
        numbers = {
            "-m": parameters.messages, "-t": parameters.workers, "-r": parameters.duration, "-w": parameters.warmup,
            "-i": _LONGEST,
        }  # fmt: skip
        return Command((need(_TOOL), *(word for option, value in numbers.items() for word in (option, str(value)))))

    def parse(self, parameters: SchbenchParameters, output: Output) -> list[Metric]:
        """The last block of each kind; schbench writes to either stream, by version."""
        text = output.stdout + output.stderr
        found: dict[str, float] = {}
        for kind, block in _BLOCK.findall(text):
            for share, microseconds in _LINE.findall(block):
                found[f"{kind.lower()}-p{float(share):g}"] = float(microseconds)
        if rate := _RPS.search(text):
            found["requests"] = float(rate[1])
        lacking = [spec.name for spec in self.metrics if spec.name not in found]
        if lacking:
            raise NotUnderstood(f"schbench printed no {lacking[0]}")
        return [Metric(spec, found[spec.name]) for spec in self.metrics]

    def seconds(self, parameters: SchbenchParameters) -> float:
        """The duration."""
        return parameters.duration + 0.2
