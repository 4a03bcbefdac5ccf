"""Which line of a TOML file a key path stands on, for error messages.

``tomllib`` keeps no positions, so the file's table headers and keys are followed once more; only top-level keys of
tables are sought, and for anything deeper (inline tables, multi-line arrays) the nearest enclosing key's line is given.
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
    """The line (from 1) of every table header and key, by key path; array-of-tables have their index in the path."""
    found: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = _enter(_parts(header[2]), header[1] == "[[", counts)
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            found.setdefault((*table, *_parts(key[1])), number)
    return found


def _enter(parts: Sequence[str], is_array: bool, counts: dict[Path, int]) -> Path:
    """The path that a header opens: names that are arrays of tables get the index of their latest element."""
    path: Path = ()
    for depth, part in enumerate(parts):
        path = (*path, part)
        if is_array and depth == len(parts) - 1:
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def line_of(path: Path, known: dict[Path, int]) -> int | None:
    """The line of ``path`` or of its nearest known ancestor; None when not even that is known."""
    while path:
        if path in known:
            return known[path]
        path = path[:-1]
    return None


def dotted(path: Path) -> str:
    """A key path for people: ``variant[1].tunables.x``."""
    text = ""
    for part in path:
        text += f"[{part + 1}]" if isinstance(part, int) else (f".{part}" if text else part)
    return text
