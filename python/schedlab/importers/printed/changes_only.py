"""Changes in per cent without values, below a box of facts that states their meaning.

    Test          : Various longer running benchmarks
    Units         : %diff in throughput reported
    Interpretation: Higher is better
    ==================================================================
    Benchmarks:                 %diff
    ycsb-cassandra             -0.75%
    deathstarbench-1x           2.25%

Where higher is better, a positive change is an improvement. Where lower is better, nothing shows whether a positive
change is larger or better, and the changes are not read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from schedlab.importers.checks import unique
from schedlab.importers.printed.lines import Line, Part, is_rule
from schedlab.importers.printed.normalised_rows import (
    REMARK,
    Box,
    begins_as_row,
    box_above,
    remark_notes,
    row_parameters,
)
from schedlab.importers.printed.possible_tables import trailing_figures
from schedlab.results.imported import Cell, Table, TableRow
from schedlab.workloads.titles import benchmark

_PERCENT = r"[-+]?(?:0|[1-9]\d*)(?:\.\d+)? ?%"
_ROW = re.compile(rf"(?P<name>\S.*?):? (?P<changes>{_PERCENT}(?: {_PERCENT})*) ?(?P<remark>{REMARK})")
_ROW_END = re.compile(rf"\d ?%\s*{REMARK}\Z")
"""A cheap test for a row."""
_UNITS = re.compile(r"% ?diff\b(?:.*\b(?:compared|relative) to (?P<baseline>\S+))?", re.IGNORECASE)
_TORN = re.compile(r"(?:\A| )[-+]?\d*\.\d*(?= |\Z)")
"""A figure with a point within a row's name: the beginning of a torn figure."""
_LONGEST_LINE = 500
_FARTHEST_ROW = 3
"""Lines from the header to the first row."""


@dataclass(frozen=True)
class _Row:
    number: int
    name: str
    changes: tuple[str, ...]
    remark: str


def read(lines: Sequence[Line], at: int, floor: int) -> Part | None:
    """Return the changes whose header is ``lines[at]``; None for other lines."""
    header = lines[at].text[:_LONGEST_LINE]
    below = (line.text for line in lines[at + 1 : at + 1 + _FARTHEST_ROW] if line.text and not is_rule(line.text))
    if not header or is_rule(header) or not _is_row(next(below, "")) or _is_row(header):
        return None
    box = box_above(lines, at, floor)
    units = _UNITS.match(box.facts.get("units", ""))
    rows, end = _rows(lines, at + 1)
    if units is None or not rows:
        return None
    first, last = lines[at].number, rows[-1].number
    names = _names(header, rows)
    if box.direction != "higher" or names is None:
        reason = "their sign is not known" if names else "their columns are not known"
        return Part(end, notes=(f"lines {first}–{last}: changes without values are not read, since {reason}",))
    table = _table(rows, names, units["baseline"] or "baseline", box, first)
    return Part(end, (table,), tuple(remark_notes((row.number, row.remark) for row in rows)))


def _is_row(text: str) -> bool:
    return len(text) <= _LONGEST_LINE and _ROW_END.search(text) is not None


def _rows(lines: Sequence[Line], at: int) -> tuple[list[_Row], int]:
    """Return the rows from ``lines[at]``, which blank lines may separate, and the index after the last row.

    No rows if a row has another number of changes, or the name of another row.
    """
    rows, end = list[_Row](), at
    while at < len(lines) and at - end < 2:
        line, is_separate = lines[at], at > end
        at += 1
        if not line.text or is_rule(line.text):
            continue
        match = _ROW.fullmatch(" ".join(line.text.split())) if _is_row(line.text) else None
        if match is None or _TORN.search(match["name"]):
            is_row = not is_separate and trailing_figures(line.text[:_LONGEST_LINE]) > 0
            is_row = is_row or begins_as_row(line.text, [row.name for row in rows], separate=is_separate)
            return ([] if is_row else rows), end
        rows.append(_Row(line.number, match["name"], _changes(match["changes"]), match["remark"]))
        end = at
    is_regular = len({len(row.changes) for row in rows}) == 1 and len({row.name for row in rows}) == len(rows)
    return (rows if is_regular else []), end


def _changes(text: str) -> tuple[str, ...]:
    return tuple(text.replace(" ", "").removesuffix("%").split("%"))


def _names(header: str, rows: Sequence[_Row]) -> list[str] | None:
    """Return the names of the columns; None if the header does not name each column."""
    fields, count = re.split(r" {2,}", header.strip()), len(rows[0].changes)
    indent = len(header) - len(header.lstrip())
    labels = len(fields) - count
    is_complete = labels in (1, 2) or (labels == 0 and indent > max(len(row.name) for row in rows))
    return fields[labels:] if is_complete else None


def _table(rows: Sequence[_Row], names: Sequence[str], baseline: str, box: Box, line: int) -> Table:
    """Build the table. A column whose changes are all 0 is the baseline, otherwise a column without figures."""
    zero = [k for k in range(len(names)) if not any(float(row.changes[k]) for row in rows)]
    columns = [*names] if zero else [baseline, *names]
    missing = () if zero else (Cell(None),)
    bench = benchmark(box.facts["test"])
    made = (
        TableRow(
            row.name,
            "",
            row_parameters("case", row.name, alone=True),
            "",
            "higher",
            (*missing, *(Cell(None, gain=float(text) + 0.0, gain_text=text) for text in row.changes)),  # not -0.0
            row.number,
        )
        for row in rows
    )
    workload = bench.name if bench else ""
    return Table("changes", box.title, workload, unique(columns), tuple(made), line, baseline=zero[0] if zero else 0)
