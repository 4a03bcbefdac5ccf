"""``perf bench sched messaging`` and ``perf bench sched pipe``."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field

from schedlab.workloads.base import (
    Adapter,
    Command,
    Metric,
    MetricSpec,
    NotUnderstood,
    Output,
    P,
    Parameters,
    Place,
    Tool,
)
from schedlab.workloads.tools import need

PERF = Tool("perf", "linux-perf")
_TOTAL = re.compile(r"^\s*Total time:\s*([0-9.]+)\s*\[sec\]", re.MULTILINE)
_PER_OP = re.compile(r"^\s*([0-9.]+)\s+usecs/op", re.MULTILINE)

_TIME = MetricSpec("time", "s", "lower")
_LATENCY = MetricSpec("latency", "us/op", "lower")


class MessagingParameters(Parameters):
    """Options of ``perf bench sched messaging`` with its defaults: 10 groups of 20 + 20 tasks, 100 loops."""

    groups: Annotated[int, Field(ge=1, le=100_000)] = 10
    loops: Annotated[int, Field(ge=1, le=10_000_000)] = 100
    mode: Literal["process", "thread"] = "process"
    ipc: Literal["socket", "pipe"] = "socket"


class PipeParameters(Parameters):
    """Options of ``perf bench sched pipe``; its own default is a million loops."""

    loops: Annotated[int, Field(ge=1, le=1_000_000_000)] = 1_000_000
    mode: Literal["process", "thread"] = "process"


def _seek(pattern: re.Pattern[str], output: Output, what: str) -> float:
    match = pattern.search(output.stdout)
    if match is None:
        raise NotUnderstood(f"perf bench printed no {what}")
    return float(match[1])


class PerfSched(Adapter[P]):
    """What both benchmarks share: the tool."""

    tools = (PERF,)

    def bench(self, *words: str) -> Command:
        """``perf bench sched WORDS``, always in the default (unscaled, long) format."""
        return Command((need(PERF), "bench", "--format=default", "sched", *words))


class PerfSchedMessaging(PerfSched[MessagingParameters]):
    """The hackbench that lives in perf."""

    name = "perf-sched-messaging"
    summary = "perf bench sched messaging: hackbench as perf has it"
    parameters = MessagingParameters
    metrics = (_TIME,)

    def command(self, parameters: MessagingParameters, place: Place) -> Command:
        """``perf bench sched messaging`` with the options spelt short."""
        flags = [
            *(["-p"] if parameters.ipc == "pipe" else []),
            *(["-t"] if parameters.mode == "thread" else []),
        ]
        return self.bench("messaging", "-g", str(parameters.groups), "-l", str(parameters.loops), *flags)

    def parse(self, parameters: MessagingParameters, output: Output) -> list[Metric]:
        """The seconds of ``Total time:``."""
        return [Metric(_TIME, _seek(_TOTAL, output, 'line "Total time: SECONDS [sec]"'))]

    def seconds(self, parameters: MessagingParameters) -> float:
        """As hackbench with 20 file descriptors a group."""
        return parameters.groups * (400 * parameters.loops * 1.5e-6 + 40 * 60e-6)


class PerfSchedPipe(PerfSched[PipeParameters]):
    """The pipetest that lives in perf."""

    name = "perf-sched-pipe"
    summary = "perf bench sched pipe: pipetest as perf has it"
    parameters = PipeParameters
    metrics = (_LATENCY, MetricSpec("time", "s", "lower", judged=False))

    def command(self, parameters: PipeParameters, place: Place) -> Command:
        """``perf bench sched pipe``."""
        return self.bench("pipe", "-l", str(parameters.loops), *(["-T"] if parameters.mode == "thread" else []))

    def parse(self, parameters: PipeParameters, output: Output) -> list[Metric]:
        """The figures before ``usecs/op`` and behind ``Total time:``."""
        per_op = _seek(_PER_OP, output, 'line "N usecs/op"')
        total = _seek(_TOTAL, output, 'line "Total time: SECONDS [sec]"')
        return [Metric(_LATENCY, per_op), Metric(self.spec("time"), total)]

    def seconds(self, parameters: PipeParameters) -> float:
        """About 8 µs a round trip on two cores."""
        return parameters.loops * 8e-6
