"""Response over a parameter: the rows that differ in one numeric parameter only, as curves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schedlab.report import telling
from schedlab.report.html.rows import Row
from schedlab.units import SIZE_BYTES, TIME_NS, split

_LOG_FROM = 8.0
"""Largest over smallest value from which an axis is logarithmic: 1, 2, 4, 8 shall be evenly spaced."""


@dataclass(frozen=True)
class Point:
    """One row of the curve: where it lies, and the parameter's value as the experiment gives it."""

    x: float
    label: str
    row: Row


@dataclass(frozen=True)
class Response:
    """A metric of a workload over one parameter, the others (``fixed``) held; points in the order of x."""

    key: str
    workload: str
    parameter: str
    fixed: str
    measure: str
    direction: str
    points: tuple[Point, ...]

    @property
    def logarithmic(self) -> bool:
        """Whether x is better seen on a logarithmic axis."""
        low, high = self.points[0].x, self.points[-1].x
        return low > 0 and high / low >= _LOG_FROM


def responses(rows: Sequence[Row]) -> list[Response]:
    """A curve for each numeric parameter with two values or more, in each setting of the others."""
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in rows:
        for name in row.parameters:
            others = {other: value for other, value in row.parameters.items() if other != name}
            group = row.question.workload, row.question.metric, name, json.dumps(others, sort_keys=True)
            groups.setdefault(group, []).append(row)
    found: list[Response] = []
    # The curves over one parameter stand together, whatever the others are.
    first = {(*key[:3],): place for place, key in reversed([*enumerate(groups)])}
    for (workload, _, name, rest), of_group in sorted(groups.items(), key=lambda group: first[group[0][:3]]):
        places = positions([row.parameters[name] for row in of_group])
        if places is not None:
            points = [Point(x, str(row.parameters[name]), row) for x, row in zip(places, of_group, strict=True)]
            points.sort(key=lambda point: point.x)
            one = of_group[0]
            key = f"response-{len(found) + 1}"
            found.append(
                Response(key, workload, name, telling.spelled(rest), one.measure, one.question.direction, tuple(points))
            )
    return found


def positions(values: Sequence[Any]) -> list[float] | None:
    """Where the values of a parameter lie, as numbers of one unit; None where they are not two or more of one kind.

    Numbers are taken as they are; texts are numbers with a unit of time or of size, or without one.
    """
    if len(set(map(str, values))) < 2:
        return None
    for units in ({"": 1}, TIME_NS, SIZE_BYTES):
        places = [_quantity(value, units) for value in values]
        known = [place for place in places if place is not None]
        if len(known) == len(places):
            return known if len(set(known)) > 1 else None
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
