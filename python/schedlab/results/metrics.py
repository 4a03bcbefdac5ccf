"""Metrics of a workload and their measured values, without pydantic: readers of logs must load quickly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal

Direction = Literal["lower", "higher"]
"""Which values of a metric are better."""


@dataclass(frozen=True)
class MetricSpec:
    """Name, unit and better direction of one metric.

    A ``judged`` metric gets a verdict unless the experiment names other metrics. Other metrics are stored and can be
    shown.
    """

    name: str
    unit: str
    direction: Direction
    judged: bool = True


@dataclass(frozen=True)
class Metric:
    """A measured value; ``samples`` are the single observations behind ``value``, in the same unit, if any."""

    spec: MetricSpec
    value: float
    samples: Sequence[float] | None = None


class NotUnderstood(Exception):
    """Output without the shape that the adapter expects; the trial fails and its raw text is kept."""


def finite(number: float) -> float | None:
    """Return the number, or None for nan and infinities."""
    return number if isfinite(number) else None
