"""schbench: message threads wake workers that do requests; latency of the workers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from schedlab.workloads.base import Command, Equivalent, Output, OutputAdapter, Parameters, Place, Tool
from schedlab.workloads.schbench.output import METRICS, READER

_TOOL = Tool("schbench", "schbench", source="from https://github.com/masoncl/schbench; 'wakeup' needs no schbench")
_LONGEST = 1_000_000
"""Seconds between interim reports: longer than any run, so that only the last report is printed."""


class SchbenchParameters(Parameters):
    """``messages`` message threads, each with ``workers`` workers. Think time and cache footprint are the defaults."""

    messages: Annotated[int, Field(ge=1, le=4096)] = 1
    workers: Annotated[int, Field(ge=1, le=4096)] = 2
    duration: Annotated[int, Field(ge=1, le=86_400, description="seconds, warm-up included")] = 10
    warmup: Annotated[int, Field(ge=0, le=3600, description="seconds at the start that are not counted")] = 0


class Schbench(OutputAdapter[SchbenchParameters]):
    """Percentiles of the complete run, which schbench prints at its end."""

    name = "schbench"
    summary = "schbench: wake-up and request latency of workers, requests/s"
    parameters = SchbenchParameters
    metrics = METRICS
    overhead = 0.2
    reader = READER
    complete = True
    tools = (_TOOL,)

    def command(self, parameters: SchbenchParameters, place: Place) -> Command:
        """``schbench`` with one report."""
        numbers = {
            "-m": parameters.messages, "-t": parameters.workers, "-r": parameters.duration, "-w": parameters.warmup,
            "-i": _LONGEST,
        }  # fmt: skip
        return Command(
            (
                place.machine.program(_TOOL),
                *(word for option, value in numbers.items() for word in (option, str(value))),
            )
        )

    def text(self, output: Output) -> str:
        """Both streams; schbench writes to either stream, by version."""
        return output.stdout + output.stderr

    def equivalent(self, parameters: SchbenchParameters) -> Equivalent:
        """wakeup, which measures no latency of requests; schbench's duration includes its warm-up."""
        timing = {"duration": max(1, parameters.duration - parameters.warmup), "warmup": parameters.warmup}
        same = {f"wakeup-{share}": f"latency-{share}" for share in ("p50", "p99", "p99.9")}
        tasks = {"messages": parameters.messages, "workers": parameters.workers}
        return Equivalent("wakeup", tasks | timing, same | {"requests": "requests"})
