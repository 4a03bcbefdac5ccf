"""Costs from probes: the value of a cost with which the simulated probe takes as long as the measured probe.

A probe contains more than the wanted cost: readings of the clock, system calls, switches. The simulator knows what it
charges for them, so that the search needs no formula for each probe, and the machine's model reproduces the probes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, TypeVar

from schedlab.simulation.host.runners import Probe, level

T = TypeVar("T")

LONGEST = 6
"""Largest number of simulations of a search. A probe's time is nearly linear in a cost, so two or three suffice."""

NEAR_NS, NEAR_SHARE = 2.0, 0.002
"""A simulated time is equal to the measured time within 2 ns, the resolution of costs, or within 0.2 %."""


@dataclass(frozen=True)
class Step:
    """A probe and the costs that it determines.

    A pass that takes ``below_ns`` or longer does not count: the probe did not do what it measures. ``series`` is the
    probe's series whose quantile ``share`` counts, by default the median. ``keys`` are dotted keys of
    the machine file; with several keys the probe measures a sum, which is split in the proportions of the values before
    the search. ``later`` are keys that have the value of the first key until their own steps.
    """

    keys: tuple[str, ...]
    probe: Probe
    series: str
    how: str
    share: float = 0.5
    below_ns: float = inf
    later: tuple[str, ...] = ()

    def with_later(self, values: Mapping[str, T]) -> Mapping[str, T]:
        """Return values of ``keys`` with those of ``later``."""
        return {**values, **dict.fromkeys(self.later, values[self.keys[0]])}


@dataclass(frozen=True)
class Figure:
    """A cost, the extremes of the passes, and the method. ``measured_ns`` is the probe's time."""

    value: int
    low: int
    high: int
    tries: int
    how: str
    measured_ns: float

    @property
    def comment(self) -> str:
        """The comment in the file."""
        return f"measured: mean of {self.tries} ({self.low} to {self.high}), {self.how}"


Values = Mapping[str, int]
"""Values of a machine file by dotted key."""


def solve(
    step: Step, tries: Sequence[float], values: Values, simulate: Callable[[Values], float]
) -> Mapping[str, Figure]:
    """Return the figure of each key of the step; none if the simulated probe does not depend on the costs.

    ``tries`` are the medians of the passes; their :func:`level` is the wanted time. ``values`` are the values before
    the search. ``simulate`` returns the median of the probe's series on a machine with changed values.
    """
    wanted = level(tries)
    parts = {key: max(values[key], 1) for key in step.keys}
    total = sum(parts.values())

    def at(sum_ns: float) -> Values:
        return {key: max(0, round(sum_ns * part / total)) for key, part in parts.items()}

    result = _search(wanted, float(total), lambda sum_ns: simulate(at(sum_ns)))
    if result is None:
        return {}
    found, slope = result
    ends = [found + (each - wanted) / slope for each in (min(tries), max(tries))]
    low, high = (at(end) for end in ends)
    return {key: Figure(at(found)[key], low[key], high[key], len(tries), step.how, wanted) for key in step.keys}


def _search(wanted: float, start: float, simulated: Callable[[float], float]) -> tuple[float, float] | None:
    """Return the sum, at least 0, with which the simulation takes ``wanted`` ns, and the slope (secant method).

    None if the slope is not positive.
    """
    x0, x1 = start, start * 1.5 + 20
    y0, y1 = simulated(x0), simulated(x1)
    slope = (y1 - y0) / (x1 - x0)
    for _ in range(LONGEST - 2):
        if slope <= 0 or abs(y1 - wanted) <= max(NEAR_NS, NEAR_SHARE * wanted):
            break
        x0, y0, x1 = x1, y1, max(0.0, x1 + (wanted - y1) / slope)
        if x1 == x0:
            break
        y1 = simulated(x1)
        slope = (y1 - y0) / (x1 - x0) or slope
    return (x1, slope) if slope > 0 else None


def read(data: Mapping[str, Any], key: str) -> int:
    """Return the value of a dotted key; ``idle.2.exit_ns`` is a field of an element of a list."""
    table: Any = data
    for part in key.split("."):
        table = table[int(part)] if isinstance(table, list) else table[part]
    return int(table)


def write(data: Mapping[str, Any], key: str, value: int) -> None:
    """Set the value of a dotted key."""
    *parents, last = key.split(".")
    table: Any = data
    for part in parents:
        table = table[int(part)] if isinstance(table, list) else table[part]
    table[last] = value
