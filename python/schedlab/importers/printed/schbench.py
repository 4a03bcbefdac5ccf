"""Percentiles of schbench, the outputs of several runs side by side.

    first                  |  second                  | third
    50.0th: 56 (50 samples)   |    50.0th: 49 (51 samples)  | 50.0th: 53 (52 samples)
    *99.0th: 120 (9 samples)  |   *99.0th: 100 (9 samples)  | *99.0th: 108 (8 samples)

Each output has its own label in the line, so the columns are runs. The percentiles are latencies in microseconds,
unless the heading calls the percentiles requests a second.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from schedlab.importers.checks import unique
from schedlab.importers.printed.lines import Line, Part, title_above
from schedlab.results.imported import Cell, Table, TableRow
from schedlab.results.metrics import Direction

_CELL = re.compile(
    r"\s*\*?(?P<label>\d\d(?:\.\d+)?th):\s+(?P<value>\d+(?:\.\d+)?)\s*(?:\(\d+ samples\))?\s*(?:\||\Z|(?=\s\s))"
)
_OTHER_LINE = re.compile(r"\s*(?:min|max|avg|average|current)\b.*\|")
_RATES = re.compile(r"\brps\b|requests", re.IGNORECASE)
_LATENCIES = re.compile(r"schbench|latency percentiles \(usec\)", re.IGNORECASE)
_LONGEST_LINE = 1000
_FARTHEST_HEADING = 14


def read(lines: Sequence[Line], at: int, floor: int) -> Part | None:
    """Return the table whose first row is ``lines[at]``; None if the line does not have percentiles side by side."""
    first = _row(lines[at])
    if first is None:
        return None
    rows, notes, end = [first], list[str](), at + 1
    while end < len(lines):
        row = _row(lines[end])
        if row is not None and len(row.cells) == len(first.cells):
            rows.append(row)
        elif len(lines[end].text) <= _LONGEST_LINE and _OTHER_LINE.match(lines[end].text):
            notes.append(
                f'line {lines[end].number}: left out, because the line has no percentile: "{lines[end].text.strip()}"'
            )
        else:
            break
        end += 1
    columns, top = _columns(lines, at, floor, len(first.cells))
    title = title_above(lines, top, floor)
    above = [lines[place].text for place in range(max(floor, top - _FARTHEST_HEADING), top)]
    headings = "\n".join(text for text in above if len(text) <= _LONGEST_LINE)
    direction: Direction | None = None
    unit = ""
    if _RATES.search(title):
        direction, unit = "higher", "requests/s"
    elif _LATENCIES.search(headings):
        direction, unit = "lower", "us"
    finished = tuple(TableRow(row.operation, "", {}, unit, direction, row.cells, row.line) for row in rows)
    return Part(end, (Table("columns", title, "schbench", columns, finished, lines[top].number),), tuple(notes))


def _row(line: Line) -> TableRow | None:
    """Return a row if the line has at least two cells and all of them have the same label."""
    if "th:" not in line.text or len(line.text) > _LONGEST_LINE:
        return None
    matches, at = list[re.Match[str]](), 0
    while at < len(line.text) and (match := _CELL.match(line.text, at)):
        matches.append(match)
        at = match.end()
    if line.text[at:].strip() or len(matches) < 2 or len({match["label"] for match in matches}) > 1:
        return None
    cells = tuple(Cell(float(match["value"]), match["value"]) for match in matches)
    return TableRow(matches[0]["label"], "", {}, "", None, cells, line.number)


def _columns(lines: Sequence[Line], at: int, floor: int, count: int) -> tuple[tuple[str, ...], int]:
    """Return the names of the runs and the index of their line; numbered names if no line above contains names."""
    for place in range(at - 1, max(floor, at - 3) - 1, -1):
        text = lines[place].text.strip()
        names = [name.strip() for name in (text.split("|") if "|" in text else re.split(r"\s{2,}", text))]
        if len(names) == count and all(names):
            if len(set(names)) > 1:
                return unique(names), place
        elif text:
            break
    return unique(["column"] * count), at
