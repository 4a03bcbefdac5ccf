"""The wording of summaries: names of rows without what they share, statistics of values, explanations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from schedlab.report.document import Report, Row
from schedlab.report.words import (
    CHANGE_SIGN,
    HasRow,
    HasUnit,
    emulated_speed,
    measure,
    parameters,
    rare_events,
    rises_from_0,
    row_name,
)
from schedlab.results.words import Word

Shared = Mapping[str, Mapping[str, Any]]
"""The parameters that all rows of a workload have in common, by workload."""


def shared_parameters(rows: Sequence[HasRow]) -> Shared:
    """Return the parameters that a summary need not repeat in each row."""
    by_workload: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_workload.setdefault(row.workload, []).append(row.parameters)
    return {
        workload: {
            name: value
            for name, value in of_rows[0].items()
            if all(name in of_row and of_row[name] == value for of_row in of_rows)
        }
        for workload, of_rows in by_workload.items()
    }


def short_name(row: HasRow, shared: Shared) -> str:
    """Name a row without the shared parameters: ``hackbench groups=2 time``."""
    common = shared[row.workload]
    own = parameters({name: value for name, value in row.parameters.items() if name not in common})
    return " ".join(part for part in (row.workload, own, row.metric) if part)


def is_tied(row: Row, first: Row) -> bool:
    """Return whether a row is the same fact as an earlier row."""
    same = (row.workload, row.parameters) == (first.workload, first.parameters)
    return same and row.tied_to == first.metric


def summary_name(row: HasUnit, shared: Shared, tied: Sequence[HasUnit]) -> str:
    """Name a row with its unit and the metrics that are tied to it: ``pgbench tps [1/s] and latency [s]``."""
    others = dict.fromkeys(measure(each.metric, each.unit) for each in tied)
    return " and ".join([measure(short_name(row, shared), row.unit), *others])


def summary_notes(report: Report, shared: Shared) -> Iterator[str]:
    """Explain the cells of a summary, and name the parameters that its rows share."""
    for workload, common in shared.items():
        if common:
            yield f"{workload}: {parameters(common)}"
    if equivalent := [row for row in report.rows if row.verdict is Word.EQUIVALENT and not row.control]:
        yield f"{Word.EQUIVALENT}: within ±{100 * report.judging.delta:g} %; {rare_events(equivalent)}"
    tied = " Figures joined by 'and' are one fact with one verdict." if any(row.tied_to for row in report.rows) else ""
    yield f"change against {report.baseline}: {CHANGE_SIGN}; the word says which is better.{tied}"


def direction_of(row: Row) -> Word:
    """Return which word the change of a row would be if it were confirmed."""
    rises = rises_from_0(row) or (row.ratio is not None and row.ratio > 1)
    return Word.BETTER if rises == (row.direction == "higher") else Word.WORSE


def value_heading(rows: Sequence[Row]) -> str:
    """Name the statistic of the rows' values: ``mean``, ``median``, or ``value`` if the rows differ."""
    names = {_statistic(row) for row in rows}
    return names.pop() if len(names) == 1 else "value"


def statistic_of_value(row: Row, rows: Sequence[Row]) -> str:
    """Return the statistic of a row's value, if the heading does not name it."""
    return _statistic(row) if value_heading(rows) == "value" else ""


def _statistic(row: Row) -> str:
    return "median" if row.statistic == "ranks" else "mean"


def link(row: HasRow, report: Report) -> str:
    """Return the address of a row's details in a page; empty without details."""
    names = (plotted.key for plotted in report.plotted if row_name(plotted) == row_name(row))
    return f"#{key}" if (key := next(names, "")) else ""


def emulated_times(report: Report) -> bool:
    """Return whether a verdict is on times of an emulated machine."""
    return any(emulated_speed(row.kind.split("/"), row.unit) for row in report.rows)
