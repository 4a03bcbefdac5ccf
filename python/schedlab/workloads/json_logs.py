"""JSON output of tools. Errors name the line, and every value is checked before use."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite
from typing import Any

from schedlab.workloads.log_reader import Log

Object = dict[str, Any]

_BLANKS = re.compile(r"\s*")


def load(log: Log) -> Object:
    """Return the only JSON object of a log; ImportProblem with the line when the text is cut off or no object."""
    try:
        content = json.loads(log.text)
    except json.JSONDecodeError as error:
        fault = "ends in the middle of its JSON" if error.pos >= len(log.text.rstrip()) else f"is not JSON: {error.msg}"
        raise log.problem(fault, error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise log.problem(f"is not JSON that can be read: {error}", 1) from error
    if not isinstance(content, dict):
        raise log.problem("is JSON, but not an object", 1)
    return content


def load_all(log: Log) -> list[Object]:
    """Return the JSON objects of a log to which a loop has appended several; errors as for :func:`load`."""
    decoder, at = json.JSONDecoder(), _after_blanks(log.text, 0)
    objects: list[Object] = []
    while at < len(log.text):
        try:
            content, end = decoder.raw_decode(log.text, at)
        except (ValueError, RecursionError):
            # load() raises the same error again, with the message and the line for people.
            blank_lines = "\n" * log.text.count("\n", 0, at)
            return [*objects, load(replace(log, text=blank_lines + log.text[at:]))]
        if not isinstance(content, dict):
            raise log.problem("is JSON, but not an object", log.line_at(at))
        objects.append(content)
        at = _after_blanks(log.text, end)
    return objects


def _after_blanks(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at


def number(value: object) -> float | None:
    """Return a finite number; None for any other value, including booleans."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        converted = float(value)
    except OverflowError:
        return None
    return converted if isfinite(converted) else None


def numbers(value: object) -> list[float]:
    """Return the finite numbers of a list; an empty list for any other value."""
    return [converted for item in items(value) if (converted := number(item)) is not None]


def items(value: object) -> list[Any]:
    """Return a list unchanged; an empty list for any other value."""
    return value if isinstance(value, list) else []


def objects_of(value: object) -> Iterator[Object]:
    """Yield the objects of a list."""
    return (item for item in items(value) if isinstance(item, dict))


def inner(content: object, *path: str) -> Any:
    """Return the value at a path of keys through nested objects; None where a key is missing."""
    for key in path:
        content = content.get(key) if isinstance(content, dict) else None
    return content


def parameter(value: object) -> str | int | float:
    """Return a parameter's value: numbers stay numbers, other values become text."""
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 53):
        return value
    converted = number(value)
    return converted if converted is not None else json.dumps(value, sort_keys=True)
