"""schbench: a message thread wakes workers that do requests; how late the workers run."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field

from schedlab.workloads.base import (
    Adapter,
    Command,
    Equivalent,
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

_NUMBER = r"([0-9]{1,15}(?:\.[0-9]{1,15})?)"
_BLOCK = re.compile(
    r"^(?:(Wakeup|Request) )?Latenc(?:ies|y) percentiles \(usec\)[^\n]*\n((?:[ \t]+[^\n]*\n?)+)", re.MULTILINE
)
"""Before 2021 there was one kind, without a name: what is called wake-up now."""
_LINE = re.compile(rf"^[ \t]+\*?[ \t]*{_NUMBER}th:[ \t]+{_NUMBER}", re.MULTILINE)
AVERAGE_LINE = re.compile(rf"^average rps: {_NUMBER}$", re.MULTILINE)


def figures(text: str) -> dict[str, float]:
    """The figures of the last report in ``text`` by the names of the metrics (``wakeup-p99``), those that are there."""
    found: dict[str, float] = {}
    for kind, block in _BLOCK.findall(text):
        for share, microseconds in _LINE.findall(block):
            found[f"{(kind or 'Wakeup').lower()}-p{float(share):g}"] = float(microseconds)
    if rate := AVERAGE_LINE.search(text):
        found["requests"] = float(rate[1])
    return found


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
        found = figures(output.stdout + output.stderr)
        lacking = [spec.name for spec in self.metrics if spec.name not in found]
        if lacking:
            raise NotUnderstood(f"schbench printed no {lacking[0]}")
        return [Metric(spec, found[spec.name]) for spec in self.metrics]

    def seconds(self, parameters: SchbenchParameters) -> float:
        """The duration."""
        return parameters.duration + 0.2

    def equivalent(self, parameters: SchbenchParameters) -> Equivalent:
        """wakeup, which tells no latency of requests; schbench's duration holds its warm-up."""
        timing = {"duration": max(1, parameters.duration - parameters.warmup), "warmup": parameters.warmup}
        same = {f"wakeup-{share}": f"latency-{share}" for share in ("p50", "p99", "p99.9")}
        tasks = {"messages": parameters.messages, "workers": parameters.workers}
        return Equivalent("wakeup", tasks | timing, same | {"requests": "requests"})
