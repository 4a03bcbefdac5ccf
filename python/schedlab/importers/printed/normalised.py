"""Tables whose header states the parts of each cell: a value, a gain in brackets, a spread in parentheses.

    ==================================================================
    Test          : hackbench
    Units         : Normalized time in seconds
    Interpretation: Lower is better
    Statistic     : AMean
    ==================================================================
    Case:           tip[pct imp](CV)    patched[pct imp](CV)
     1-groups     1.00 [ -0.00]( 9.88)     0.98 [  1.77](10.57)

    hackbench
    =========
    case            load        baseline(std%)  compare%( std%)
    process-pipe    1-groups     1.00 (  6.11)   -1.62 (  4.26)

Reviews of scheduler series on the kernel's mailing list have the first form. ``report.py`` of the test suite schedtests
prints the second form: see :mod:`schedlab.importers.printed.normalised_rows` for the meaning of both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from schedlab.importers.printed.lines import Line, Part, is_rule, malformed
from schedlab.importers.printed.mmtests_rows import OPERATION
from schedlab.importers.printed.normalised_rows import (
    REMARK,
    Column,
    Header,
    Row,
    begins_as_row,
    box_above,
    table,
)
from schedlab.importers.printed.possible_tables import trailing_figures

_GAIN_MARK = r"\[ ?(?:pct|%) ?imp ?\]"
_SPREAD_MARK = r"\( ?(?:CV ?%?|std ?%) ?\)"
_COLUMN = re.compile(
    rf" *(?P<name>[^ \[\]()](?:[^\[\]()]*[^ \[\]()])?) *(?P<marks>(?: ?{_GAIN_MARK}| ?{_SPREAD_MARK})+)"
)
_LABEL = re.compile(r" *(?:(?P<colon>#?[A-Za-z][\w-]*) ?:|(?P<words>#?[A-Za-z][\w-]*(?: {2,}[A-Za-z][\w-]*)?)(?= {2}))")
"""The names of the one or two columns that name the rows. Without a colon, two spaces separate them from the runs."""
_MARKED = re.compile(r"(?:imp|CV|std) ?%? ?[\])]")
"""A cheap test for a header."""

_NUMBER = r"(?:0|[1-9]\d*)(?:\.\d+)?"
_CELL_PARTS = {
    "value": rf"(?P<value{{k}}>-?{_NUMBER}|-)",
    "improvement": r"(?P<gain{k}>[-+](?:0|[1-9]\d*)\.\d+)",
    "gain": rf"\[ ?(?P<gain{{k}}>[-+]?{_NUMBER}|baseline|-) ?%? ?\]",
    "spread": rf"\( ?(?P<spread{{k}}>{_NUMBER}|-) ?%? ?\)",
}
_ANY_CELL = re.compile(rf"(?<!\S)[-+]?{_NUMBER} *[\[(] *(?:[-+]?{_NUMBER} *%?|baseline|-) *[\])]")
_CELL_IN_NAME = re.compile(r"[\[(] ?[-+]?\d| [-+]?\d*\.\d*(?= |\Z)")
"""A figure with a point or in brackets within a row's name: the beginning of a cell that is torn."""
_REST_OF_ROW = re.compile(r"(?=.*\d)[-+\d. %()\[\]*^]+\Z")
"""A line with cells only: the end of a row that a mail program wrapped."""

_LONGEST_LINE = 2000
_MOST_COLUMNS = 50
_FARTHEST_ROW = 20
"""Lines after a table that may continue the table."""
_MOST_WRAPS = 8
"""Further lines of a header or row that a mail program wrapped."""


def read(lines: Sequence[Line], at: int, floor: int, source: str) -> Part | None:
    """Return the table whose header begins at ``lines[at]``; None if no header with rows of these forms begins there.

    Raises:
        ImportProblem: a row cannot be read, or the printed gains contradict the stated direction.
    """
    header = _header(lines, at)
    if header is None:
        return None
    rows, end = _rows(lines, header, source)
    if not rows:
        return None
    made, notes = table(header, rows, box_above(lines, at, floor), source)
    return None if made is None else Part(end, (made,), notes)


def _header(lines: Sequence[Line], at: int) -> Header | None:
    """Return the longest header that begins at ``lines[at]``; a mail program may have wrapped the header."""
    text = lines[at].text
    if len(text) > _LONGEST_LINE or not ("[" in text or "(" in text) or not (label := _LABEL.match(text)):
        return None
    names = (label["colon"],) if label["colon"] else tuple(label["words"].split())
    header = None
    for end in range(at + 1, min(len(lines), at + 1 + _MOST_WRAPS) + 1):
        if end > at + 1:
            following = lines[end - 1].text
            if not following or len(following) > _LONGEST_LINE:
                break
            text = f"{text} {following.strip()}"
        if _ANY_CELL.search(text):
            break
        if _MARKED.search(text) and (columns := _columns(text[label.end() :])):
            header = Header(lines[at], end, names, columns)
    return header


def _columns(text: str) -> tuple[Column, ...]:
    """Return the runs in a header; empty if the header has other text, or several runs without gains."""
    columns, place = list[Column](), 0
    while text[place:].strip():
        match = _COLUMN.match(text, place)
        # Two spaces within a name separate two columns, and the first has no mark.
        if match is None or "  " in match["name"] or len(columns) == _MOST_COLUMNS:
            return ()
        # Only in NAME%(std%) are the plain figures gains.
        first = "improvement" if match["name"].endswith("%") else "value"
        parts = (first, *("gain" if mark == "[" else "spread" for mark in re.findall(r"[\[(]", match["marks"])))
        if len(set(parts)) < len(parts) or {"gain", "improvement"} <= set(parts):
            return ()
        columns.append(Column(match["name"].rstrip("% "), parts))
        place = match.end()
    return tuple(columns) if sum(not column.has_gain for column in columns) < min(2, len(columns)) else ()


@cache
def _pattern(columns: tuple[Column, ...]) -> re.Pattern[str]:
    """Return the pattern of a row whose blanks are single spaces."""
    cells = (" ?".join(_CELL_PARTS[part].format(k=k) for part in column.parts) for k, column in enumerate(columns))
    return re.compile(rf"(?P<label>\S.*?) ?:? {' '.join(cells)} ?(?P<remark>{REMARK})")


def _rows(lines: Sequence[Line], header: Header, source: str) -> tuple[list[Row], int]:
    """Return the rows below a header and the index after the last row. Up to two blank lines may separate rows."""
    rows, at, end = list[Row](), header.end, header.end
    numbers: dict[str, int] = {}
    while at < len(lines):
        line = lines[at]
        if is_rule(line.text) or (not line.text and at - end < 2):
            at += 1
            continue
        row, after = _row(lines, at, header)
        if (
            row is None
            and rows
            and (
                _is_broken(line.text, [each.label for each in rows], separate=at > end)
                or (at == end and _has_rows(lines, at))
            )
        ):
            why = f"expected a name and {len(header.columns)} columns as in line {header.line.number}"
            raise malformed(source, line, why)
        if row is None:
            break
        if row.label in numbers:
            raise malformed(source, line, f"line {numbers[row.label]} has the same name")
        numbers[row.label] = line.number
        rows.append(row)
        at = end = after
    return rows, end


def _row(lines: Sequence[Line], at: int, header: Header) -> tuple[Row | None, int]:
    """Return the row that begins at ``lines[at]`` and its end; a mail program may have wrapped the row."""
    text = lines[at].text
    for end in range(at + 1, at + 2 + _MOST_WRAPS):
        if len(text) > _LONGEST_LINE:
            break
        match = _pattern(header.columns).fullmatch(" ".join(text.split()))
        if match and not _CELL_IN_NAME.search(match["label"]):
            is_named = len(match["label"].split()) >= len(header.labels)
            return (Row(lines[at].number, match["label"], match) if is_named else None), end
        following = lines[end].text if end < len(lines) else ""
        if not _REST_OF_ROW.match(following[:_LONGEST_LINE]):
            break
        text = f"{text} {following.strip()}"
    return None, at


def _has_rows(lines: Sequence[Line], at: int) -> bool:
    """Whether a line of the paragraph from ``lines[at]`` has cells, before the header of another table."""
    for place in range(at, min(len(lines), at + _FARTHEST_ROW)):
        text = lines[place].text
        if not text or len(text) > _LONGEST_LINE or OPERATION.match(text.lstrip()) or _header(lines, place):
            return False
        if _ANY_CELL.search(text):
            return True
    return False


def _is_broken(text: str, names: Sequence[str], *, separate: bool) -> bool:
    """Whether a line after the last row begins or ends as a row; ``separate``: blank lines are between."""
    if begins_as_row(text, names, separate=separate) or (not separate and trailing_figures(text[:_LONGEST_LINE])):
        return True
    if len(text) > _LONGEST_LINE or not _ANY_CELL.search(text):
        return False
    return not separate or (text.rstrip()[-1] in ")]*^" and not OPERATION.match(text.lstrip()))
