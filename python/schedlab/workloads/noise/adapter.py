"""``schedload noise``: interruptions of a CPU and their causes, as metrics."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from schedlab.results.metrics import Metric, MetricSpec, NotUnderstood
from schedlab.workloads.base import Adapter, Command, Equivalent, Output, Parameters, Place
from schedlab.workloads.tools import SCHEDLOAD

SCHEMA = 1
"""Version of schedload's document that this adapter reads."""

ALONE = {
    "tick": "lost-tick",
    "idle": "lost-tasks",
    "hypervisor": "lost-hypervisor",
    "hardware": "lost-hardware",
    "unexplained": "lost-unexplained",
}
"""The metric of causes with a name of one word."""

GROUPS = {
    "timer": "lost-timers",
    "hrtimer": "lost-timers",
    "softirq": "lost-softirqs",
    "irq": "lost-irqs",
    "reschedule": "lost-ipis",
    "call-function": "lost-ipis",
    "call": "lost-ipis",
    "ipi": "lost-ipis",
    "irq-work": "lost-ipis",
    "task": "lost-tasks",
    "kernel": "lost-entry",
    "nmi": "lost-irqs",
    "APIC": "lost-irqs",
    "machine-check": "lost-irqs",
    "platform": "lost-irqs",
    "posted": "lost-irqs",
    "spurious": "lost-irqs",
    "thermal": "lost-irqs",
}
"""The metric of each group of causes, by the first of several words."""

WORK = "lost-work"
"""The metric of all other causes, items of work queues: their names are functions."""

GROUP_METRICS = tuple(dict.fromkeys([*ALONE.values(), *GROUPS.values(), WORK]))

COUNT, SHARE, LONGEST = "cause-per-second", "cause-lost", "cause-longest"
"""Metrics of the cause that the parameter ``cause`` names."""


class NoiseParameters(Parameters):
    """A loop on one CPU that notices each interruption, for ``duration`` seconds."""

    duration: Annotated[int, Field(ge=1, le=3600, description="seconds")] = 5
    cpu: Annotated[int, Field(ge=0, le=8191)] | None = Field(
        None, description="the CPU under test; default the last CPU that the trial may use"
    )
    cause: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        None, description="a cause by name, such as vmstat_update or tick, judged in place of all interruptions"
    )
    threshold: Annotated[int, Field(ge=0, le=10**9)] | None = Field(
        None, description="nanoseconds from which an interruption is a gap; default ten turns of the loop, at least 150"
    )
    fifo: Annotated[int, Field(ge=1, le=99)] | None = Field(
        None, description="priority of the loop under SCHED_FIFO; default the variant's policy"
    )


class Noise(Adapter[NoiseParameters]):
    """Lengths and number of the gaps of a loop, and the time of each group of causes."""

    name = "noise"
    summary = "interruptions of a CPU: longest gap, 99.9th percentile, gaps per second, lost time, time by cause"
    parameters = NoiseParameters
    metrics = (
        MetricSpec("gap-p99.9", "us", "lower"),
        MetricSpec("gap-longest", "us", "lower", worst=True),
        MetricSpec("gaps-per-second", "gaps/s", "lower", per="duration"),
        MetricSpec("lost", "%", "lower"),
        *(MetricSpec(name, "%", "lower", judged=False) for name in GROUP_METRICS),
        MetricSpec(COUNT, "1/s", "lower", judged=False, per="duration"),
        MetricSpec(SHARE, "%", "lower", judged=False),
        MetricSpec(LONGEST, "us", "lower", judged=False, worst=True),
    )
    tools = (SCHEDLOAD,)
    note = "causes need root and the kernel's trace; without it all time is lost-unexplained"

    def judged(self, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """The metrics of the named cause, or of all interruptions."""
        return super().judged(parameters) if parameters.get("cause") is None else (COUNT, SHARE, LONGEST)

    def command(self, parameters: NoiseParameters, place: Place) -> Command:
        """``schedload noise`` on the CPU under test."""
        cpu = place.machine.last_cpu if parameters.cpu is None else parameters.cpu
        words = ["--cpus", str(cpu), "--for", f"{parameters.duration}s"]
        if parameters.threshold is not None:
            words += ["--threshold", str(parameters.threshold)]
        if parameters.fifo is not None:
            words += ["--fifo", str(parameters.fifo)]
        return Command((place.machine.program(SCHEDLOAD), "noise", *words))

    def equivalent(self, parameters: NoiseParameters) -> Equivalent:
        """The native loop, whose interruptions the simulator observes."""
        return Equivalent("busyloop", {"duration": parameters.duration}, {}, watches=True)

    def parse(self, parameters: NoiseParameters, output: Output) -> list[Metric]:
        """The figures of schedload's document; NotUnderstood for another document, or lost events of the trace."""
        try:
            document = json.loads(output.stdout)
            if document["schema"] != SCHEMA:
                raise NotUnderstood(f"schedload's document has version {document['schema']}, not {SCHEMA}")
            (cpu,) = document["cpus"]
            values = dict(_values(parameters, cpu, document["causes"]))
            lost = document["tracing"]["lost"]
        except (ValueError, KeyError, TypeError) as error:
            raise NotUnderstood(f"schedload's output is not its JSON document: {error}") from error
        if lost:
            raise NotUnderstood(f"{lost:,} events of the trace were lost: use a shorter duration")
        return self.measured(values)


def _values(
    parameters: NoiseParameters, cpu: Mapping[str, Any], causes: list[Mapping[str, Any]]
) -> Iterator[tuple[str, float]]:
    ns = cpu["seconds"] * 1e9
    yield "gap-p99.9", cpu["p999_ns"] / 1e3
    yield "gap-longest", cpu["worst_ns"] / 1e3
    yield "gaps-per-second", cpu["gaps"] / cpu["seconds"]
    yield "lost", 100 * cpu["stolen_ns"] / ns
    groups = dict.fromkeys(GROUP_METRICS, 0.0)
    for cause in causes:
        groups[group(cause["name"])] += 100 * cause["total_ns"] / ns
    yield from groups.items()
    if parameters.cause is not None:
        named = next((cause for cause in causes if cause["name"] == parameters.cause), None)
        yield COUNT, named["rate"] if named else 0.0
        yield SHARE, 100 * named["total_ns"] / ns if named else 0.0
        yield LONGEST, named["worst_ns"] / 1e3 if named else 0.0


def group(cause: str) -> str:
    """Return the metric to which the time of a cause belongs."""
    if cause in ALONE:
        return ALONE[cause]
    first, blank, _ = cause.partition(" ")
    return GROUPS.get(first, WORK) if blank else WORK
