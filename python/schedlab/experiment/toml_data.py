"""The experiment file as plain data, and the lines of its keys for error messages.

Size, nesting, values and characters that no key accepts are refused. ``tomllib`` keeps no positions, so the table
headers and keys of the file are read once more. Only top-level keys of tables have a line; a deeper key (of an inline
table or a multi-line array) gets the line of the nearest enclosing key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

from schedlab.errors import ExperimentError
from schedlab.notation.terminal import CONTROL

LARGEST_BYTES = 4 << 20
"""Largest experiment file. A million trials need less; ``tomllib`` takes about 2 s per MiB."""

DEEPEST = 32
"""Deepest nesting of tables and arrays. The deepest key of schedlab has 6 levels; the rest is for parameters."""

MOST_DIGITS = 4300
"""Most digits of an integer: Python's own limit, because reading takes time quadratic in the digits."""

LONGEST_TEXT = 1 << 16
"""Longest value in characters: a shell script as a ``command`` fits, a file by mistake does not."""

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""' r"|'''.*?'''" r'|"(?:\\.|[^"\\\n])*"' r"|'[^'\n]*'" r"|#[^\n]*" r"|[\[{]|[\]}]",
    re.DOTALL,
)
"""Strings and comments of TOML, which may contain brackets, and the brackets themselves."""

_DOTTED = re.compile(rf"(?<![\w-])[\w-]++(?:[ \t]*+\.[ \t]*+[\w-]++){{{DEEPEST},}}")
"""A dotted key below :data:`DEEPEST` tables, in a text without strings and comments."""


def read(text: str, name: str) -> dict[str, Any]:
    """Return the file's data; :class:`ExperimentError` for a text that is too large or is not TOML."""
    if len(text) > LARGEST_BYTES:
        raise ExperimentError(
            f"has {len(text) >> 20} MiB; an experiment file has at most {LARGEST_BYTES >> 20} MiB",
            where=name,
            todo="use lists of parameters instead of repeated tables",
        )
    # tomllib copies every beginning of a dotted key: 20,000 parts take 2.4 GiB.
    if dotted := _DOTTED.search(_TOKEN.sub(_without_text, text)):
        raise _too_deep(f"{name}:{dotted.string.count(chr(10), 0, dotted.start()) + 1}")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        todo = "'schedlab init --example first' prints a valid file; texts need quotes; quotes and brackets have an end"
        raise ExperimentError(f"is not valid TOML: {error}", where=name, todo=todo) from error
    except RecursionError as error:
        raise _too_deep(f"{name}:{_first_line_below(text, DEEPEST)}") from error
    except ValueError as error:
        digits = re.search(rf"[0-9_]{{{MOST_DIGITS},}}", text)
        line = text.count("\n", 0, digits.start()) + 1 if digits else 1
        raise ExperimentError(
            f"an integer has more than {MOST_DIGITS} digits", where=f"{name}:{line}", todo="write a smaller number"
        ) from error


def _without_text(token: re.Match[str]) -> str:
    """Replace a string by a letter and remove a comment; line ends and brackets stay."""
    first = token[0][0]
    return token[0] if first in "[{]}" else ("s" if first in "\"'" else "") + "\n" * token[0].count("\n")


def _too_deep(where: str) -> ExperimentError:
    return ExperimentError(
        f"tables or arrays are nested more than {DEEPEST} deep", where=where, todo="write lists of plain values"
    )


def _first_line_below(text: str, depth: int) -> int:
    """The line (from 1) on which the brackets are first nested deeper than ``depth``."""
    level = 0
    for token in _TOKEN.finditer(text):
        level += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if level > depth:
            return text.count("\n", 0, token.start()) + 1
    return 1


def faults(data: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield the path and the fault of each key or value that is invalid in every table."""
    waiting: list[tuple[Path, Any]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        if len(path) > DEEPEST:
            yield path[:2], f"is nested more than {DEEPEST} deep"
        elif isinstance(value, dict):
            for key, inner in reversed(value.items()):
                if fault := _character_fault(key, allowed=""):
                    yield path, f"the key {key!r} {fault}"
                else:
                    waiting.append(((*path, key), inner))
        elif isinstance(value, list):
            waiting.extend(((*path, i), inner) for i, inner in reversed(list(enumerate(value))))
        elif isinstance(value, float) and not isfinite(value):
            yield path, f"{value} is not a finite number"
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            yield path, "is beyond TOML's range of integers, 64 bits with a sign"
        elif isinstance(value, str) and (fault := _character_fault(value, allowed="\n\t") or _length_fault(value)):
            yield path, fault


def _length_fault(text: str) -> str:
    return f"has {len(text):,} characters; at most {LONGEST_TEXT:,} are possible" if len(text) > LONGEST_TEXT else ""


def _character_fault(text: str, *, allowed: str) -> str:
    """Describe the first control character of a text that is not in ``allowed``; empty for a text without such a
    character.

    Escape sequences in a name reach every terminal that shows a report.
    """
    control = next((match[0] for match in CONTROL.finditer(text) if match[0] not in allowed), "")
    return f"contains the control character U+{ord(control):04X}: remove the character" if control else ""


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
