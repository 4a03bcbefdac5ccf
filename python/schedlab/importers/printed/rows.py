"""Lines read as rows of a table: a head in words, then nothing but figures.

Mail programs break long rows; the pieces are put together here, as far as the pieces themselves tell that they are one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from schedlab.importers.printed.page import Line
from schedlab.importers.printed.tokens import Figure, tokens

_SEPARATOR = re.compile(r"[\s\-=+_.|~*#:─-╿]+\Z")
_RULE = re.compile(r"[\-=+_.|~*#─-╿]\s?[\-=+_.|~*#─-╿:]\s?[\-=+_.|~*#─-╿]")
_CELL = re.compile(r"\d\s*[(*\[]\s*[-+]?\d+(?:\.\d+)?\s*(?:%|pct)\s*[)*\]]")
_REST_OF_CHANGE = re.compile(
    r"\s*(?:[-+]?(?:[\d.]+|nan|inf(?:inity)?)\s*%\s*[*)]|\(\s*[-+]?(?:[\d.]+|nan|inf(?:inity)?)\s*%\s*\)|\*\s*-?[\d.]+%\*)"
)
_ARROW = re.compile(r"\s(?:<-|<<|<=|←|//)")
_REMARK = re.compile(r"[*^<#(!\[]|//|\\")
_HOLDS_FIGURE = re.compile(r"\d|\bnan\b", re.IGNORECASE)
_SIDE_BY_SIDE = re.compile(r"((?:\A|(?<=\s\s))(\S[^:]*):\s+[-\d.,]+\s{2,})(\2:)(?=\s)")
"""Two outputs beside one another, each line with its label: ``50.0th: 45      50.0th: 39``."""
_MARKS = frozenset(",;^!*†‡#")
"""What may stand between figures without being one."""
_CODE = re.compile(
    r"/\*|\*/|;\s*\Z|[{}]\s*\Z|^\+\s+(?![\d.])|0x[0-9a-f]{8}"
    r"|^\s*#\s*(?:define|undef|include|if|ifn?def|elif|else|endif|pragma|error)\b"
    # Lines of ftrace.
    r"|^\s*\S+-\d+\s+\[\d{3}\]\s"
    # Disassembly, and the symbols of a profile.
    r"|^\s*[0-9a-f]{1,16}:\s+(?:[0-9a-f]{2} ){2,}|\s\[[k.]\]\s"
)
"""Source code, its listings and profiles: figures in columns that are nobody's results."""
CHANGE = re.compile(r"\(\s*[-+]?[\d.]+\s*%\s*\)|\*\s*[-+]?[\d.]+\s*%\s*\*")
"""A printed change, whole, as MMTests has it."""
CHANGE_MARK = re.compile(r"\(\s*[-+]?[\d.]+\s*%|\*\s*[-+]?[\d.]+\s*%|%\s*[*)]")
"""What looks like a printed change, whole or broken."""


@dataclass(frozen=True)
class Row:
    """A head and its figures. ``at`` and ``end`` are positions in the page: the row's lines are ``page[at:end]``."""

    at: int
    end: int
    line: int
    text: str
    head: str
    cells: tuple[Figure, ...]
    remark: str = ""

    @cached_property
    def marked(self) -> int:
        """How many of its figures have a printed change."""
        return len([cell for cell in self.cells if cell.change_text])

    @property
    def wrapped(self) -> bool:
        """Whether it was put together from several lines."""
        return self.end - self.at > 1


def is_separator(text: str) -> bool:
    """Whether a line only draws a rule (``-----``, ``- - -``, ``+---+``)."""
    return bool(text) and _SEPARATOR.match(text) is not None and _RULE.search(text) is not None


def read_row(page: Sequence[Line], at: int) -> Row | None:
    """The row that begins at ``page[at]``, with the lines on which it goes on; None when it is none."""
    text, end = page[at].text, at + 1
    row = _parse(text, at, end, page[at].number)
    if row is None:
        return None
    while end < len(page) and _goes_on(row, page[end].text):
        text, end = f"{text} {page[end].text.strip()}", end + 1
        longer = _parse(text, at, end, page[at].number)
        if longer is None:
            break
        row = longer
    return row


def _goes_on(row: Row, following: str) -> bool:
    if not following or not row.cells:
        return False
    if _REST_OF_CHANGE.match(following):
        return True
    if not (row.head and row.marked) or following.lstrip()[0].isalpha():
        return False
    rest = _parse(following, 0, 1, 0)
    return rest is not None and not rest.head and rest.cells[0].marked and rest.remark in ("", "(", "*")


def _parse(text: str, at: int, end: int, line: int) -> Row | None:
    if not _HOLDS_FIGURE.search(text) or _CODE.search(text):
        return None
    if text.count(":") > 1:
        text = _SIDE_BY_SIDE.sub(lambda match: f"{match[1]}{' ' * len(match[3])}", text)
    # What an arrow points out may hold figures of its own.
    arrow = _ARROW.search(text) if "<" in text or "/" in text or "←" in text else None
    found = tokens(text[: arrow.start()] if arrow else text)
    last = len(found)
    while last and not isinstance(found[last - 1], Figure):
        last -= 1
    if not last or not _is_remark(text, found[last - 1].end, found[last].start if last < len(found) else len(text)):
        return None
    first = last
    while first and (isinstance(found[first - 1], Figure) or found[first - 1].text in _MARKS):
        first -= 1
    cells = tuple(item for item in found[first:last] if isinstance(item, Figure))
    if all(cell.value is None for cell in cells) and not any(cell.marked for cell in cells) and len(cells) < 2:
        return None
    head = text[: cells[0].start].strip()
    if head.endswith(("->", "=>", "→")) or _CELL.search(head):
        # From one figure to another, or cells that cannot be read: the first figures are no name.
        return None
    return Row(at, end, line, text, head, cells, text[cells[-1].end :].strip())


def _is_remark(text: str, end: int, start: int) -> bool:
    """Words behind the last figure are a remark, not a sentence, when a gap or a sign sets them off."""
    return start >= len(text) or start - end >= 2 or _REMARK.match(text, start) is not None
