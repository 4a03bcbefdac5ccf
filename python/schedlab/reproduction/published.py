"""The published figures of the five reports (``reports/*/published.toml``).

A report has tables. A table has columns, each of a kernel or a setting, and rows, each of a parameter value. A cell
has the figures of one or several runs. An *effect* is the gain of one column over another in one row, in per cent. It
is positive where the column is better.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import log, sqrt
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from scipy import stats

from schedlab.errors import SchedlabError

FOLDER = Path(__file__).parent / "reports"

ASSUMED_NOISE = 1.0
"""Smallest effect that counts where a report prints no noise, in per cent: reports call smaller effects flat."""

GUEST = "guest"
"""Name of a report's experiment on a real kernel in a deterministic guest."""

LEVEL = 0.05
"""Two-sided significance level of an effect with runs or standard errors."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _list(value: object) -> object:
    return value if isinstance(value, list) else [value]


Figures = Annotated[list[float], BeforeValidator(_list), Field(min_length=1)]
"""The figures of one cell, one for each run; a number alone is one run."""


class Row(_Table):
    """A printed row: ``at`` is the parameter's value, ``values`` has a cell for each column.

    ``stars`` says for each column but the first whether the report marks its difference from the first as significant.
    ``errors`` are relative standard errors of the means, in per cent, in the order of the figures.
    """

    at: int | str
    values: list[Figures]
    stars: list[bool] | None = None
    errors: list[Figures] | None = None


class PublishedTable(_Table):
    """A printed table, and the rows of the experiment that simulate it.

    Attributes:
        experiment: name of the experiment's file in the folder of the report.
        workload: label in that experiment; ``parameter`` distinguishes the rows, "" for a single row.
        metric: metric of the workload, or a counter of the simulator (``sim.…``).
        variants: the experiment's variant for each column.
        scale: printed units in one unit of the simulated metric.
        noise: where the report's noise comes from: its stars, its repeated runs, its standard errors; ``assumed``: the
            report prints no noise; ``all``: the report says that all differences are within the noise.
        steps: compare each column with the column before it, not with the first.
        levels: whether the figures of the first column can be compared with simulated figures.
        scored: whether the effects count in the scores.
        counted: figures of the report's guest: the metric as a number of instructions, with the unit for which they are
            executed (``instructions/MB``), or counters.
        guest_workload: label in the guest's experiment if it differs.
    """

    title: str
    experiment: str
    workload: str
    parameter: str
    metric: str
    unit: str
    better: Literal["higher", "lower"]
    columns: list[str]
    variants: list[str]
    noise: Literal["stars", "runs", "errors", "assumed", "all"]
    rows: list[Row]
    scale: float = 1.0
    steps: bool = False
    levels: bool = True
    scored: bool = True
    counted: list[str] = []
    guest_workload: str | None = None

    @model_validator(mode="after")
    def _complete(self) -> PublishedTable:
        for row in self.rows:
            lengths = {len(self.columns), len(self.variants), len(row.values)}
            marked = len(row.stars) + 1 if row.stars is not None else len(self.columns)
            if len(lengths | {marked}) != 1:
                raise ValueError(f"{self.title}, row {row.at}: columns, variants, values and stars differ in number")
            if (self.noise == "stars") != (row.stars is not None) or (self.noise == "errors") != (
                row.errors is not None
            ):
                raise ValueError(f"{self.title}, row {row.at}: stars or errors do not fit noise {self.noise!r}")
        return self

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Indices of the compared columns: (column, its baseline)."""
        return [(column, column - 1 if self.steps else 0) for column in range(1, len(self.columns))]


class Check(_Table):
    """A condition on simulated effects: all gains of a column within ``gain``, or all factors within ``factor``.

    ``factor`` is the baseline's figure divided by the figure of the column. A check without ``column`` selects all
    columns, and a check without ``from`` and ``to``, which go together, all rows. ``rising`` is a condition on the
    first column of all rows: figures within these bounds, in the printed unit, each above the figure of the row before.
    """

    table: str
    column: str | None = None
    first: int | None = Field(None, alias="from")
    last: int | None = Field(None, alias="to")
    gain: tuple[float, float] | None = None
    factor: tuple[float, float] | None = None
    rising: tuple[float, float] | None = None

    @model_validator(mode="after")
    def _one_bound(self) -> Check:
        if sum(bounds is not None for bounds in (self.gain, self.factor, self.rising)) != 1:
            raise ValueError(f"a check of {self.table!r} needs exactly one of gain, factor and rising")
        return self

    @model_validator(mode="after")
    def _both_ends(self) -> Check:
        if (self.first is None) != (self.last is None):
            raise ValueError(f"a check of {self.table!r} has only one of from and to, which go together")
        return self

    def selects(self, table: PublishedTable, row: Row, column: int) -> bool:
        """Return whether the check is about this effect."""
        if table.title != self.table or self.column not in (None, table.columns[column]):
            return False
        if self.first is None or self.last is None:
            return True
        return isinstance(row.at, int) and self.first <= row.at <= self.last


class Headline(_Table):
    """A finding of the report, in words, and the conditions that the simulation has to meet."""

    text: str
    checks: list[Check] = Field(min_length=1)


class PublishedReport(_Table):
    """A report.

    Attributes:
        kernel: differences between the kernel and machine of report and simulation.
        guest: differences between the report and its guest with a real kernel, or why there is no guest.
    """

    number: str
    title: str
    author: str
    published: str
    kernel: str
    guest: str
    table: list[PublishedTable]
    headline: list[Headline]

    @model_validator(mode="after")
    def _checks_exist(self) -> PublishedReport:
        for headline in self.headline:
            for check in headline.checks:
                if not (self.levels_of(check) if check.rising else any(check.selects(*place) for place in self.places)):
                    raise ValueError(f"headline {headline.text!r}: no row of {check.table!r} is selected")
        return self

    @property
    def places(self) -> Iterator[tuple[PublishedTable, Row, int]]:
        """Yield table, row and column of each effect."""
        for table in self.table:
            for row in table.rows:
                yield from ((table, row, column) for column, _ in table.pairs)

    def levels_of(self, check: Check) -> list[Row]:
        """Return the rows whose figures in the first column a check of ``rising`` compares."""
        return [row for table in self.table if table.title == check.table and table.levels for row in table.rows]


@dataclass(frozen=True)
class Effect:
    """A published effect.

    Attributes:
        gain: per cent; positive where the column is better than its baseline.
        error: standard error of the gain in points; None where the report prints no figures of its noise.
        significant: whether the gain is beyond the report's noise.
    """

    gain: float
    error: float | None
    significant: bool


def effect(table: PublishedTable, row: Row, column: int, baseline: int) -> Effect:
    """Return the published effect of a column in a row."""
    gain = gain_of(float(np.mean(row.values[baseline])), float(np.mean(row.values[column])), table.better)
    match table.noise:
        case "stars":
            assert row.stars is not None
            return Effect(gain, None, row.stars[column - 1])
        case "assumed":
            return Effect(gain, None, abs(gain) > ASSUMED_NOISE)
        case "all":
            return Effect(gain, None, False)
        case "errors":
            assert row.errors is not None
            error = sqrt(sum(_error_of_mean(row.errors[index]) ** 2 for index in (column, baseline)))
            return Effect(gain, error, abs(gain) > error * float(stats.norm.ppf(1 - LEVEL / 2)))
        case "runs":
            deviation, freedom = _run_deviation(row)
            if not freedom:
                return Effect(gain, None, False)
            error = deviation * sqrt(1 / len(row.values[column]) + 1 / len(row.values[baseline]))
            return Effect(gain, error, abs(gain) > error * float(stats.t.ppf(1 - LEVEL / 2, freedom)))


def gain_of(before: float, after: float, better: str) -> float:
    """Return the gain in per cent: the change, with its sign turned where lower is better."""
    change = 100 * (after / before - 1)
    return change if better == "higher" else -change


def _error_of_mean(errors: Sequence[float]) -> float:
    """Return the standard error of the mean of independent runs from the runs' standard errors."""
    return sqrt(sum(error**2 for error in errors)) / len(errors)


def _run_deviation(row: Row) -> tuple[float, int]:
    """Return the standard deviation of a run in per cent, pooled over the row's cells, and its degrees of freedom."""
    cells = [[log(value) for value in cell] for cell in row.values if len(cell) > 1]
    freedom = sum(len(cell) - 1 for cell in cells)
    squares = sum(float(np.var(cell)) * len(cell) for cell in cells)
    return (100 * sqrt(squares / freedom) if freedom else 0.0), freedom


def names() -> list[str]:
    """Return the reports' names, in the order of their numbers."""
    return sorted((folder.name for folder in FOLDER.iterdir() if folder.is_dir()), key=lambda name: report(name).number)


@cache
def report(name: str) -> PublishedReport:
    """Return the report of this name."""
    return PublishedReport.model_validate(tomllib.loads(figures_file(name).read_text(encoding="utf-8")))


def name_of(word: str) -> str:
    """Return the name of the report with this name or number; SchedlabError if there is no such report."""
    numbers = {name: report(name).number for name in names()}
    for name, number in numbers.items():
        if word in (name, number):
            return name
    listed = ", ".join(f"{name} ({number})" for name, number in numbers.items())
    raise SchedlabError(f"there is no report {word!r}", todo=f"reports: {listed}")


def figures_file(name: str) -> Path:
    """Return the file of a report's published figures."""
    return FOLDER / name / "published.toml"


def guest_file(name: str) -> Path | None:
    """Return the file of a report's experiment on a real kernel, or None."""
    file = experiment_file(name, GUEST)
    return file if file.exists() else None


def experiment_file(name: str, experiment: str) -> Path:
    """Return the file of a report's experiment."""
    return FOLDER / name / f"{experiment}.toml"
