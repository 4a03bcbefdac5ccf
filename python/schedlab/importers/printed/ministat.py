"""Runs in rows with the statistics of ministat, and the change of the mean.

    Kernel     N  Min       Max       Median    Avg        Stddev     %Change
    v6.5       5  4664647   5148125   5130549   5043050.2  211756.06
    +patch     5  4769453   5220808   5137476   5040333.8  193586.43  -0.0538642

The reader transposes the table: runs become columns. ``Stddev`` is the standard deviation of the N samples.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from schedlab.importers.checks import unique
from schedlab.importers.printed.lines import Line, Part, malformed, title_above
from schedlab.importers.printed.possible_tables import trailing_figures
from schedlab.results.imported import Cell, Table, TableRow
from schedlab.workloads.titles import benchmark

_HEADER = re.compile(r"\s*Kernel\s+N\s+Min\s+Max\s+Median\s+Avg\s+Stddev(?P<change>\s+%Change)?\Z")
_FIGURE = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_CHANGE = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_METRICS = ("Min", "Max", "Median", "Avg")
_COLUMNS = ("N", *_METRICS, "Stddev")
_LONGEST_LINE = 300


@dataclass(frozen=True)
class _Row:
    """A run, its figures as printed by their columns, and the printed change or ""."""

    run: str
    figures: dict[str, str]
    change: str


def read(lines: Sequence[Line], at: int, floor: int, source: str) -> Part | None:
    """Return the table whose header is ``lines[at]``; None for other lines.

    Raises:
        ImportProblem: a row cannot be read, or not exactly the first run lacks a change.
    """
    header = _HEADER.match(lines[at].text[:_LONGEST_LINE])
    if header is None:
        return None
    rows, end = list[_Row](), at + 1
    while end < len(lines) and trailing_figures(lines[end].text[:_LONGEST_LINE]):
        row = _row(lines[end].text, with_change=header["change"] is not None and bool(rows))
        if row is None:
            why = "expected a run, N, Min, Max, Median, Avg, Stddev, and a change in all rows but the first"
            raise malformed(source, lines[end], why)
        rows.append(row)
        end += 1
    if len(rows) < 2:
        return None
    title = title_above(lines, at, floor)
    bench = benchmark(title)
    made = tuple(
        TableRow(metric, "", {}, "", None, tuple(_cell(row, metric) for row in rows), lines[at].number)
        for metric in _METRICS
    )
    columns = unique([row.run for row in rows])
    table = Table("runs in rows", title, bench.name if bench else "", columns, made, lines[at].number, gains="change")
    return Part(end, (table,))


def _row(text: str, *, with_change: bool) -> _Row | None:
    """Return a row; None if the figures are not a number of samples and ordered statistics."""
    words = text.split() if len(text) <= _LONGEST_LINE else []
    change = words.pop() if with_change and words else ""
    figures = words[-len(_COLUMNS) :]
    run = " ".join(words[: -len(_COLUMNS)])
    if not run or not all(map(_FIGURE.fullmatch, figures)) or not figures[0].isdecimal():
        return None
    if with_change and not _CHANGE.fullmatch(change):
        return None
    row = _Row(run, dict(zip(_COLUMNS, figures, strict=True)), change)
    low, high, *middle = (float(row.figures[metric]) for metric in _METRICS)
    return row if all(low <= value <= high for value in middle) else None


def _cell(row: _Row, metric: str) -> Cell:
    """Return the cell of a statistic. The change and the standard deviation are those of the mean."""
    text, count = row.figures[metric], int(row.figures["N"])
    value = float(text)
    if metric != "Avg":
        return Cell(value, text, n=count)
    return Cell(
        value=value,
        text=text,
        gain=float(row.change) if row.change else None,
        gain_text=row.change,
        spread_percent=100 * float(row.figures["Stddev"]) / value if value else None,
        spread_kind="standard deviation" if value else "",
        n=count,
    )
