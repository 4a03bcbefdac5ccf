"""Adapters of ``schedload``'s own programs: parameters become options, one JSON object comes back."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BeforeValidator, Field

from schedlab.units import parse_time_ns
from schedlab.workloads.base import Adapter, Command, Metric, MetricSpec, NotUnderstood, Output, P, Parameters, Place
from schedlab.workloads.tools import SCHEDLOAD, need

Nanoseconds = Annotated[int, BeforeValidator(parse_time_ns), Field(ge=0, le=3600 * 10**9)]
"""A short time, written with its unit: ``"30us"``."""

Mode = Literal["process", "thread"]

Tasks = Annotated[int, Field(ge=1, le=100_000)]

LATENCIES = tuple(
    MetricSpec(name, "us", "lower", judged=False) for name in ("latency", "latency-p50", "latency-p99", "latency-p99.9")
)
"""What programs with a recorded latency give: its mean and percentiles."""


class TimedParameters(Parameters):
    """Of programs that run for a time."""

    duration: Annotated[int, Field(ge=1, le=86_400, description="timed seconds")] = 10
    warmup: Annotated[int, Field(ge=0, le=3600, description="seconds before them that are not counted")] = 1

    def timing(self) -> list[str]:
        """The options that these programs share."""
        return ["--warmup", f"{self.warmup}s", "--duration", f"{self.duration}s"]

    def seconds(self) -> float:
        """How long a run takes."""
        return self.warmup + self.duration + 0.1


T = TypeVar("T", bound=TimedParameters)


def mode_flag(mode: Mode) -> str:
    """Whether tasks are processes or threads, for programs that have a default of their own."""
    return "--threads" if mode == "thread" else "--process"


def words(options: Mapping[str, object]) -> list[str]:
    """Options and their values as the words of a command line."""
    return [str(word) for pair in options.items() for word in pair]


class Native(Adapter[P], Generic[P]):
    """A program of ``schedload``; subclasses say its options."""

    tools = (SCHEDLOAD,)

    @abstractmethod
    def options(self, parameters: P) -> list[str]:
        """The subcommand and its options, without ``--json``."""

    def options_on(self, parameters: P, cpus: int) -> list[str]:
        """The same for a machine of so many CPUs; another list only where a parameter counts in CPUs."""
        return self.options(parameters)

    def command(self, parameters: P, place: Place) -> Command:
        """``schedload --json SUBCOMMAND OPTIONS``."""
        return Command((need(SCHEDLOAD), "--json", *self.options(parameters)))

    def parse(self, parameters: P, output: Output) -> list[Metric]:
        """Every declared metric of the JSON object on standard output, with its samples."""
        told = self.told(output)
        return [self.metric(told, spec) for spec in self.metrics]

    def told(self, output: Output) -> Mapping[str, Any]:
        """The output's metrics by name; NotUnderstood when it is not schedload's JSON object."""
        try:
            return {metric["name"]: metric for metric in json.loads(output.stdout)["metrics"]}
        except (ValueError, KeyError, TypeError) as error:
            raise NotUnderstood(f"schedload's output is not its JSON object: {error}") from error

    def metric(self, told: Mapping[str, Any], spec: MetricSpec, told_as: str = "") -> Metric:
        """One metric; NotUnderstood when it is missing, in another unit, or nothing was recorded for it.

        schedload calls it ``told_as``, by default its name with ``_`` in place of ``-``.
        """
        name = told_as or spec.name.replace("-", "_")
        if name not in told:
            raise NotUnderstood(f"schedload's output has no metric {name!r}")
        found = told[name]
        if found["unit"] != spec.unit:
            raise NotUnderstood(f"schedload gives {name!r} in {found['unit']!r}, not in {spec.unit!r}")
        if found["value"] is None:
            raise NotUnderstood(f"schedload recorded nothing for {name!r}: the run was too short")
        return Metric(spec, float(found["value"]), found.get("samples"))


class Timed(Native[T], Generic[T]):
    """A program that runs for a time."""

    def seconds(self, parameters: T) -> float:
        """Warm-up and timed part."""
        return parameters.seconds()

    def parse(self, parameters: T, output: Output) -> list[Metric]:
        """Every declared metric. Samples of latencies, up to 100 000 a trial, are not kept: the percentiles are."""
        return [replace(metric, samples=None) for metric in super().parse(parameters, output)]
