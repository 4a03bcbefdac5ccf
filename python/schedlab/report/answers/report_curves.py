"""Curves over a parameter: rows that differ in one numeric parameter only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schedlab.notation.units import SIZE_BYTES, TIME_NS, split
from schedlab.report.document import PlottedRow
from schedlab.report.words import measure, parameters

_LOG_FROM = 8.0
"""Ratio of the largest to the smallest value from which an axis is logarithmic: 1, 2, 4, 8 are then evenly spaced."""


@dataclass(frozen=True)
class Point:
    """One row of the curve, its place on the axis, and the parameter's value in the experiment."""

    x: float
    label: str
    row: PlottedRow


@dataclass(frozen=True)
class Curve:
    """A metric of a workload over one parameter; ``fixed`` are the other parameters. Points are in the order of x."""

    key: str
    workload: str
    parameter: str
    fixed: str
    measure: str
    direction: str
    points: tuple[Point, ...]

    @property
    def scale(self) -> str:
        """The scale of the parameter's axis, ``log`` or ``linear``."""
        low, high = self.points[0].x, self.points[-1].x
        return "log" if low > 0 and high / low >= _LOG_FROM else "linear"


def curves(rows: Sequence[PlottedRow]) -> list[Curve]:
    """Return a curve for each numeric parameter with two values or more, in each combination of the other
    parameters."""
    groups: dict[tuple[str, str, str, str], list[PlottedRow]] = {}
    for row in rows:
        for name in row.parameters:
            others = {other: value for other, value in row.parameters.items() if other != name}
            group = row.workload, row.metric, name, json.dumps(others, sort_keys=True)
            groups.setdefault(group, []).append(row)
    curves: list[Curve] = []
    # Curves over one parameter are adjacent, for all combinations of the other parameters.
    first = {(*key[:3],): place for place, key in reversed([*enumerate(groups)])}
    for (workload, _, name, rest), of_group in sorted(groups.items(), key=lambda group: first[group[0][:3]]):
        places = positions([row.parameters[name] for row in of_group])
        if places is not None:
            points = [Point(x, str(row.parameters[name]), row) for x, row in zip(places, of_group, strict=True)]
            points.sort(key=lambda point: point.x)
            row = of_group[0]
            key, fixed = f"response-{len(curves) + 1}", parameters(json.loads(rest))
            curve = Curve(key, workload, name, fixed, measure(row.metric, row.unit), row.direction, tuple(points))
            curves.append(curve)
    return curves


def positions(values: Sequence[Any]) -> list[float] | None:
    """Return the values of a parameter as numbers of one unit; None unless there are two or more of one kind.

    A text is a number, with a unit of time or of size or without a unit.
    """
    if len(set(map(str, values))) < 2:
        return None
    for units in ({"": 1}, TIME_NS, SIZE_BYTES):
        places = [_quantity(value, units) for value in values]
        numeric = [place for place in places if place is not None]
        if len(numeric) == len(places):
            return numeric if len(set(numeric)) > 1 else None
    return None


def _quantity(value: Any, units: Mapping[str, int]) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if "" in units else None
    try:
        number, unit = split(str(value))
    except ValueError:
        return None
    return float(number * units[unit]) if unit in units else None
