"""The native workloads: adapters derived from :mod:`schedlab.workloads.declarations`.

``schedload`` runs a workload's program on a real kernel, the simulator in virtual time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self, cast

from pydantic import BeforeValidator, Field, create_model, model_validator

from schedlab.results.metrics import Metric, MetricSpec, NotUnderstood
from schedlab.workloads.base import Adapter, Command, Output, Parameters, Place
from schedlab.workloads.declarations import Prepared, definitions, prepared, time_parser
from schedlab.workloads.tools import SCHEDLOAD


class NativeParameters(Parameters):
    """Base of the derived models; times are whole nanoseconds."""

    workload: ClassVar[str]

    def prepared(self, cpus: int) -> Prepared:
        """Prepare the workload for a machine of ``cpus`` CPUs; ValueError names the parameter that is wrong."""
        return prepared(self.workload, self.model_dump_json(exclude_unset=True), cpus)

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
        """``schedload --json SUBCOMMAND OPTIONS``, for the machine's CPUs."""
        arguments = parameters.prepared(place.machine.cpus).arguments
        return Command((place.machine.program(SCHEDLOAD), "--json", *arguments))

    def parse(self, parameters: NativeParameters, output: Output) -> list[Metric]:
        """The program's metrics in the JSON object on standard output."""
        try:
            reported = {metric["name"]: metric for metric in json.loads(output.stdout)["metrics"]}
        except (ValueError, KeyError, TypeError) as error:
            raise NotUnderstood(f"schedload's output is not its JSON object: {error}") from error
        expected = parameters.prepared(1).metrics
        return [self._metric(reported, spec) for spec in self.metrics if spec.name in expected]

    def _metric(self, reported: Mapping[str, Any], spec: MetricSpec) -> Metric:
        """Return one metric; NotUnderstood when the metric is missing, in another unit, or without a value."""
        if spec.name not in reported:
            raise NotUnderstood(f"schedload's output has no metric {spec.name!r}")
        metric = reported[spec.name]
        if metric["unit"] != spec.unit:
            raise NotUnderstood(f"schedload reports {spec.name!r} in {metric['unit']!r}, not in {spec.unit!r}")
        if metric["value"] is None:
            raise NotUnderstood(f"schedload recorded nothing for {spec.name!r}: the run was too short")
        samples = reported[self.samples[spec.name]].get("samples") if spec.name in self.samples else None
        return Metric(spec, float(metric["value"]), None if samples is None else [float(each) for each in samples])

    def seconds(self, parameters: NativeParameters) -> float:
        """The estimate that the workload declares."""
        return parameters.prepared(len(os.sched_getaffinity(0))).seconds


@cache
def adapter(name: str) -> Native:
    """The adapter of a native workload; KeyError for an unknown name."""
    definition = definitions()[name]
    metrics = [
        MetricSpec(each["name"], each["unit"], each["direction"], each["judged"], each["worst"])
        for each in definition["metrics"]
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


def parameters_of_tool(name: str, without: frozenset[str] = frozenset()) -> type[NativeParameters]:
    """The model of a native workload's parameters for the tool that the workload follows, beside which no load runs.

    ``without``: names of parameters that the tool has no options for.
    """
    definition = definitions()[name]
    unknown = without - {each["name"] for each in definition["parameters"]}
    if unknown:
        raise ValueError(f"{name} has no parameters {sorted(unknown)}")
    return _model(definition, loads=False, without=without)


def _model(
    definition: Mapping[str, Any], *, loads: bool = True, without: frozenset[str] = frozenset()
) -> type[NativeParameters]:
    """The model of a workload's parameters, with the keys of an experiment file; ``loads``: also other workloads."""
    parameters = (each for each in definition["parameters"] if loads or each["kind"] != "workload")
    fields: dict[str, Any] = {each["name"]: _field(each) for each in parameters if each["name"] not in without}
    model = create_model(f"{definition['name']} parameters", __base__=NativeParameters, **fields)
    model.workload = definition["name"]
    return model


def _field(parameter: Mapping[str, Any]) -> tuple[Any, Any]:
    """A parameter's type and field."""
    kind, default, about = parameter["kind"], parameter["default"], parameter["summary"]
    annotation: Any
    if kind == "time":
        annotation = Annotated[int, BeforeValidator(time_parser(parameter))]
    elif kind == "flag":
        annotation = bool
    elif kind == "workload":
        annotation = str | None
    elif kind == "choice":
        names = tuple(choice["name"] for choice in parameter["choices"])
        annotation = Literal[names]
        about += f" ({'; '.join('{name}: {summary}'.format_map(choice) for choice in parameter['choices'])})"
    else:
        number = Annotated[int, Field(ge=parameter["minimum"], le=parameter["maximum"])]
        annotation = number if default is not None else number | None
    return annotation, Field(default=default, description=about, validate_default=kind == "time")
