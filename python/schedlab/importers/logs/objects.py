"""JSON objects of tools: read whole, with the line of what is wrong, and nothing in them believed unseen."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite
from typing import Any

from schedlab.importers.logs.base import CUT, Log

Object = dict[str, Any]

_BLANKS = re.compile(r"\s*")


def load(log: Log) -> Object:
    """The log's one JSON object.

    Raises:
        ImportProblem: it is cut off, is not JSON or not an object; the line is told.
    """
    try:
        told = json.loads(log.text)
    except json.JSONDecodeError as error:
        what = "ends in the middle of its JSON" if error.pos >= len(log.text.rstrip()) else f"is no JSON: {error.msg}"
        raise log.problem(what, error.lineno, CUT) from error
    except (ValueError, RecursionError) as error:
        raise log.problem(f"is no JSON that can be read: {error}", 1) from error
    if not isinstance(told, dict):
        raise log.problem("is JSON, but no object", 1)
    return told


def load_all(log: Log) -> list[Object]:
    """The log's JSON objects, one after the other, as a loop that appends to a file leaves them.

    Raises:
        ImportProblem: as :func:`load`.
    """
    decoder, at = json.JSONDecoder(), _after_blanks(log.text, 0)
    found: list[Object] = []
    while at < len(log.text):
        try:
            told, end = decoder.raw_decode(log.text, at)
        except (ValueError, RecursionError):
            # The same error, in the words of a log that holds one object.
            blank = "\n" * log.text.count("\n", 0, at)
            return [*found, load(replace(log, text=blank + log.text[at:]))]
        if not isinstance(told, dict):
            raise log.problem("is JSON, but no object", log.line_at(at))
        found.append(told)
        at = _after_blanks(log.text, end)
    return found


def _after_blanks(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at


def number(value: object) -> float | None:
    """A finite number; None for anything else, so that nothing that is none becomes one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if isfinite(found) else None


def numbers(value: object) -> list[float]:
    """The finite numbers of a list; empty for anything else."""
    return [found for one in items(value) if (found := number(one)) is not None]


def items(value: object) -> list[Any]:
    """A list; empty for anything else."""
    return value if isinstance(value, list) else []


def objects(value: object) -> Iterator[Object]:
    """The objects of a list."""
    return (one for one in items(value) if isinstance(one, dict))


def inner(told: object, *path: str) -> Any:
    """What lies in objects within objects; None where there is no such thing."""
    for key in path:
        told = told.get(key) if isinstance(told, dict) else None
    return told


def plain(value: object) -> str | int | float:
    """A parameter's value: numbers stay numbers, everything else is text."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 53:
        return value
    found = number(value)
    return found if found is not None else json.dumps(value, sort_keys=True)
