"""What a column of values is, by its name: who was measured, what, under which parameters, or the figure itself."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from schedlab.importers.logs.values.grid import Grid
from schedlab.importers.logs.words import unit_of

_NAMES = {
    "variant": "variant column config configuration kernel branch build version revision commit scheduler setup",
    "workload": "workload benchmark test name program suite case command fullname",
    "metric": "metric measure quantity counter event operation",
    "unit": "unit units",
    "direction": "direction better",
    "value": "value result measurement reading",
    "block": "block boot",
    "index": "iteration iter index sample sample_no run repetition rep round no # id time_stamp timestamp date",
}
_ROLES = {name: role for role, names in _NAMES.items() for name in names.split()}

_PARAMETERS = re.compile(
    r"param(eter)?s?(:.*)?|groups?|clients?|threads?|workers?|jobs|tasks?|process(es)?|size|bytes|loops?|cpus?|cores?|nodes?"
    r"|fds|nr_\w+|num_\w+|n_\w+|depth|concurrency|connections|messages|interval|duration|protocol|mode|ipc|scale|load"
    r"|nice|policy|priority|request|reply|pairs"
)


@dataclass(frozen=True)
class Roles:
    """Indices of a grid's columns by what they are: ``numeric`` may be figures, ``labels`` are other words."""

    single: dict[str, int] = field(default_factory=dict)
    parameters: tuple[int, ...] = ()
    numeric: tuple[int, ...] = ()
    labels: tuple[int, ...] = ()


def plain(name: str) -> str:
    """A column's name as it is looked up: without its unit, in small letters."""
    return unit_of(name)[0].lower().strip()


def roles_of(grid: Grid) -> Roles:
    """The role of every column; the first of a kind is taken, more of it are words."""
    single: dict[str, int] = {}
    parameters, numeric, labels = [], [], []
    for index, name in enumerate(grid.names):
        role = _ROLES.get(plain(name)) or ("index" if not name else "")
        if role in ("value", "index") and not grid.is_numeric(index):
            # "run" counts runs, or names what was run; a time of day is neither.
            role = "variant" if plain(name) in ("run", "rep") else "index" if role == "index" else ""
        if role and role not in single:
            single[role] = index
        elif _PARAMETERS.fullmatch(plain(name)):
            parameters.append(index)
        elif grid.is_numeric(index):
            numeric.append(index)
        else:
            labels.append(index)
    return Roles(single, tuple(parameters), tuple(numeric), tuple(labels))
