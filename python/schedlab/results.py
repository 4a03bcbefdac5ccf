"""Imported results: series of samples, and printed tables where the source contains only summaries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from schedlab.errors import SchedlabError

Direction = Literal["lower", "higher"]
"""Which values of a metric are better."""

Spread = Literal["", "standard deviation", "standard error", "unknown"]
"""Kind of a printed ±: standard deviation of the samples, standard error of their mean, or not stated."""

_UNSHOWABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters, which act on terminals, and unpaired surrogates, which no file can hold."""


class ImportProblem(SchedlabError):
    """A source that cannot be read as results; nothing of it was imported."""


def showable(text: str) -> str:
    """Replace characters that cannot be shown or stored by U+FFFD."""
    return _UNSHOWABLE.sub("\ufffd", text)


@dataclass(frozen=True)
class Series:
    """The samples of one row in one column.

    Attributes:
        column: the run that they belong to (``base``, ``5.14-vanilla``); columns are compared.
        workload: ``hackbench-process-pipes``, ``tbench``, ``netperf-tcp``.
        metric: the field's name, with its unit and direction beside it (``throughput``, ``MB/s``, ``higher``).
        parameters: what tells the rows of one metric apart, by name (``{"clients": 4}``).
        values: shape (samples,), in the order in which they were taken.
        source: the file that they were read from.
        label: how the source's own report calls the row (``tput-4``); empty where it has none.
        block: which repetition of the whole benchmark, from 1: samples of one block are not independent.
        decimals: how many its own report prints; None: as many as suit the values.
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
    """One printed figure of a table; None wherever the source prints nothing, or prints that there is nothing.

    ``gain`` is the printed change in per cent as the source signs it, ``star`` whether it was marked significant (None
    in tables without marks). ``spread_percent`` is a printed spread, relative to the value, of ``spread_kind``: the
    standard error of the mean (``perf stat``'s ``+-``) or the standard deviation (``%stddev``); ``n`` the repeats
    behind it where told.
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
    ``direction`` is None where neither the operation, the workload nor the printed gains tell.
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
    """A printed table: the first column is the baseline unless ``baseline`` names another.

    ``layout`` is the kind of table (``mmtests``, ``perf-stat``, ``0-day``, ``columns``, ...), ``workload`` the
    benchmark as far as the text around it tells, ``title`` the words printed above it, ``line`` where it begins.
    ``gains`` says what the printed percentages are: an ``improvement``, positive where the variant is better (MMTests),
    or a plain ``change``, positive where its value is larger.
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
class Import:
    """All that one path held. ``format`` is the reader's name, ``notes`` what a user should know of what was left out.

    ``columns`` are the series' columns in their order, the baseline first.
    """

    format: str
    source: str
    columns: tuple[str, ...] = ()
    series: tuple[Series, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = field(default=())
