"""``perf bench sched messaging`` and ``perf bench sched pipe``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from schedlab.results.metrics import MetricSpec
from schedlab.workloads.base import Command, Equivalent, OutputAdapter, P, Parameters, Place, Tool
from schedlab.workloads.perf_bench.output import LATENCY, READER, TIME

PERF = Tool("perf", "linux-perf")

# Memory of perf 6.1.192 (Debian), counted with 10 groups and taken for any number, beyond that of our own hackbench:
# 172 mappings instead of 43 and 2464 KiB of anonymous memory instead of 280 (/proc/PID/smaps of the main process), and
# for each process 159 page faults instead of 38 (perf stat). They come at the process's end (docs/exact-cost.md).
MAIN_MEMORY = {"main_mappings": 129, "main_pages": 546, "written_pages": 121}


class MessagingParameters(Parameters):
    """Options of ``perf bench sched messaging`` with its defaults: 10 groups of 20 + 20 tasks, 100 loops."""

    groups: Annotated[int, Field(ge=1, le=100_000)] = 10
    loops: Annotated[int, Field(ge=1, le=10_000_000)] = 100
    mode: Literal["process", "thread"] = "process"
    ipc: Literal["socket", "pipe"] = "socket"


class PipeParameters(Parameters):
    """Options of ``perf bench sched pipe``; the default of perf is a million loops."""

    loops: Annotated[int, Field(ge=1, le=1_000_000_000)] = 1_000_000
    mode: Literal["process", "thread"] = "process"


def messaging_parameters(words: Sequence[str]) -> MessagingParameters | None:
    """Return the parameters of a ``perf bench sched messaging`` command line; None for other commands or options."""
    if list(words[:4]) != ["perf", "bench", "sched", "messaging"]:
        return None
    numbers = {"-g": "groups", "--group": "groups", "-l": "loops", "--nr_loops": "loops"}
    flags = {"-p": ("ipc", "pipe"), "--pipe": ("ipc", "pipe"), "-t": ("mode", "thread"), "--thread": ("mode", "thread")}
    options: dict[str, str] = {}
    rest = iter(words[4:])
    for word in rest:
        option, equals, value = word.partition("=")
        if option in numbers:
            options[numbers[option]] = value if equals else next(rest, "")
        elif word in flags:
            name, chosen = flags[word]
            options[name] = chosen
        else:
            return None
    try:
        return MessagingParameters.model_validate(options, strict=False)
    except ValidationError:
        return None


class _PerfSched(OutputAdapter[P]):
    """A benchmark of ``perf bench sched``."""

    reader = READER
    tools = (PERF,)

    def bench(self, place: Place, *words: str) -> Command:
        """Return ``perf bench sched WORDS``, always in the default (unscaled, long) format."""
        return Command((place.machine.program(PERF), "bench", "--format=default", "sched", *words))


class PerfSchedMessaging(_PerfSched[MessagingParameters]):
    """hackbench as part of perf."""

    name = "perf-sched-messaging"
    summary = "perf bench sched messaging: the hackbench of perf"
    parameters = MessagingParameters
    metrics = (TIME,)

    def command(self, parameters: MessagingParameters, place: Place) -> Command:
        """``perf bench sched messaging`` with short options."""
        flags = [
            *(["-p"] if parameters.ipc == "pipe" else []),
            *(["-t"] if parameters.mode == "thread" else []),
        ]
        return self.bench(place, "messaging", "-g", str(parameters.groups), "-l", str(parameters.loops), *flags)

    def seconds(self, parameters: MessagingParameters) -> float:
        """Return the estimate of hackbench with 20 file descriptors a group."""
        return parameters.groups * (400 * parameters.loops * 1.5e-6 + 40 * 60e-6)

    def equivalent(self, parameters: MessagingParameters) -> Equivalent:
        """hackbench with 20 file descriptors a group, messages of 100 bytes and, for processes, perf's memory."""
        memory = MAIN_MEMORY if parameters.mode == "process" else {}
        same = parameters.model_dump(exclude_unset=True)
        return Equivalent("hackbench", {"fds": 20, "size": 100, **memory, **same}, {"time": "time"})


class PerfSchedPipe(_PerfSched[PipeParameters]):
    """pipetest as part of perf."""

    name = "perf-sched-pipe"
    summary = "perf bench sched pipe: the pipetest of perf"
    parameters = PipeParameters
    metrics = (LATENCY, MetricSpec("time", "s", "lower", judged=False))

    def command(self, parameters: PipeParameters, place: Place) -> Command:
        """``perf bench sched pipe``."""
        return self.bench(place, "pipe", "-l", str(parameters.loops), *(["-T"] if parameters.mode == "thread" else []))

    def seconds(self, parameters: PipeParameters) -> float:
        """About 8 µs a round trip on two cores."""
        return parameters.loops * 8e-6

    def equivalent(self, parameters: PipeParameters) -> Equivalent:
        """pipetest, whose mean round trip is perf's time per operation; pipetest has no total time."""
        return Equivalent("pipetest", parameters.model_dump(), {"latency": "latency"})
