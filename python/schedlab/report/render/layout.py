"""Texts with styles in lines of a width, and tables whose columns go below each other instead of breaking words.

This module loads no library: a short command prints its answer in a quarter less time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, zip_longest
from unicodedata import east_asian_width

from schedlab.notation.terminal import escaped
from schedlab.report.answer import Kind

STYLES = {"bold": 1, "dim": 2, "italic": 3, "red": 31, "green": 32, "yellow": 33, "cyan": 36}
"""Parameters of the control sequence Select Graphic Rendition (ECMA-48) by name."""

NAMES = 22
"""Width up to which names have room before other columns."""

SHORTEST_NAME = 12
"""Width below which a name is not folded to make room for other columns."""

_GAP = 2
"""Blanks between columns."""

PARTS = re.compile(r"[^-_./+:,| ]*[-_./+:,| ]+|[^-_./+:,| ]+")
"""A part of a name, with the marks after the part at which a line may end. A parameter stays with its value."""

NO_BREAK = "\u00a0"

Text = Sequence[tuple[str, str]]
"""Texts, each with its style: a name of :data:`STYLES` or empty."""


def styled(text: str, style: str = "") -> Text:
    """Return a text in one line, with its control characters escaped."""
    return [(escaped(text.replace("\n", " ")), style)] if text else []


def plain(text: Text) -> str:
    """Return the text without styles."""
    return "".join(part for part, _ in text)


def shown(text: Text, *, styles: bool) -> str:
    """Return a line for a terminal, without blanks at its end."""
    line = cut(text, 0, len(plain(text).rstrip(" ")))
    if not styles:
        return plain(line)
    return "".join(f"\x1b[{STYLES[style]}m{part}\x1b[0m" if style else part for part, style in line)


def cut(text: Text, start: int, end: int) -> Text:
    """Return the characters from ``start`` to before ``end``."""
    pieces: list[tuple[str, str]] = []
    place = 0
    for part, style in text:
        if piece := part[max(start - place, 0) : max(end - place, 0)]:
            pieces.append((piece, style))
        place += len(part)
    return pieces


def width_of(text: str) -> int:
    """Return the columns of a text on a terminal: two for each wide character."""
    return len(text) if text.isascii() else sum(1 + (east_asian_width(character) in "WF") for character in text)


def fold(text: Text, width: int, indent: int = 0) -> list[Text]:
    """Fold a text between words; a figure stays on the line of its unit. ``indent`` is that of the further lines."""
    lines: list[tuple[int, int]] = []
    place = 0
    for word in unbroken(plain(text)).split(" "):
        begin, end = place, place + len(word)
        if lines and end - lines[-1][0] <= width - (indent if len(lines) > 1 else 0):
            lines[-1] = lines[-1][0], end
        elif word:
            lines.append((begin, end))
        place = end + 1
    return [[*styled(" " * indent if number else ""), *cut(text, *ends)] for number, ends in enumerate(lines)]


def unbroken(text: str) -> str:
    """Return the text with blanks at which no line ends: in a figure with its unit, and in an interval."""
    return re.sub(r" (?=[%…=])|(?<=[…=]) |(?<=MDE) ", NO_BREAK, text)


def _fold_name(text: Text, width: int) -> list[Text]:
    """Fold a name at marks, or where a part is too long."""
    ends = [0]
    for part in PARTS.finditer(plain(text)):
        if len(part[0].rstrip()) + part.start() - ends[-1] > width and part.start() > ends[-1]:
            ends.append(part.start())
        while part.end() - ends[-1] > width and len(part[0].rstrip()) > width:
            ends.append(ends[-1] + width)
    return [cut(text, start, end) for start, end in pairwise([*ends, len(plain(text))])]


@dataclass(frozen=True)
class Column:
    """A column: names are folded at marks, numbers never, remarks between words.

    A column ``beside`` the column before it is in the same table, unless the two are wider than the terminal.
    """

    heading: str
    cells: Sequence[Text]
    kind: Kind = "number"
    beside: bool = False

    @cached_property
    def least(self) -> int:
        """The least width."""
        if self.kind == "number":
            return self.widest
        texts = [self.heading, *map(plain, self.cells)]
        if self.kind == "remark":
            return max(width_of(word) for text in texts for word in unbroken(text).split(" "))
        # A line ends only at a mark, so that no word is broken.
        longest = max((width_of(part.rstrip()) for text in texts for part in PARTS.findall(text)), default=0)
        return max(min(self.widest, SHORTEST_NAME), longest)

    @cached_property
    def widest(self) -> int:
        """The width without any folding."""
        return max(map(width_of, (self.heading, *map(plain, self.cells))))

    @property
    def wanted(self) -> int:
        """The width without any folding, except of long names where a table is narrow."""
        return min(self.widest, NAMES) if self.kind == "name" else self.widest

    def folded(self, cell: Text, width: int) -> list[Text]:
        """Return the lines of a cell."""
        if self.kind == "number":
            return [cell]
        return _fold_name(cell, width) if self.kind == "name" else fold(cell, width)


def table(columns: Sequence[Column], room: int) -> Iterator[Text]:
    """Yield the lines of a table, or of as many tables below each other as the width needs, each with the first
    column."""
    first, *others = columns
    groups = list(_groups(others, room - first.least))
    for number, part in enumerate(fitting([sum(map(_room_of, group)) for group in groups], room - first.least)):
        if number:
            yield []
        yield from _table([first, *(column for index in part for column in groups[index])], room)
    if not others:
        yield from _table(columns, room)


def _groups(columns: Sequence[Column], room: int) -> Iterator[list[Column]]:
    """Yield columns that stay together; a group that is wider than the room in as many parts as the room needs."""
    starts = [index for index, column in enumerate(columns) if not (column.beside and index)]
    for start, end in pairwise([*starts, len(columns)]):
        group = list(columns[start:end])
        for part in fitting(map(_room_of, group), room):
            yield [group[index] for index in part]


def _room_of(column: Column) -> int:
    return _GAP + column.least


def fitting(widths: Iterable[int], room: int) -> Iterator[list[int]]:
    """Yield the indices of the columns, as many at a time as fit into the width, at least one."""
    part: list[int] = []
    used = 0
    for k, width in enumerate(widths):
        if part and used + width > room:
            yield part
            part, used = [], 0
        part.append(k)
        used += width
    if part:
        yield part


def _table(columns: Sequence[Column], room: int) -> Iterator[Text]:
    widths = [min(column.least, room) for column in columns]
    spare = room - sum(widths) - _GAP * (len(columns) - 1)
    for wanted in ([column.wanted for column in columns], [column.widest for column in columns]):
        for index, width in enumerate(wanted):
            more = min(max(spare, 0), max(width - widths[index], 0))
            widths[index] += more
            spare -= more
    yield from _row(columns, [styled(column.heading, "dim") for column in columns], widths)
    for cells in zip(*(column.cells for column in columns), strict=True):
        yield from _row(columns, cells, widths)


def _row(columns: Sequence[Column], cells: Sequence[Text], widths: Sequence[int]) -> Iterator[Text]:
    """Yield the lines of a row."""
    lines = [column.folded(cell, width) for column, cell, width in zip(columns, cells, widths, strict=True)]
    for parts in zip_longest(*lines, fillvalue=[]):
        line: list[tuple[str, str]] = []
        for column, part, width in zip(columns, parts, widths, strict=True):
            blanks = (" " * (width - width_of(plain(part))), "")
            line += [blanks, *part] if column.kind == "number" else [*part, blanks]
            line.append((" " * _GAP, ""))
        yield line
