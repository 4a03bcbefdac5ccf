"""A table for a terminal. The layout folds columns below each other instead of breaking words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from textwrap import wrap
from typing import Literal

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

NAMES = 22
"""Width up to which names have room before other columns."""

SHORTEST_NAME = 12
"""Width below which a name is not folded to make room for other columns."""

_GAP = 2
"""Blanks between columns."""

_PARTS = re.compile(r"[^-_./+:,=| ]*[-_./+:,=| ]+|[^-_./+:,=| ]+")
"""A part of a name, with the marks after the part at which a line may end."""

_NO_BREAK = "\u00a0"

Kind = Literal["name", "number", "remark"]


@dataclass(frozen=True)
class Column:
    """A column: names are folded at marks, numbers never, remarks between words.

    A column ``beside`` the column before it is in the same table, unless the two are wider than the terminal.
    """

    heading: str
    cells: Sequence[Text]
    kind: Kind = "number"
    beside: bool = False

    @property
    def least(self) -> int:
        """The least width."""
        texts = [self.heading, *(cell.plain for cell in self.cells)]
        if self.kind == "number":
            return self.widest
        if self.kind == "remark":
            return max(len(word) for text in texts for word in unbroken(text).split(" "))
        # A line ends only at a mark, so that no word is broken.
        longest = max((len(part.rstrip()) for text in texts for part in _PARTS.findall(text)), default=0)
        return max(min(self.widest, SHORTEST_NAME), longest)

    @property
    def widest(self) -> int:
        """The width without any folding."""
        texts = (self.heading, *(cell.plain for cell in self.cells))
        return max(len(line) for text in texts for line in text.split("\n"))

    @property
    def wanted(self) -> int:
        """The width without any folding, except of long names where a table is narrow."""
        return min(self.widest, NAMES) if self.kind == "name" else self.widest

    def folded(self, width: int) -> list[Text]:
        """Return the cells in lines of this width."""
        if self.kind == "number":
            return list(self.cells)
        return [(_fold_name if self.kind == "name" else fold_words)(cell, width) for cell in self.cells]


@dataclass(frozen=True)
class Columns:
    """Renderable of a table whose first column has the names of the lines."""

    columns: Sequence[Column]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for number, part in enumerate(self._parts(options.max_width)):
            if number:
                yield Text()
            yield _table(part, options.max_width)

    def _parts(self, room: int) -> Iterator[list[Column]]:
        """Yield the columns in as many tables as the width needs, each with the first column."""
        first, *others = self.columns
        room -= first.least
        groups = list(_groups(others, room))
        for part in fitting([sum(map(_room_of, group)) for group in groups], room):
            yield [first, *(column for index in part for column in groups[index])]


def _groups(columns: Sequence[Column], room: int) -> Iterator[list[Column]]:
    """Yield columns that stay together; a group that is wider than the room in as many parts as the room needs."""
    starts = [index for index, column in enumerate(columns) if not (column.beside and index)]
    for start, end in pairwise([*starts, len(columns)]):
        group = columns[start:end]
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


def _table(columns: Sequence[Column], room: int) -> Table:
    widths = [column.least for column in columns]
    spare = room - sum(widths) - _GAP * (len(columns) - 1)
    for wanted in ([column.wanted for column in columns], [column.widest for column in columns]):
        for index, width in enumerate(wanted):
            more = min(max(spare, 0), max(width - widths[index], 0))
            widths[index] += more
            spare -= more
    table = Table(box=None, padding=(0, _GAP, 0, 0), show_edge=False, pad_edge=False, header_style="dim")
    for column, width in zip(columns, widths, strict=True):
        table.add_column(
            column.heading, width=width, justify="right" if column.kind == "number" else "left", overflow="fold"
        )
    for cells in zip(*(column.folded(width) for column, width in zip(columns, widths, strict=True)), strict=True):
        table.add_row(*cells)
    return table


def _fold_name(name: Text, width: int) -> Text:
    lines = [""]
    for part in _PARTS.findall(name.plain):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
            lines.append(part)
        else:
            lines[-1] += part
    return Text("\n".join(line.rstrip() for line in lines), style=name.style)


def fold_words(text: Text, width: int) -> Text:
    """Return the text in lines with the style of each character, as line ends take the places of blanks. A figure stays
    on the line of its unit."""
    lines = wrap(unbroken(text.plain), width, break_long_words=False, break_on_hyphens=False)
    folded = text.copy()
    folded.plain = "\n".join(lines).replace(_NO_BREAK, " ")
    return folded


def unbroken(text: str) -> str:
    """Return the text with blanks at which no line ends: in a figure with its unit, and in an interval."""
    return re.sub(r" (?=[%…=])|(?<=[…=]) |(?<=MDE) ", _NO_BREAK, text)
