"""Quantities with units in the notation of experiment files and command lines: ``"0.5ms"``, ``"16KiB"``, ``"1%"``.

Durations have one grammar in Python (:func:`parse_time_ns`) and in Rust (``crates/workload/src/duration.rs``): a
decimal number, then ``ns``, ``us``, ``µs``, ``ms``, ``s``, ``min`` or ``h``. ``tests/durations.json`` lists texts that
both parsers must accept or refuse alike.

A bare number is refused where a unit is needed, because readers may take 500000 for another unit.
"""

from __future__ import annotations

import re
from math import inf
from typing import TYPE_CHECKING

from schedlab.errors import SchedlabError

if TYPE_CHECKING:
    from fractions import Fraction

TIME_NS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "ms": 1_000_000,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
}
"""Nanoseconds in each unit of time (SI; BIPM SI brochure, table 8 for min and h)."""

SYMBOLS = {
    "sec": "s", "secs": "s", "second": "s", "seconds": "s", "msec": "ms", "msecs": "ms", "millisecond": "ms",
    "milliseconds": "ms", "usec": "us", "usecs": "us", "µs": "us", "μs": "us", "microseconds": "us", "nsec": "ns",
    "nsecs": "ns", "nanoseconds": "ns", "m": "min", "minutes": "min", "hours": "h", "percent": "%",
}  # fmt: skip
"""Symbols of times and shares in the units of metrics, by other names that tools and users write."""

SIZE_BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
"""Bytes in each unit of size (IEC 80000-13)."""

LONGEST_NS = 2**63 - 1
"""The longest duration, 292 years: the largest signed 64-bit number of nanoseconds."""

_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([^\s0-9.].*)?")


def split(text: str) -> tuple[Fraction, str]:
    """Split ``"0.5ms"`` into an exact number and its unit, which may be empty; ValueError for any other text."""
    from fractions import Fraction

    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a number with a unit")
    return Fraction(match[1]), match[2] or ""


def parse_time_ns(value: object) -> int:
    """Return a duration such as ``"0.1ms"`` in whole nanoseconds; ValueError names the units for any other value."""
    # A number without a unit has the same message whether the file quotes it or not.
    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        raise ValueError(f"{value!r} is not a duration: write a number and a unit, such as 0.1ms")
    try:
        return duration_ns(text)
    except ValueError as error:
        raise ValueError(f"{value!r} {error}") from None


def parse_share(value: object) -> float:
    """Return a share such as ``"1%"`` as a float (0.01); ValueError when the per cent sign is missing."""
    if not isinstance(value, str):
        raise ValueError(f'{value!r} has no unit: write a per cent sign, for instance "1%"')
    number, unit = split(value)
    if unit != "%":
        raise ValueError(f'{value!r} is not a share: write a number with a per cent sign, for instance "1%"')
    return float(number / 100)


def duration_ns(text: str) -> int:
    """Return a duration in whole nanoseconds. The ValueError's message continues a sentence that begins with the text.

    ``m`` is refused because the unit could mean minutes or milliseconds.
    """
    match = _QUANTITY.fullmatch(text.strip())
    if match is not None and match[2] == "m":
        raise ValueError(f"is ambiguous: write {match[1]}min for minutes or {match[1]}ms for milliseconds")
    ns = scaled(text, TIME_NS, "a duration", "0.1ms")
    if ns > LONGEST_NS:
        raise ValueError("is too long: the longest duration is 292 years")
    return ns


def scaled(text: str, units: dict[str, int], kind: str, example: str) -> int:
    """Convert an exact number with a unit to the smallest unit; the ValueError's message lacks its subject."""
    from fractions import Fraction

    names = ", ".join(unit for unit in units if unit != "µs")
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"is not {kind}: write a number and a unit ({names}), such as {example}")
    if not match[2]:
        raise ValueError(f"has no unit: write {kind} like {example} (units: {names})")
    if match[2] not in units:
        raise ValueError(f"is not {kind}: the unit {match[2]!r} is not one of {names}")
    exact = Fraction(match[1]) * units[match[2]]
    if exact.denominator != 1:
        raise ValueError(f"is not a whole number of {next(iter(units))}")
    return int(exact)


def format_time(seconds: float) -> str:
    """Return seconds as text for people: ``"45 s"``, ``"12 min 30 s"``, ``"3 h 5 min"``."""
    total = round(seconds)
    if total < 120:
        return f"{total} s"
    minutes, rest = divmod(total, 60)
    if minutes < 120:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def with_unit(number: float, unit: str) -> str:
    """Return a quantity with its unit, four digits of a fraction, and a time in the unit that suits it: ``0.5 µs``."""
    if unit in TIME_NS and number:
        ns = number * TIME_NS[unit]
        unit, size = next(((name, TIME_NS[name]) for name in ("s", "ms", "µs") if abs(ns) >= TIME_NS[name]), ("ns", 1))
        number = ns / size
    text = f"{number:.4g}" if isinstance(number, float) else str(number)
    return f"{text} {unit}".strip()


def counted(number: int, singular: str, plural: str = "") -> str:
    """``1 block``, ``3 blocks``; ``plural`` is the form to use where the plural is not ``singular`` with an s."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def seconds_of(limit: str | None, option: str) -> float:
    """Return a limit of time in seconds; infinity without a limit. ``option`` names the limit in messages."""
    if limit is None:
        return inf
    remedy = "write a time with its unit, such as 30min or 2h"
    try:
        seconds = parse_time_ns(limit) / 1e9
    except ValueError as error:
        raise SchedlabError(str(error), where=option, todo=remedy) from error
    if seconds <= 0:
        raise SchedlabError("a limit must be positive", where=option, todo=remedy)
    return seconds
