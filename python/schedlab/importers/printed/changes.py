"""Tables of values with changes in per cent, where the values prove the meaning of the changes.

    Test:           tip             patched           | test       | base | patched | % Diff  |
     1-groups:  3.92 (0.00 pct)  4.05 (-3.31 pct)     | 10 groups  | 2.23 |  3.05   | -36.77% |

The words in a header do not show whether a positive change is larger or better. A table is read only if all its changes
follow from the printed values in one of two ways: a positive change is larger in every row, or smaller in every row. In
the second case a positive change is an improvement of something that is better if lower. The benchmark's name must
confirm that, unless the cells have the form ``(G pct)``, whose users print improvements.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from schedlab.analysis.gains import recompute
from schedlab.importers.checks import unique
from schedlab.importers.printed.lines import Line, Part, is_rule, title_above
from schedlab.importers.printed.mmtests_rows import OPERATION
from schedlab.importers.printed.normalised_rows import REMARK, begins_as_row, remark_notes, row_parameters
from schedlab.importers.printed.possible_tables import trailing_figures
from schedlab.results.imported import Cell, Table, TableRow
from schedlab.workloads.titles import benchmark

_NUMBER = r"(?:0|[1-9]\d*)(?:\.\d+)?"
_CELL = re.compile(rf"(?<!\S)(?P<value>{_NUMBER}) *\( *(?P<gain>[-+]? ?{_NUMBER}) *(?P<unit>pct|%) *\)(?!\S)")
_VALUE = re.compile(rf"(?P<value>{_NUMBER})(?: ?(?:±|\+-|\+/-) ?(?P<spread>{_NUMBER}))?")
_CHANGE = re.compile(rf"(?P<gain>[-+]?{_NUMBER}) ?(?P<unit>%?)")
_UNIT = re.compile(r"(?P<name>.*\S) ?\((?P<unit>[^()]+)\)")
_UNITS = {"seconds": "s", "sec": "s", "s": "s", "ms": "ms", "msec": "ms", "us": "us", "usec": "us", "ns": "ns"}
"""Units in the names of runs."""
_CHANGE_NAME = re.compile(r"(?:% ?)?(?:diff|difference|change|delta)(?: ?%| ?\(%\))?", re.IGNORECASE)
_ROW_END = re.compile(rf"(?:(?:pct|%) *\)|\d *%)[ |]*(?P<remark>{REMARK})\Z")
"""A cheap test for a row: a line that ends with a change, and perhaps with a remark."""
_SPREAD = re.compile(r"[(\[] *%? *(?:std|stdev|stddev|cv|var|sd|err|error|range|±|\+[-/]).*[)\]]", re.IGNORECASE)
"""A name that states another meaning of the figures in parentheses."""
_TORN = re.compile(r" [-+]?\d*\.\d*(?= |\Z)")
"""A figure with a point within a row's name: the beginning of a torn cell."""
_LONGEST_LINE = 1000
_FEWEST_ROWS = 2


@dataclass(frozen=True)
class _Row:
    """A row: its line, its name, its cells, whether its changes have the form ``(G pct)``, and a remark."""

    line: Line
    name: str
    cells: tuple[Cell, ...]
    is_pct: bool = False
    remark: str = ""


def read(lines: Sequence[Line], at: int, floor: int) -> Part | None:
    """Return the table whose header is ``lines[at]``; None if its values do not prove its changes."""
    header = _fields(lines[at].text[:_LONGEST_LINE])
    first = next((line.text for line in lines[at + 1 : at + 3] if not is_rule(line.text)), "")
    if not (_is_pair(header) or _ends_with_change(first)) or _ends_with_change(lines[at].text):
        return None
    rows, end = _rows(lines, at + 1, header)
    columns = _columns(lines[at].text, header, rows)
    if not columns or len({row.name for row in rows}) < len(rows):
        return None
    label = re.sub(r"[#:]", "", header[0]).lower() if len(header) > len(columns) else ""
    title = title_above(lines, at, floor)
    bench = benchmark(title)
    columns, unit = _unit_apart(columns)
    named = (
        TableRow(row.name, "", row_parameters(label, row.name, alone=True), unit, None, row.cells, row.line.number)
        for row in rows
    )
    table = Table("changes", title, bench.name if bench else "", unique(columns), tuple(named), lines[at].number)
    proved = _proved(table, all(row.is_pct for row in rows))
    notes = remark_notes((row.line.number, row.remark) for row in rows)
    return None if proved is None else Part(end, (proved,), tuple(notes))


def _ends_with_change(text: str) -> bool:
    return len(text) <= _LONGEST_LINE and _ROW_END.search(text) is not None and not OPERATION.match(text.lstrip())


def _fields(text: str) -> list[str]:
    """Return the texts between bars, otherwise between two or more spaces."""
    stripped = text.strip()
    if stripped.count("|") > 1:
        return [field.strip() for field in stripped.removeprefix("|").removesuffix("|").split("|")]
    return re.split(r" {2,}", stripped)


def _rows(lines: Sequence[Line], at: int, header: Sequence[str]) -> tuple[list[_Row], int]:
    """Return the rows from ``lines[at]`` and the index after the last row; no rows if a row cannot be read.

    A blank line may separate rows.
    """
    rows, end = list[_Row](), at
    while at < len(lines):
        line, is_separate = lines[at], at > end
        if is_rule(line.text) or (not line.text and not is_separate):
            at += 1
            continue
        row = _row_of_two(line, header) if _is_pair(header) else _row(line)
        if row is None:
            is_row = not is_separate and ("|" in line.text or trailing_figures(line.text[:_LONGEST_LINE]) > 0)
            is_row = is_row or begins_as_row(line.text, [each.name for each in rows], separate=is_separate)
            return ([], end) if is_row else (rows, end)
        rows.append(row)
        at = end = at + 1
    return rows, end


def _is_pair(header: Sequence[str]) -> bool:
    """Whether a header has two runs and their change."""
    return len(header) == 4 and _CHANGE_NAME.fullmatch(header[-1]) is not None


def _row(line: Line) -> _Row | None:
    """Read a row of cells with changes."""
    end = _ROW_END.search(line.text) if _ends_with_change(line.text) else None
    if end is None:
        return None
    text = " ".join(line.text[: end.start("remark")].replace("|", "  ").split())
    cells = list(_CELL.finditer(text))
    if len(cells) < 2 or any(text[a.end() : b.start()].strip() for a, b in pairwise(cells)):
        return None
    name = text[: cells[0].start()].strip().removesuffix(":").rstrip()
    if not name or text[cells[-1].end() :] or _TORN.search(name):
        return None
    return _Row(line, name, tuple(map(_cell, cells)), all(cell["unit"] == "pct" for cell in cells), end["remark"])


def _row_of_two(line: Line, header: Sequence[str]) -> _Row | None:
    """Read a row of two values and their change, whose unit is in the cell or in the header."""
    fields = _fields(line.text[:_LONGEST_LINE])
    if len(fields) != 4 or not fields[0] or _TORN.search(fields[0]):
        return None
    base, value, change = (*map(_VALUE.fullmatch, fields[1:3]), _CHANGE.fullmatch(fields[3]))
    if base is None or value is None or change is None or not (change["unit"] or "%" in header[-1]):
        return None
    return _Row(
        line, fields[0], (_value(base), replace(_value(value), gain=float(change["gain"]), gain_text=change["gain"]))
    )


def _value(match: re.Match[str]) -> Cell:
    """Return a value with its spread, whose kind is not stated."""
    value, spread = float(match["value"]), match["spread"]
    percent = 100 * float(spread) / value if spread and value else None
    return Cell(value, match["value"], spread_percent=percent, spread_kind="" if percent is None else "unknown")


def _cell(match: re.Match[str]) -> Cell:
    gain = match["gain"].replace(" ", "")
    return Cell(float(match["value"]), match["value"], float(gain) + 0.0, gain)  # not -0.0


def _columns(text: str, header: Sequence[str], rows: Sequence[_Row]) -> Sequence[str]:
    """Return the names of the runs; empty if the header does not name all runs of all rows.

    Without a name for the rows' names, the header begins to the right of the rows' names.
    """
    counts = {len(row.cells) for row in rows}
    if len(rows) < _FEWEST_ROWS or len(counts) != 1:
        return ()
    (count,) = counts
    is_pair = _is_pair(header)
    names = header[-3:-1] if is_pair else header[-count:]
    labels = len(header) - len(names) - is_pair
    indent = len(text) - len(text.lstrip())
    is_right = all(row.line.text.find(row.name) + len(row.name) <= indent for row in rows)
    is_complete = len(names) == count and (labels == 1 or (labels == 0 and is_right and not is_pair))
    return names if is_complete and all(map(_is_name, names)) else ()


def _unit_apart(names: Sequence[str]) -> tuple[Sequence[str], str]:
    """Return the names of the runs, and the unit of time that all names end with."""
    matches = [match for match in map(_UNIT.fullmatch, names) if match]
    units = {_UNITS.get(match["unit"]) for match in matches}
    if len(matches) < len(names) or len(units) > 1 or None in units:
        return names, ""
    return [match["name"] for match in matches], _UNITS[matches[0]["unit"]]


def _is_name(text: str) -> bool:
    return any(map(str.isalpha, text)) and not _SPREAD.search(text)


def _proved(table: Table, is_pct: bool) -> Table | None:
    """Return the table with the meaning of its changes; None if its values do not prove one."""
    if any(row.cells[0].gain for row in table.rows):
        return None
    count = sum(len(row.cells) - 1 for row in table.rows)
    change = replace(table, gains="change")
    if _follow(change, count):
        return change
    lower = replace(table, rows=tuple(replace(row, direction="lower") for row in table.rows))
    return lower if _follow(lower, count) and (is_pct or _is_better_lower(table)) else None


def _follow(table: Table, count: int) -> bool:
    """Whether all of ``count`` changes follow from their values."""
    changes = recompute(table)
    return len(changes) == count and all(change.agrees for change in changes)


def _is_better_lower(table: Table) -> bool:
    """Whether the title or every row names a benchmark that is better if lower."""
    texts = [table.title] if benchmark(table.title) else [row.operation for row in table.rows]
    named = [benchmark(text) for text in texts]
    return all(bench is not None and bench.direction == "lower" for bench in named)
