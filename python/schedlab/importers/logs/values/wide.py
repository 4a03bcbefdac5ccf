"""A column of numbers for each variant (``base,patched``): a sample a row."""

from __future__ import annotations

from schedlab.importers.logs.base import Log, Reading, Samples
from schedlab.importers.logs.values.grid import Grid, Row
from schedlab.importers.logs.values.metrics import Metrics, said_direction
from schedlab.importers.logs.values.roles import Roles
from schedlab.importers.logs.values.tidy import WORKLOAD, gather, missing_values, parameters_of
from schedlab.importers.logs.words import direction_of

_TOLD = ("workload", "metric", "unit", "direction")


def is_wide(grid: Grid, roles: Roles) -> bool:
    """Whether the numbers are variants: two or more, none of them called after something that is measured."""
    named = {"variant", "value"} & roles.single.keys()
    return not named and len(roles.numeric) > 1 and not any(direction_of(grid.names[i]) for i in roles.numeric)


def read(log: Log, grid: Grid, roles: Roles) -> Reading:
    """A sample for each row and variant; other columns tell the rows apart."""
    given = sorted({*roles.parameters, *roles.labels})
    telling = [*given, *(roles.single[role] for role in _TOLD if role in roles.single)]
    gathered, missing = gather(grid, roles.numeric, telling)
    metrics = Metrics()
    # The file's name may say what its numbers are: "throughput.csv".
    unnamed = log.column if direction_of(log.column) else "value"

    def word(row: Row, role: str) -> str:
        return row.cells[roles.single[role]] if role in roles.single else ""

    samples = []
    for row, index, found in gathered:
        hints = f"{word(row, 'workload')} {' '.join(row.cells[label] for label in roles.labels)} {log.column}"
        name, direction = word(row, "metric") or unnamed, said_direction(word(row, "direction"))
        metric = metrics.of(name, word(row, "unit"), direction, hints)
        workload = word(row, "workload") or WORKLOAD
        samples.append(Samples(workload, metric, parameters_of(grid, row, given), found, grid.names[index]))
    return Reading(samples, notes=[*missing_values(log, missing), *metrics.notes(log.name)])
