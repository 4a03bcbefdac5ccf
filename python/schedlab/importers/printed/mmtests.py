"""Comparison tables of MMTests, as printed by ``compare-mmtests.pl`` and schedlab's ``mmtests`` report format.

    tbench4
                              4.5.0-rc1             4.5.0-rc1
                                vanilla          nostats-v2r2
    Hmean    mb/sec-1     500.85 (  0.00%)      522.43 *  4.31%*
    Duration User        5702.00              10264.25

A row begins with an operation of MMTests. A printed change is in parentheses, or between stars if the change is
significant. A change is positive where the column is better than the baseline. Rows without changes are read only where
MMTests prints such rows: ``Duration`` and ``Ops``, and any operation under the column names of the table before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from schedlab.importers.checks import unique
from schedlab.importers.printed.lines import Line, Part, is_rule, malformed, title_above
from schedlab.importers.printed.mmtests_rows import OPERATION, baseline_of, name_row, title_of, with_proved_directions
from schedlab.results.imported import Cell, Table
from schedlab.workloads.titles import Benchmark

_BARE = frozenset({"Duration", "Ops"})
"""Operations that MMTests prints without changes."""

_PLAIN = r"-?\d+(?:\.\d+)?"
_NONE = r"-?nan|[-+]?inf(?:inity)?"
_VALUE = rf"(?:{_PLAIN}(?:e[-+]?\d+)?|{_NONE})"
_CHANGE = rf"(?:{_PLAIN}|{_NONE})\s*%"
_CELL = re.compile(
    rf"(?<!\S)(?P<value>{_VALUE}|-)\s*(?:\+-\s*(?P<spread>{_PLAIN})%\s*)?"
    rf"(?:\(\s*(?P<gain>{_CHANGE})\s*(?:\)|\Z)|\*\s*(?P<star>{_CHANGE})\s*\*|\(\s*-?\s*\))"
    r"|(?<!\S)-(?=\s\s|\s*\Z)",
    re.IGNORECASE,
)
_NUMBER = re.compile(rf"(?<!\S){_VALUE}(?!\S)", re.IGNORECASE)
_CHANGE_MARK = re.compile(r"[(*]\s*-?[\d.]+\s*%|\d%\s*[*)]")
_REST_OF_ROW = re.compile(r"[-\d.\s%()*+naifty]+\Z", re.IGNORECASE)
"""A line with cells only: the end of a row that a mail program wrapped."""
_REMARK = re.compile(r"\s*\([^()]*\)\Z")
_ROW_REMARK = re.compile(r"[*^|\\]*\Z|[<#!/][^%]*\Z|[^\d%*()]*\Z")
"""Text that may follow the figures of a row."""
_WIDE = re.compile(r"\S+(?: \S+)*")
_GAIN_IN_NAME = re.compile(r"\s+%\s?(?:gain|diff|change|improvement)\Z", re.IGNORECASE)
_HIGHEST_HEADER = 8
"""Lines above a table in which its header may begin."""
_ALIGNED = 2
"""Characters by which the end of a name may differ from its column's end; MMTests aligns labels and cells to the
right."""
_LONGEST_HEAD = 200
"""Characters of a row's name."""


@dataclass(frozen=True)
class _Row:
    """A row: ``lines[at:end]``, put together as ``text``; positions of cells are offsets in it."""

    at: int
    end: int
    line: Line
    text: str
    head: str
    cells: tuple[re.Match[str], ...]
    marked: bool
    remark: str = ""

    @property
    def wrapped(self) -> bool:
        return self.end - self.at > 1


@dataclass(frozen=True)
class _Header:
    """Names of the columns; ``levels`` are the header's lines from the top, ``at`` the index of the first line."""

    names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    corner: str
    at: int


@dataclass
class Reader:
    """Reader of the tables of a text in their order; a table without header has the columns of the table before."""

    lines: Sequence[Line]
    source: str
    last: _Header = field(default_factory=lambda: _Header((), (), "", -1))
    bench: Benchmark | None = None
    _not_before: int = 0
    """Lines before this index have been tried as rows without a header."""

    def read(self, at: int, floor: int) -> Part | None:
        """Return the table whose first row is ``lines[at]``; None if no row of MMTests begins at the line.

        The search for the header of the table ends at ``lines[floor]``.
        """
        first = self._row(at) if at >= self._not_before else None
        if first is None:
            return None
        rows = self._block(first)
        header = self._header(rows, floor)
        if header is None:
            self._not_before = rows[-1].end
            return None
        for place in (first.at - 1, rows[-1].end):
            if floor <= place < len(self.lines) and self._is_broken(place):
                raise malformed(self.source, self.lines[place], "the row has figures that cannot be read")
        table, notes = self._table(rows, header, title_above(self.lines, header.at, floor))
        self.last = header
        return Part(rows[-1].end, (table,), tuple(notes))

    def _row(self, at: int) -> _Row | None:
        """Return the row that begins at ``lines[at]``, with the continuation lines of a mail program."""
        text = self.lines[at].text.replace("|", " ")
        if not OPERATION.match(text.lstrip()):
            return None
        end, pieces = at + 1, [text]
        while end < len(self.lines) and _REST_OF_ROW.match(self.lines[end].text):
            pieces.append(self.lines[end].text.strip())
            end += 1
        row = self._parsed(" ".join(pieces), at, end)
        return row if row is not None or len(pieces) == 1 else self._parsed(text, at, at + 1)

    def _parsed(self, text: str, at: int, end: int) -> _Row | None:
        cells = tuple(_CELL.finditer(text))
        marked, remark = any(cell["value"] for cell in cells), ""
        if marked:
            remark = text[cells[-1].end() :].strip()
            if any(text[a.end() : b.start()].strip() for a, b in pairwise(cells)) or not _ROW_REMARK.match(remark):
                return None
        elif _CHANGE_MARK.search(text) or not (cells := _trailing_numbers(text)):
            return None
        head = " ".join(text[: cells[0].start()].split())
        if len(head) > _LONGEST_HEAD:
            return None
        return _Row(at, end, self.lines[at], text, head, cells, marked, remark)

    def _is_broken(self, at: int) -> bool:
        """Whether a line next to a table begins as a row and has a printed change, but cannot be read."""
        text = self.lines[at].text
        return OPERATION.match(text.lstrip()) is not None and bool(_CHANGE_MARK.search(text)) and self._row(at) is None

    def _block(self, first: _Row) -> list[_Row]:
        """Return the consecutive rows from ``first``; one blank line may separate rows with changes."""
        rows = [first]
        while (at := rows[-1].end) < len(self.lines):
            at += is_rule(self.lines[at].text)
            blank = at < len(self.lines) and not self.lines[at].text
            at += blank
            row = self._row(at) if at < len(self.lines) else None
            if row is None or row.marked != first.marked:
                break
            if blank and not (row.marked and len(row.cells) == len(rows[-1].cells)):
                break
            rows.append(row)
        return rows

    def _header(self, rows: Sequence[_Row], floor: int) -> _Header | None:
        """Return the columns: of the header above, otherwise of the previous table; None if the rows are not a
        table."""
        counts = Counter(len(row.cells) for row in rows)
        if not rows[0].marked:
            return self._header_of_bare_rows(rows, floor)
        for count in dict.fromkeys((max(counts), counts.most_common(1)[0][0])):
            if header := self._header_above(rows, count, floor):
                return header
        count = counts.most_common(1)[0][0] if len(rows) > 1 else max(counts)
        names = self.last.names if len(self.last.names) == count else unique(["column"] * count)
        return _Header(names, (), self.last.corner if names == self.last.names else "", rows[0].at)

    def _header_of_bare_rows(self, rows: Sequence[_Row], floor: int) -> _Header | None:
        """Return the header of rows without changes, where only the number of columns separates labels from figures."""
        last = self.last.names
        if last and min(len(row.cells) for row in rows) >= len(last):
            header = self._header_above([_last_cells(row, len(last)) for row in rows], len(last), floor)
            if header is not None and header.names == last:
                return header
            if header is None and rows[0].text.split()[0] in _BARE:
                return _Header(last, (), "", rows[0].at)
        if any(row.text.split()[0] not in _BARE for row in rows):
            return None
        for count in range(min(len(row.cells) for row in rows), 0, -1):
            if header := self._header_above([_last_cells(row, count) for row in rows], count, floor):
                return header
        return None

    def _header_above(self, rows: Sequence[_Row], count: int, floor: int) -> _Header | None:
        """Return the header of ``count`` columns above the rows; None if no line above names that many columns."""
        complete = [row for row in rows if len(row.cells) == count and not row.wrapped]
        if any(len(row.cells) > count for row in rows) and len(complete) * 2 <= len(rows):
            return None
        zones = _zones(complete)
        indent = min((len(row.text) - len(row.text.lstrip()) for row in rows), default=0)
        levels, corner, at = list[tuple[str, ...]](), "", rows[0].at
        words: list[str] = []
        for place, text in self._lines_above(rows[0].at, floor):
            if zones:
                header_line = _names_in(text, zones, indent)
                if header_line is None and not levels and self._run_together(text, count):
                    return replace(self.last, at=rows[0].at)
                if header_line is None:
                    break
                levels.insert(0, header_line[0])
                corner, at = header_line[1] or corner, place
                continue
            # All rows are wrapped, and so may be the header: names are counted from the bottom.
            words = [name for _, _, name in _fields(text)] + words
            if len(words) > count:
                break
            if len(words) == count:
                levels.insert(0, tuple(words))
                words, at = [], place
        if not any(map(all, levels)):
            return None
        names = ["-".join(filter(None, (level[k] for level in levels))) for k in range(count)]
        return _Header(unique([_GAIN_IN_NAME.sub("", name) for name in names]), tuple(levels), corner, at)

    def _lines_above(self, at: int, floor: int) -> Iterator[tuple[int, str]]:
        """Yield the lines that may be the header of a table whose first row is ``lines[at]``, from the bottom."""
        any_line = blank = False
        for place in range(at - 1, max(floor, at - _HIGHEST_HEADER) - 1, -1):
            text = self.lines[place].text.replace("|", " ").rstrip()
            if (not text and (any_line or blank)) or self._is_row(place):
                return
            blank = blank or not text
            if text and not is_rule(text) and (any_line or not _REMARK.match(text)):
                any_line = True
                yield place, text

    def _is_row(self, place: int) -> bool:
        text = self.lines[place].text
        return OPERATION.match(text.lstrip()) is not None and any(map(str.isdigit, text))

    def _run_together(self, text: str, count: int) -> bool:
        """Whether a line is a header line of the table before without the spaces between the names."""
        glued = "".join(text.split())
        levels = [level for level in self.last.levels if len(level) == count]
        return any(glued == "".join("".join(name.split()) for name in level) for level in levels)

    def _table(self, rows: Sequence[_Row], header: _Header, above: str) -> tuple[Table, list[str]]:
        count = len(header.names)
        bare = not rows[0].marked
        rows = [_last_cells(row, count) for row in rows] if bare else rows
        zones = _zones([row for row in rows if len(row.cells) == count and not row.wrapped])
        title = title_of(above, header.names)
        # Parts of one comparison: without another title, a table belongs to the benchmark of the table before.
        continued = not title.workload and (header.names == self.last.names or not title.text)
        bench = self.bench = title.named or (self.bench if continued else None)
        starred = not bare and any(cell["star"] for row in rows for cell in row.cells)
        finished = [
            replace(
                name_row(row.head, header.corner, title, bench),
                cells=tuple(_cell(cell, starred) for cell in self._placed(row, count, zones)),
                line=row.line.number,
            )
            for row in rows
        ]
        baseline = baseline_of(finished)
        directed, notes = with_proved_directions(finished, baseline, bench)
        notes += [
            f'line {row.line.number}: remark left out: "{row.remark}"' for row in rows if row.remark.strip("*^|\\-")
        ]
        workload = bench.name if bench else title.workload
        line = self.lines[header.at].number
        return Table("mmtests", title.text, workload, header.names, directed, line, baseline), notes

    def _placed(self, row: _Row, count: int, zones: Sequence[tuple[int, int]]) -> list[re.Match[str] | None]:
        """Return the cells of a row by column; cells of a row with too few cells are placed by the column name above
        the cell."""
        if len(row.cells) == count:
            return list(row.cells)
        ends_text = row.end >= len(self.lines)
        if len(row.cells) > count or row.wrapped or not zones or ends_text:
            raise malformed(
                self.source, row.line, f"the row has {len(row.cells)} figures where the table has {count} columns"
            )
        places = _columns_of([cell.span() for cell in row.cells], zones)
        if places is None:
            raise malformed(self.source, row.line, "the figures of the row are not under the columns")
        placed: list[re.Match[str] | None] = [None] * count
        for place, cell in zip(places, row.cells, strict=True):
            placed[place] = cell
        return placed


def _trailing_numbers(text: str) -> tuple[re.Match[str], ...]:
    """Return the numbers at the end of the text, separated only by spaces."""
    numbers = list(_NUMBER.finditer(text))
    if not numbers or text[numbers[-1].end() :].strip():
        return ()
    first = len(numbers) - 1
    while first and not text[numbers[first - 1].end() : numbers[first].start()].strip():
        first -= 1
    return tuple(numbers[first:])


def _last_cells(row: _Row, count: int) -> _Row:
    """Return the row with its last ``count`` numbers as cells and everything before them as its head."""
    cells = row.cells[-count:]
    return replace(row, cells=cells, head=" ".join(row.text[: cells[0].start()].split()))


def _zones(rows: Sequence[_Row]) -> list[tuple[int, int]]:
    """Return where the figures of each column begin and end; empty if the figures are not aligned."""
    columns = zip(*(row.cells for row in rows), strict=True)
    zones = [(min(c.start() for c in column), max(c.end() for c in column)) for column in columns]
    return zones if all(a[1] <= b[0] for a, b in pairwise(zones)) else []


def _fields(text: str) -> list[tuple[int, int, str]]:
    """Return the texts between two or more spaces, with their positions."""
    return [(match.start(), match.end(), match[0]) for match in _WIDE.finditer(text)]


def _names_in(text: str, zones: Sequence[tuple[int, int]], indent: int) -> tuple[tuple[str, ...], str] | None:
    """Return the names of the columns in a header line and the name of the rows' heads; None if the line is not a
    header.

    A line may leave out the names of some columns. Each other name is then above its column, and right of the
    ``indent`` of the rows.
    """
    words = [(match.start(), match.end(), match[0]) for match in re.finditer(r"\S+", text)]
    for separated in (_fields(text), words):
        has_corner = len(separated) == len(zones) + 1 and separated[0][1] <= zones[0][0]
        corner = separated[0][2] if has_corner else ""
        fields = separated[1:] if has_corner else separated
        if len(fields) != len(zones) or (separated is words and not _end_above(fields, zones)):
            continue
        # A line that begins where the rows do is a title.
        if fields[-1][1] > zones[0][0] and (corner or fields[0][0] > indent):
            return tuple(name for _, _, name in fields), corner
    fields = _fields(text)
    places = _columns_of([(start, end) for start, end, _ in fields], zones)
    if places is None or fields[0][0] <= indent:
        return None
    if any(abs(end - zones[place][1]) > _ALIGNED for place, (_, end, _) in zip(places, fields, strict=True)):
        return None
    names = [""] * len(zones)
    for place, (_, _, name) in zip(places, fields, strict=True):
        names[place] = name
    return tuple(names), ""


def _end_above(fields: Sequence[tuple[int, int, str]], zones: Sequence[tuple[int, int]]) -> bool:
    """Whether each field ends above its column, and not above the next column."""
    limits = [start for start, _ in zones[1:]] + [len(fields[-1][2]) + fields[-1][1]]
    return all(zone[0] < end <= limit for (_, end, _), zone, limit in zip(fields, zones, limits, strict=True))


def _columns_of(spans: Sequence[tuple[int, int]], zones: Sequence[tuple[int, int]]) -> list[int] | None:
    """Return the column that each span overlaps; None if a span overlaps no column, several columns, or the column of
    another span."""
    places: list[int] = []
    k = 0
    for start, end in spans:
        while k < len(zones) and zones[k][1] <= start:
            k += 1
        overlaps_next = k + 1 < len(zones) and zones[k + 1][0] < end
        if k == len(zones) or zones[k][0] >= end or overlaps_next or (places and places[-1] == k):
            return None
        places.append(k)
    return places


def _cell(match: re.Match[str] | None, starred: bool) -> Cell:
    if match is None:
        return Cell(None)
    fields = match.groupdict()
    text = fields.get("value") or match[0]
    change = fields.get("star") or fields.get("gain") or ""
    printed = change.removesuffix("%").rstrip()
    spread = fields.get("spread")
    return Cell(
        value=_figure(text),
        text=text,
        gain=_figure(printed) if printed else None,
        gain_text=printed,
        star=bool(fields.get("star")) if starred else None,
        spread_percent=float(spread) if spread else None,
        spread_kind="unknown" if spread else "",
    )


def _figure(text: str) -> float | None:
    return None if text == "-" or "n" in text.lower() else float(text)
