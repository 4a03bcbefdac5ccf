"""What declarations of text, JSON and CSV have in common: the names, the units of the metrics, and the checks."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from schedlab.results.metrics import Direction, MetricSpec
from schedlab.workloads.log_reader import NUMBER, Log, Parameters

RowKey = tuple[MetricSpec, tuple[tuple[str, str | int | float], ...]]
"""Metric and parameters of a row."""

_WHOLE = re.compile(r"\d{1,15}")
_NUMBER = re.compile(NUMBER)


class Declared(BaseModel):
    """A table of a file; a key that does not exist is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, ignored_types=(cached_property,))


class DeclaredMetric(Declared):
    """A metric.

    Attributes:
        name, unit, better: as in the imported rows.
        scale: factor from the value in the output to ``unit``, where the output prints no unit beside the value.
        units: factors to ``unit`` by the unit that the output prints.
        optional: a run may lack the metric.
        repeats: a run may have several samples of one row, such as a figure of every second.
    """

    name: str
    unit: str
    better: Direction
    scale: float = 1
    units: dict[str, float] = Field({})
    optional: bool = False
    repeats: bool = False

    @cached_property
    def spec(self) -> MetricSpec:
        """The metric of the imported rows."""
        return MetricSpec(self.name, self.unit, self.better)

    def factor(self, unit: str | None, fault: Callable[[str], Exception]) -> float:
        """Return the factor from a unit that the output prints (None: no unit is printed) to the metric's unit."""
        if unit is None:
            return self.scale
        if unit not in self.units:
            raise fault(f"the unit of {self.name}, “{unit[:20]}”, is none of {', '.join(self.units)}")
        return self.units[unit]


class DeclaredFormat(Declared):
    """A format.

    Attributes:
        name: value of ``--as``, and name of the file.
        reads: description in one line, for users.
        source: tool and version whose output was read, or the documentation.
        workload: name of the workload, where it is not ``name``.
        marks: texts that all are in the first 64 KiB of every output; ``a|b``: one of both is there. A search for them
            is cheap.
        optional: parameters that a run may lack.
    """

    name: str
    reads: str
    source: str
    workload: str = ""
    marks: list[str] = Field(min_length=1)
    parameters: dict[str, Any] = Field({})
    optional: list[str] = Field([])

    @property
    def of(self) -> str:
        """Name of the workload."""
        return self.workload or self.name

    @property
    def shown(self) -> list[str]:
        """Names of the parameters, for users."""
        return list(self.parameters)

    def has_marks(self, text: str) -> bool:
        """Return whether a text contains all marks."""
        return all(any(part in text for part in mark.split("|")) for mark in self.marks)


def require_once(log: Log, metric: DeclaredMetric, parameters: Parameters, seen: set[RowKey]) -> None:
    """Raise ImportProblem for the second value of a row in ``seen``, unless the metric ``repeats``."""
    key = (metric.spec, tuple(parameters.items()))
    if key in seen and not metric.repeats:
        row = " ".join(f"{name}={value}" for name, value in parameters.items())
        raise log.problem(f"has the {metric.name} of {row or 'a run'} twice", todo="import each run once")
    seen.add(key)


def value_of(text: str) -> str | int | float:
    """Return a parameter's value: a whole number stays exact, a figure with decimals becomes a float."""
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text
