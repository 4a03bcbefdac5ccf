"""Metrics of a workload and their measured values, without pydantic: readers of logs must load quickly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schedlab.kinds import Direction


@dataclass(frozen=True)
class MetricSpec:
    """Name, unit and better direction of one metric.

    A ``judged`` metric gets a verdict unless the experiment names others. The rest are stored and can be shown.
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


RECEIVED = MetricSpec("received", "Mbit/s", "higher")
SENT = MetricSpec("sent", "Mbit/s", "higher", judged=False)
"""Rates of a stream over the network. Over UDP more may be sent than arrives. 1 Mbit = 10⁶ bits."""

TRANSACTIONS = MetricSpec("transactions", "transactions/s", "higher")
"""Rate of requests that got their reply."""
