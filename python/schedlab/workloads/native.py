"""The native workloads: adapters derived from the registry of ``crates/workload/src/library``.

Each workload is declared in one Rust file: its parameters with ranges, defaults and documentation, its metrics, and the
program that it runs. ``schedload`` runs the program on a real kernel, the simulator in virtual time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Annotated, Any, ClassVar, Literal, Self, cast

from pydantic import BeforeValidator, Field, create_model, model_validator

from schedlab.extension import extension
from schedlab.notation.units import parse_time_ns
from schedlab.results.metrics import Metric, MetricSpec, NotUnderstood
from schedlab.workloads.base import Adapter, Command, Output, Parameters, Place
from schedlab.workloads.tools import SCHEDLOAD, need


@dataclass(frozen=True)
class Prepared:
    """A workload with its parameters: the program as JSON, the words of ``schedload``'s command line, an estimate.

    ``metrics`` are the names of the metrics that the program reports.
    """

    program: str
    arguments: tuple[str, ...]
    seconds: float
    metrics: frozenset[str]


@lru_cache(maxsize=1024)
def _prepared(workload: str, parameters: str, cpus: int) -> Prepared:
    program, arguments, seconds = extension().native_program(workload, parameters, cpus)
    metrics = frozenset(metric["name"] for metric in json.loads(program)["metrics"])
    return Prepared(program, tuple(arguments), seconds, metrics)


class NativeParameters(Parameters):
    """Base of the derived models; times are whole nanoseconds."""

    workload: ClassVar[str]

    def prepared(self, cpus: int) -> Prepared:
        """Prepare the workload for a machine of ``cpus`` CPUs; ValueError names the parameter that is wrong."""
        return _prepared(self.workload, self.model_dump_json(exclude_unset=True), cpus)

    @model_validator(mode="after")
    def _make_a_program(self) -> Self:
        self.prepared(1)
        return self


class Native(Adapter[NativeParameters]):
    """A workload of ``schedload``. Subclasses are made by :func:`adapter`."""

    tools = (SCHEDLOAD,)
    samples: ClassVar[Mapping[str, str]]
    """The metrics that are stored with samples, each with the reported metric that contains these samples."""

    def command(self, parameters: NativeParameters, place: Place) -> Command:
        """``schedload --json SUBCOMMAND OPTIONS``, for the place's CPUs, or those that this process may use."""
        arguments = parameters.prepared(place.cpus or len(os.sched_getaffinity(0))).arguments
        return Command((need(SCHEDLOAD), "--json", *arguments))

    def parse(self, parameters: NativeParameters, output: Output) -> list[Metric]:
        """The program's metrics in the JSON object on standard output."""
        try:
            reported = {metric["name"]: metric for metric in json.loads(output.stdout)["metrics"]}
        except (ValueError, KeyError, TypeError) as error:
            raise NotUnderstood(f"schedload's output is not its JSON object: {error}") from error
        expected = parameters.prepared(1).metrics
        return [self._metric(reported, spec) for spec in self.metrics if spec.name in expected]

    def _metric(self, reported: Mapping[str, Any], spec: MetricSpec) -> Metric:
        """Return one metric; NotUnderstood when it is missing, in another unit, or without a value."""
        if spec.name not in reported:
            raise NotUnderstood(f"schedload's output has no metric {spec.name!r}")
        metric = reported[spec.name]
        if metric["unit"] != spec.unit:
            raise NotUnderstood(f"schedload reports {spec.name!r} in {metric['unit']!r}, not in {spec.unit!r}")
        if metric["value"] is None:
            raise NotUnderstood(f"schedload recorded nothing for {spec.name!r}: the run was too short")
        samples = reported[self.samples[spec.name]].get("samples") if spec.name in self.samples else None
        return Metric(spec, float(metric["value"]), samples)

    def seconds(self, parameters: NativeParameters) -> float:
        """The estimate that the workload declares."""
        return parameters.prepared(len(os.sched_getaffinity(0))).seconds


@cache
def _definitions() -> dict[str, Any]:
    """The registry's entries by name, in the order of the documentation."""
    return {each["name"]: each for each in json.loads(extension().workloads())}


def names() -> list[str]:
    """Names of the native workloads, in the order of the documentation."""
    return list(_definitions())


@cache
def adapter(name: str) -> Native:
    """The adapter of a native workload; KeyError for an unknown name."""
    definition = _definitions()[name]
    metrics = [
        MetricSpec(each["name"], each["unit"], each["direction"], each["judged"]) for each in definition["metrics"]
    ]
    attributes = {
        "__doc__": definition["summary"],
        "name": name,
        "summary": definition["summary"],
        "note": definition["note"],
        "parameters": _model(definition),
        "metrics": tuple(metrics),
        "samples": {each["name"]: each["samples"] for each in definition["metrics"] if each["samples"]},
    }
    return cast(Native, type(f"Native[{name}]", (Native,), attributes)())


def _model(definition: Mapping[str, Any]) -> type[NativeParameters]:
    """The model of a workload's parameters, with the keys of an experiment file."""
    fields: dict[str, Any] = {each["name"]: _field(each) for each in definition["parameters"]}
    model = create_model(f"{definition['name']} parameters", __base__=NativeParameters, **fields)
    model.workload = definition["name"]
    return model


def _field(parameter: Mapping[str, Any]) -> tuple[Any, Any]:
    """A parameter's type and field."""
    kind, default, about = parameter["kind"], parameter["default"], parameter["summary"]
    annotation: Any
    if kind == "time":
        annotation = Annotated[int, BeforeValidator(_time_parser(parameter))]
    elif kind == "flag":
        annotation = bool
    elif kind == "choice":
        names = tuple(choice["name"] for choice in parameter["choices"])
        annotation = Literal[names]
        about += f" ({'; '.join('{name}: {summary}'.format_map(choice) for choice in parameter['choices'])})"
    else:
        number = Annotated[int, Field(ge=parameter["minimum"], le=parameter["maximum"])]
        annotation = number if default is not None else number | None
    return annotation, Field(default=default, description=about, validate_default=kind == "time")


def _time_parser(parameter: Mapping[str, Any]) -> Callable[[object], int]:
    """The function that reads a time with a unit, or a number of seconds where the parameter allows it."""
    shortest, longest = parameter["minimum"], parameter["maximum"]

    def parse(value: object) -> int:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        ns = parse_time_ns(f"{value:f}s" if is_number and parameter["seconds"] else value)
        if not parse_time_ns(shortest) <= ns <= parse_time_ns(longest):
            raise ValueError(f"{value!r} is not from {shortest} to {longest}")
        return ns

    return parse
