"""The metric that a column of values is: name, unit, direction, and the note where nothing tells the direction."""

from __future__ import annotations

from schedlab.importers.logs.words import assumed_lower, direction_of, unit_of
from schedlab.results import Direction
from schedlab.workloads.base import MetricSpec

_DIRECTIONS: dict[str, Direction] = {
    "lower": "lower", "lower is better": "lower", "less": "lower", "min": "lower", "smaller": "lower", "down": "lower",
    "higher": "higher", "higher is better": "higher", "more": "higher", "max": "higher", "bigger": "higher",
    "larger": "higher", "up": "higher",
}  # fmt: skip

_TIMES = {
    "s": "s", "sec": "s", "secs": "s", "seconds": "s", "ms": "ms", "msec": "ms", "milliseconds": "ms",
    "us": "us", "µs": "us", "usec": "us", "microseconds": "us", "ns": "ns", "nsec": "ns", "nanoseconds": "ns",
}  # fmt: skip
"""Columns that are called after the unit of their times."""


def said_direction(word: str) -> Direction | None:
    """What a cell of a column called ``direction`` says."""
    return _DIRECTIONS.get(word.strip().lower())


class Metrics:
    """Metrics as they are met; remembers those whose direction had to be assumed."""

    def __init__(self) -> None:
        self._assumed: dict[str, None] = {}

    def of(self, name: str, unit: str = "", direction: Direction | None = None, hints: str = "") -> MetricSpec:
        """The metric called ``name``, whose unit may be part of it; ``hints`` are other words about it."""
        bare, inner = unit_of(name)
        bare, unit = (bare or name), unit or inner
        if not unit and bare.lower() in _TIMES:
            bare, unit = "time", _TIMES[bare.lower()]
        told = direction or direction_of(name, unit) or (direction_of(hints) if hints else None)
        if told is None:
            self._assumed[bare] = None
        return MetricSpec(bare, unit, told or "lower")

    def notes(self, log: str) -> list[str]:
        """One note for each metric whose direction nothing told."""
        return [assumed_lower(log, name) for name in self._assumed]
