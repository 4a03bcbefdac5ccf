"""Imported results: series of samples, and printed tables where the source contains only summaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from schedlab.errors import SchedlabError
from schedlab.results.metrics import Direction

Spread = Literal["", "standard deviation", "standard error", "unknown"]
"""Kind of a printed ±: standard deviation of the samples, standard error of their mean, or not stated."""


def showable(text: str) -> str:
    """Return the text in a printable form.

    U+FFFD replaces characters that act on terminals, reorder text or cannot be stored. A plain space replaces all other
    kinds of space.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text)


class ImportProblem(SchedlabError):
    """Error for a source that cannot be read as results. Nothing of the source was imported. The error's texts
    contain no control characters."""

    def __init__(self, what: str, *, where: str = "", todo: str = "") -> None:
        super().__init__(showable(what), where=showable(where), todo=showable(todo))


@dataclass(frozen=True)
class Series:
    """The samples of one row in one column.

    Attributes:
        column: name of the run (``base``, ``5.14-vanilla``); columns are compared.
        workload: name of the benchmark (``hackbench``, ``tbench``, ``netperf-rr``).
        metric: name of the metric (``throughput``).
        unit: unit of the metric (``MB/s``).
        direction: better direction of the metric (``higher``).
        parameters: parameters that distinguish the rows of one metric (``{"clients": 4}``).
        values: shape (samples,), in the order of measurement.
        source: path of the file with the samples.
        label: name of the row in the report of the source (``tput-4``); empty where the source has no names.
        block: repetition of the whole benchmark, from 1; samples of one block are not independent.
        decimals: number of decimals in the report of the source; None to choose the decimals by the values.
    """

    column: str
    workload: str
    metric: str
    unit: str
    direction: Direction
    parameters: Mapping[str, str | int | float]
    values: NDArray[np.float64]
    source: str
    label: str = ""
    block: int = 1
    decimals: int | None = None


@dataclass(frozen=True)
class Cell:
    """One printed figure of a table; fields are None where the source prints no figure or marks a missing figure.

    Attributes:
        value: the figure.
        text: the figure as printed.
        gain: printed change in per cent, with the sign of the source.
        gain_text: the change as printed.
        star: whether the source marks the change as significant; None in tables without marks.
        spread_percent: printed spread, relative to the value.
        spread_kind: standard error of the mean (``perf stat``'s ``+-``) or standard deviation (``%stddev``).
        n: number of repeats, where the source prints it.
    """

    value: float | None
    text: str = ""
    gain: float | None = None
    gain_text: str = ""
    star: bool | None = None
    spread_percent: float | None = None
    spread_kind: Spread = ""
    n: int | None = None


@dataclass(frozen=True)
class TableRow:
    """One line of a printed table: an operation (``Hmean``, ``Min``, ``Elapsed``) over one set of parameters.

    ``label`` is the rest of the row's head as printed (``mb/sec-64``), ``line`` its number in the source, from 1.
    ``direction`` is None where it follows from neither the operation, the workload nor the printed gains.
    """

    operation: str
    label: str
    parameters: Mapping[str, str | int | float]
    unit: str
    direction: Direction | None
    cells: tuple[Cell, ...]
    line: int


@dataclass(frozen=True)
class Table:
    """A printed table.

    Attributes:
        layout: kind of table (``mmtests``, ``perf-stat``, ``0-day``, ``columns``, ...).
        title: text printed above the table.
        workload: name of the benchmark; empty where the source does not name it.
        columns: names of the columns.
        rows: the rows, each with a cell for each column.
        line: first line of the table in the source, from 1.
        baseline: index of the baseline among the columns.
        gains: meaning of the printed percentages. An ``improvement`` is positive where the variant is better (MMTests),
            a ``change`` is positive where the value is larger.
    """

    layout: str
    title: str
    workload: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    line: int
    baseline: int = 0
    gains: Literal["improvement", "change"] = "improvement"


@dataclass(frozen=True)
class Origin:
    """Where and when the samples of a column were measured, as their source states it.

    Attributes:
        kernel: the kernel's release; empty where the source does not state it.
        host: name of the machine; empty where the source does not state it.
        started: seconds since 1970, UTC; None where the source does not state it.
    """

    kernel: str = ""
    host: str = ""
    started: float | None = None


NOT_STATED = Origin()
"""The origin of a source that states neither kernel, host nor date."""


@dataclass(frozen=True)
class Import:
    """Content of one path.

    Attributes:
        format: name of the reader.
        source: the path.
        columns: columns of the series in their order, the baseline first.
        series: samples.
        tables: printed tables.
        notes: messages for users about data that was left out or assumed.
        understood: how the first lines of tables of a stated layout were divided, for a dry run.
        undirected: samples whose better direction neither the source nor the reader states. They are imported only
            with the user's statement; until then their ``direction`` has no meaning.
        origins: origin of the samples of each column whose source states one.
    """

    format: str
    source: str
    columns: tuple[str, ...] = ()
    series: tuple[Series, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = field(default=())
    understood: tuple[str, ...] = ()
    undirected: tuple[Series, ...] = ()
    origins: Mapping[str, Origin] = field(default_factory=dict)

    def by_column(self) -> dict[str, list[Series]]:
        """Return the series of each column that has any, columns in their order."""
        found: dict[str, list[Series]] = {column: [] for column in self.columns}
        for series in self.series:
            if series.column in found:
                found[series.column].append(series)
        return {column: of_column for column, of_column in found.items() if of_column}
