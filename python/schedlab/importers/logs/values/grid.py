"""A file of separated values as names and cells, with the line of each row."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

SEPARATORS = (",", ";", "\t", "|")
_NUMBER = re.compile(r"[+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,3})?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d{1,15},\d{1,15}")
_MISSING = {"", "-", "na", "n/a", "nan", "null", "none", "?", "missing", "failed"}


@dataclass(frozen=True)
class Row:
    """Cells of one line (from 1)."""

    line: int
    cells: Sequence[str]


@dataclass(frozen=True)
class Grid:
    """``names`` of the columns, and rows of as many cells."""

    names: Sequence[str]
    rows: Sequence[Row]

    def column(self, index: int) -> list[str]:
        """A column's cells."""
        return [row.cells[index] for row in self.rows]

    def is_numeric(self, index: int) -> bool:
        """Whether a column holds numbers, and nothing else but missing ones."""
        cells = self.column(index)
        return all(number(cell) is not None or is_missing(cell) for cell in cells) and not all(map(is_missing, cells))


class NoGrid(Exception):
    """The text holds no such values; ``line`` is the first that does not fit, from 1."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.what, self.line = what, line


def number(cell: str) -> float | None:
    """A cell's number, finite; a comma may stand for the point. None for anything else."""
    text = cell.strip()
    if "," in text and _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if abs(value) < float("inf") else None


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no value."""
    return cell.strip().lower() in _MISSING


def grid(text: str) -> Grid:
    """The text as a grid; lines that begin with ``#`` are comments.

    Raises:
        NoGrid: it has no names, its rows are not alike, or none of its columns holds numbers.
    """
    lines = [(at, line) for at, line in enumerate(text.split("\n"), 1) if line.strip() and not line.startswith("#")]
    if len(lines) < 2:
        raise NoGrid("has no row below its names", 1)
    # "1,2" in one column is a number, in two columns it is two: no line tells which.
    if all("," not in line and number(line) is not None for _, line in islice(lines, 1, None)):
        return _one_column(lines)
    separator = max(SEPARATORS, key=lines[0][1].count)
    if separator not in lines[0][1]:
        raise NoGrid("has no separated values", lines[0][0])
    rows = [Row(at, [cell.strip() for cell in _cells(at, line, separator)]) for at, line in lines]
    names, rows = rows[0].cells, rows[1:]
    _require_names(names, lines[0][0])
    for row in rows:
        if len(row.cells) != len(names):
            raise NoGrid(f"has {len(row.cells)} values for {len(names)} names", row.line)
    found = Grid(names, rows)
    if not any(found.is_numeric(index) for index in range(len(names))):
        raise NoGrid("has no column of numbers", lines[0][0])
    return found


def _cells(at: int, line: str, separator: str) -> list[str]:
    if '"' not in line:
        return line.split(separator)
    try:
        return next(csv.reader([line], delimiter=separator, skipinitialspace=True, strict=True), [])
    except csv.Error as error:
        raise NoGrid(str(error), at) from error


def _require_names(names: Sequence[str], line: int) -> None:
    if any(number(name) is not None for name in names):
        raise NoGrid("begins with numbers where the names of the columns are wanted", line)
    if len(set(names)) < len(names) or not all(names[1:]):
        raise NoGrid("has columns without a name, or two of the same name", line)


def _one_column(lines: Sequence[tuple[int, str]]) -> Grid:
    """Numbers, one a line, with or without a name above them."""
    (at, first), named = lines[0], number(lines[0][1]) is None
    if named and not re.fullmatch(r"[A-Za-z][\w /().%µ-]{0,39}", first.strip()):
        raise NoGrid("has no name of a column above its numbers", at)
    rows = [Row(line, [cell.strip()]) for line, cell in lines[named:]]
    return Grid([first.strip() if named else "value"], rows)
