"""Instructions of kernel paths, from a stored run of ``schedlab cost``: by path and column, under each random seed.

A column is a kernel, or a variant of a kernel. A variant is compared with its kernel without changes, a kernel with the
first kernel, and the A/A control with the column that it repeats.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import polars as pl

from schedlab.experiment.plan import CONTROL
from schedlab.findings.run import Findings
from schedlab.store import reader

METRIC = "latency-p50"

IDLE = ("sleep",)
"""Paths in which all CPUs are idle. The guest's clock skips idle time, so that only the plug-in counts instructions."""

MANY_MESSAGES = ("unix-queue",)
"""Paths of 1000 messages for each operation, which are measured only if they are named."""

BETWEEN_CPUS = ("remote-round", "remote-unix", "remote-tcp", "remote-udp", "fork-round")
"""Paths that need CPUs 0 and 1."""


def label(parameters: str) -> str:
    """Return a path's name in tables, ``tcp`` or ``tcp:4096`` with the bytes of its messages, from its parameters."""
    given = json.loads(parameters)
    return f"{given['path']}:{given['size']}" if "size" in given else str(given["path"])


Sums = Mapping[tuple[str, str], Mapping[int, float]]
"""Instructions that the plug-in has counted, by path and column, then by random seed (block)."""


@dataclass(frozen=True)
class Cell:
    """Instructions of one path in one column, by random seed (block), beside the compared column.

    Seeds without a figure in this column are left out of ``values``.
    """

    path: str
    column: str
    values: Mapping[int, float]
    compared: Mapping[int, float]

    @property
    def mean(self) -> float | None:
        """Arithmetic mean over the seeds; None without a figure."""
        return sum(self.values.values()) / len(self.values) if self.values else None

    @property
    def differences(self) -> list[float]:
        """Difference to the compared column under each common seed, rounded to tenths of an instruction."""
        return [round(value - self.compared[seed], 1) for seed, value in self.values.items() if seed in self.compared]

    @property
    def share(self) -> float | None:
        """Mean difference as a share of the compared column; None without common seeds."""
        common = [self.compared[seed] for seed in self.values if seed in self.compared]
        return sum(self.differences) / sum(common) if common and sum(common) else None

    @property
    def exact(self) -> bool:
        """Whether at least two seeds give the same difference."""
        return len(self.differences) > 1 and len(set(self.differences)) == 1


@dataclass(frozen=True)
class Cost:
    """The table of a run.

    Attributes:
        run: the stored run.
        paths: the measured paths, in the order of the command.
        columns: the kernels and their variants, without the A/A control.
        against: the column that each other column is compared with.
        cells: a cell for each path and column, by path, then by column.
        control: a cell of the A/A control for each path.
        titles: subjects of the last patches of built kernels, by column.
    """

    run: reader.Run
    paths: tuple[str, ...]
    columns: tuple[str, ...]
    against: Mapping[str, str]
    cells: Mapping[tuple[str, str], Cell]
    control: tuple[Cell, ...]
    titles: Mapping[str, str] = field(default_factory=dict)

    @property
    def loops(self) -> int:
        """Number of operations in a trial. The figure of a trial is the median of its operations."""
        (question, *_) = self.run.design.questions
        return int(json.loads(question.parameters).get("loops", 0))


def cost(
    judged: Findings,
    against: Mapping[str, str],
    titles: Mapping[str, str] = MappingProxyType({}),
    counted: Sums = MappingProxyType({}),
) -> Cost:
    """Return the table of a finished run.

    ``against`` names the compared column of each column but the first, ``titles`` the subjects of patches by column.
    Paths of :data:`IDLE` have the figures of ``counted`` only.
    """
    values = judged.values.filter(pl.col("metric") == METRIC)
    figures: dict[tuple[str, str], dict[int, float]] = {}
    for row in values.iter_rows(named=True):
        path = label(row["parameters"])
        if path not in IDLE:
            figures.setdefault((path, row["variant"]), {})[row["block"]] = row["value"]
    figures |= {cell: dict(seeds) for cell, seeds in counted.items() if cell[0] in IDLE}
    questions = judged.run.design.questions
    paths = tuple(dict.fromkeys(label(each.parameters) for each in questions))
    columns = tuple(column.variant for column in judged.columns if column.variant != CONTROL)

    def cell(path: str, column: str, compared: str | None) -> Cell:
        other = {} if compared is None else figures.get((path, compared), {})
        return Cell(path, column, figures.get((path, column), {}), other)

    cells = {(path, column): cell(path, column, against.get(column)) for path in paths for column in columns}
    control = tuple(cell(path, CONTROL, columns[0]) for path in paths if judged.run.design.control)
    return Cost(judged.run, paths, columns, against, cells, control, titles)


def disagreeing(control: Sequence[Cell]) -> list[Cell]:
    """Return the cells of the A/A control that differ from their column under any seed, or lack a figure."""
    return [cell for cell in control if not cell.differences or any(cell.differences)]
