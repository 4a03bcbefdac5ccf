"""The layout of a printed table as the user states it: ``--table columns=runs,label=1,baseline=2,better=lower``.

``docs/importing-tables.md`` documents the keys; :class:`Layout` is their declaration.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from schedlab.kinds import Direction
from schedlab.results import ImportProblem, Spread

Columns = Literal["runs", "metrics"]
Gains = Literal["improvement", "change"]

SEPARATORS = ("bars", "tabs", "commas", "semicolons", "wide", "spaces")

_WHERE = "--table"
_RANGE = re.compile(r"(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?")


@dataclass(frozen=True)
class Layout:
    """A stated layout.

    Attributes:
        columns: what the columns of figures are: ``runs`` that are compared, or ``metrics`` of a run in each row.
        label: numbers of the columns that name the rows, from 1.
        baseline: the run that others are compared with: the number of its column (or with ``columns=metrics`` of its
            row, the first below the header is 1), or its name. None: the first run.
        better: which figures are better; None: not stated, and no verdict on any row.
        unit: of all figures that print none; a figure with another unit is refused.
        lines: first and last line of the table, the header included; None: every table that no grammar reads.
        separator: what separates the columns; None: bars, tabs, commas, semicolons or spaces, where only one of them
            gives every line the same number of columns.
        skip: numbers of columns to leave out, such as changes in per cent.
        names: names of all columns, for a table without header; None: the first line is the header.
        gains: what signed figures in parentheses, brackets or stars are.
        spread: what figures after ``±`` are, or in parentheses.
        spread_unit: whether figures in parentheses without a sign are per cent of the value, or in its unit.
        decimal: the decimal mark.
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
        raise ImportProblem(f"is not TOML: {error}", where=str(path), todo=_todo()) from error
    tables = data.pop("table", None)
    if isinstance(tables, list) and tables and not data and all(isinstance(table, dict) for table in tables):
        return [_layout(table, str(path)) for table in tables]
    return [_layout(data if tables is None else data | {"table": tables}, str(path))]


def _layout(pairs: dict[str, Any], where: str) -> Layout:
    """Build a layout from texts (of the option) or TOML values."""
    keys = [field.name for field in fields(Layout)]
    if unknown := [key for key in pairs if key not in keys]:
        raise _problem(f"{unknown[0]!r} is not a key", where)
    if "columns" not in pairs:
        raise _problem("'columns' is not stated", where)
    values: dict[str, Any] = {}
    for key, value in pairs.items():
        try:
            values[key] = _PARSERS[key](value)
        except (ValueError, TypeError) as error:
            raise _problem(f"{key}={value} is not {_MEANINGS[key]}", where) from error
    if set(values.get("label", (1,))) & set(values.get("skip", ())):
        raise _problem("a column is both in 'label' and in 'skip'", where)
    return Layout(**values)


def _one_of(*choices: str) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        if value not in choices:
            raise ValueError
        return str(value)

    return parse


def _numbers(value: Any) -> tuple[int, ...]:
    """Parse ``1``, ``1+2``, ``1-3`` or ``none``; TOML may have a number or a list of numbers."""
    if value in ("none", 0, "0"):
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


def _name_or_number(value: Any) -> int | str:
    text = str(value)
    if not text:
        raise ValueError
    return int(text) if text.isdecimal() else text


def _texts(value: Any) -> tuple[str, ...]:
    texts = tuple(map(str, value if isinstance(value, list) else str(value).split("+")))
    if not all(texts):
        raise ValueError
    return texts


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "columns": _one_of(*get_args(Columns)),
    "label": _numbers,
    "baseline": _name_or_number,
    "better": _one_of(*get_args(Direction)),
    "unit": str,
    "lines": _range,
    "separator": _one_of(*SEPARATORS),
    "skip": _numbers,
    "names": _texts,
    "gains": _one_of(*get_args(Gains)),
    "spread": _one_of(*filter(None, get_args(Spread))),
    "spread_unit": _one_of("percent", "value"),
    "decimal": _one_of("point", "comma"),
}
_MEANINGS = {
    "columns": "runs or metrics",
    "label": "none, or the numbers of columns: 1, 1+2 or 1-3",
    "baseline": "the number or name of a run",
    "better": "lower or higher",
    "unit": "a unit",
    "lines": "FIRST-LAST",
    "separator": f"one of {', '.join(SEPARATORS)}",
    "skip": "the numbers of columns: 4, 4+6 or 4-6",
    "names": "the names of all columns: NAME+NAME",
    "gains": "improvement (positive is better) or change (positive is larger)",
    "spread": "'standard deviation', 'standard error' or unknown",
    "spread_unit": "percent or value",
    "decimal": "point or comma",
}


def _todo() -> str:
    keys = "; ".join(f"{key}: {meaning}" for key, meaning in _MEANINGS.items())
    return f"for example --table columns=runs,label=1,baseline=2,better=lower; {keys}"


def _problem(what: str, where: str = _WHERE) -> ImportProblem:
    return ImportProblem(what, where=where, todo=_todo())
