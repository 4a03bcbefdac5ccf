"""The layout of a printed table as stated by the user: ``--table columns=runs,label=1,baseline=2,better=lower``.

``docs/importing-tables.md`` documents the keys. :class:`Layout` declares them, and :data:`_KEYS` their values.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from schedlab.results.imported import ImportProblem, Spread
from schedlab.results.metrics import Direction

Columns = Literal["runs", "metrics"]
Gains = Literal["improvement", "change"]

SEPARATORS = ("bars", "tabs", "commas", "semicolons", "wide", "spaces")

_WHERE = "--table"
_SHOWN = 3
"""Rows that a dry run shows as they were divided."""
_RANGE = re.compile(r"(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?")


@dataclass(frozen=True)
class Layout:
    """A stated layout: a field for each key, with the meaning and default in ``docs/importing-tables.md``.

    Columns are numbered from 1. None means that the key is not stated.
    """

    columns: Columns
    label: tuple[int, ...] = (1,)
    baseline: int | str | None = None
    better: Direction | None = None
    unit: str = ""
    lines: tuple[int, int] | None = None
    separator: str | None = None
    skip: tuple[int, ...] = ()
    names: tuple[str, ...] | None = None
    gains: Gains | None = None
    spread: Spread = ""
    spread_unit: Literal["percent", "value"] | None = None
    decimal: Literal["point", "comma"] = "point"


def understood(header: Sequence[str], rows: Sequence[tuple[int, Sequence[str]]], layout: Layout) -> tuple[str, ...]:
    """Return the columns with their kinds, and the first rows, for people.

    Args:
        header: names of all columns.
        rows: number of the line and fields of each row.
        layout: the layout that the user stated.
    """
    kinds = dict.fromkeys(layout.label, "label") | dict.fromkeys(layout.skip, "left out")
    columns = [f"{name or k} ({kinds.get(k, 'figures')})" for k, name in enumerate(header, 1)]
    return (
        f"columns: {' | '.join(columns)}",
        *(f"line {number}: {' | '.join(fields)}" for number, fields in rows[:_SHOWN]),
    )


def layouts(text: str) -> list[Layout]:
    """Return the layouts of a ``--table`` option: ``KEY=VALUE,...``, or the path of a TOML file with the same keys.

    A file has the keys of one table at its top, or several tables as ``[[table]]``.
    """
    if not re.match(r"\w+=", text):
        return _from_file(Path(text))
    pairs: dict[str, Any] = {}
    for item in text.split(","):
        key, equals, value = item.partition("=")
        if not equals or key in pairs:
            raise _problem(f"{item!r} is {'stated twice' if key in pairs else 'not KEY=VALUE'}")
        pairs[key] = value
    return [_layout(pairs, _WHERE)]


def _from_file(path: Path) -> list[Layout]:
    try:
        with path.open("rb") as file:
            data = tomllib.load(file)
    except OSError as error:
        raise _problem(f"{path} is neither KEY=VALUE nor a file that can be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ImportProblem(f"is not TOML: {error}", where=str(path), todo=option()) from error
    tables = data.pop("table", None)
    if isinstance(tables, list) and tables and not data and all(isinstance(table, dict) for table in tables):
        return [_layout(table, str(path)) for table in tables]
    return [_layout(data if tables is None else data | {"table": tables}, str(path))]


def _layout(pairs: dict[str, Any], where: str) -> Layout:
    """Build a layout from texts (of the option) or TOML values."""
    if unknown := [key for key in pairs if key not in _KEYS]:
        raise _problem(f"{unknown[0]!r} is not a key; the keys are {', '.join(_KEYS)}", where)
    if "columns" not in pairs:
        raise _problem("'columns' is not stated", where)
    values: dict[str, Any] = {}
    for key, value in pairs.items():
        try:
            values[key] = _KEYS[key][0](value)
        except (ValueError, TypeError) as error:
            raise _problem(f"{key}={str(value)[:80]} is not {_KEYS[key][1]}", where) from error
    if set(values.get("label", (1,))) & set(values.get("skip", ())):
        raise _problem("a column is both in 'label' and in 'skip'", where)
    return Layout(**values)


def _one_of(*choices: str) -> tuple[Callable[[Any], str], str]:
    def parse(value: Any) -> str:
        if value not in choices:
            raise ValueError
        return str(value)

    return parse, f"{', '.join(choices[:-1])} or {choices[-1]}"


def _numbers(value: Any) -> tuple[int, ...]:
    """Parse ``1``, ``1+2``, ``1-3`` or ``none``; TOML may have a number or a list of numbers."""
    if value == "none":
        return ()
    if isinstance(value, list):
        return tuple(number for item in value for number in _numbers(item))
    numbers: list[int] = []
    for item in str(value).split("+"):
        first, last = _range(item)
        if first < 1 or last - first > 10_000:
            raise ValueError
        numbers += range(first, last + 1)
    return tuple(numbers)


def _range(value: Any) -> tuple[int, int]:
    match = _RANGE.fullmatch(str(value))
    if match is None or int(match["last"] or match["first"]) < int(match["first"]):
        raise ValueError
    return int(match["first"]), int(match["last"] or match["first"])


def _text(value: Any) -> str:
    if not str(value).isprintable() or not str(value):
        raise ValueError
    return str(value)


def _name_or_number(value: Any) -> int | str:
    text = _text(value)
    return int(text) if text.isdecimal() and len(text) < 10 else text


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(_text, value if isinstance(value, list) else str(value).split("+")))


_KEYS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "columns": _one_of(*get_args(Columns)),
    "label": (_numbers, "none, or the numbers of columns: 1, 1+2 or 1-3"),
    "baseline": (_name_or_number, "the number or name of a run"),
    "better": _one_of(*get_args(Direction)),
    "unit": (_text, "a unit"),
    "lines": (_range, "FIRST-LAST"),
    "separator": _one_of(*SEPARATORS),
    "skip": (_numbers, "the numbers of columns: 4, 4+6 or 4-6"),
    "names": (_texts, "the names of all columns: NAME+NAME"),
    "gains": _one_of(*get_args(Gains)),
    "spread": _one_of(*filter(None, get_args(Spread))),
    "spread_unit": _one_of("percent", "value"),
    "decimal": _one_of("point", "comma"),
}
"""For each key, the parser of its value and a description of valid values."""


def option(lines: str = "FIRST-LAST", keys: str = "label=1") -> str:
    """Return the ``--table`` option for these lines and keys, with the choices that the user must make."""
    quote = "'" if " " in keys else ""
    text = f"lines={lines},columns=runs|metrics,{keys},better=lower|higher"
    return f"--table {quote}{text}{quote} (docs/importing-tables.md)"


def _problem(fault: str, where: str = _WHERE) -> ImportProblem:
    return ImportProblem(fault, where=where, todo=option())
