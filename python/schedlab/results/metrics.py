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
    shown. A ``worst`` metric is the worst of many values over a trial's time, such as the longest gap: the value of a
    block is the worst of its trials, which must all measure for the same time. ``per`` names the parameter with the
    seconds over which a trial counts the events of a rate; empty if the metric does not count events in a fixed time.
    """

    name: str
    unit: str
    direction: Direction
    judged: bool = True
    worst: bool = False
    per: str = ""


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
