"""The line of a key path in a TOML file, for error messages.

``tomllib`` keeps no positions, so the table headers and keys of the file are read once more. Only top-level keys of
tables have a line; a deeper key (of an inline table or a multi-line array) gets the line of the nearest enclosing key.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]#]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*("[^"]*"|'[^']*'|[A-Za-z0-9_-]+(?:\s*\.\s*(?:"[^"]*"|[A-Za-z0-9_-]+))*)\s*=""")
_PART = re.compile(r'"[^"]*"|\'[^\']*\'|[^.\s]+')

Path = tuple[str | int, ...]


def _parts(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in _PART.findall(dotted)]


def lines(text: str) -> dict[Path, int]:
    """Return the line (from 1) of every table header and key, by key path. Arrays of tables have an index."""
    numbers: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = _enter(_parts(header[2]), header[1] == "[[", counts)
            numbers.setdefault(table, number)
        elif key := _KEY.match(line):
            numbers.setdefault((*table, *_parts(key[1])), number)
    return numbers


def _enter(parts: Sequence[str], is_array: bool, counts: dict[Path, int]) -> Path:
    """The path that a header opens. The name of an array of tables is followed by the index of its last element."""
    path: Path = ()
    for depth, part in enumerate(parts):
        path = (*path, part)
        if is_array and depth == len(parts) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def line_of(path: Path, lines: dict[Path, int]) -> int | None:
    """Return the line of ``path`` or of its nearest ancestor with a line; None when no ancestor has a line."""
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return None


def dotted(path: Path) -> str:
    """Format a key path for people: ``variant[1].tunables.x``."""
    text = ""
    for part in path:
        text += f"[{part + 1}]" if isinstance(part, int) else (f".{part}" if text else part)
    return text
