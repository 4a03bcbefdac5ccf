"""Quantities with units, as experiment files write them: ``"0.5ms"``, ``"16KiB"``, ``"1%"``.

A bare number is refused where a unit is needed: files are read by people, and 500000 has been taken for
milliseconds before.
"""

from __future__ import annotations

import re
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

SIZE_BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
"""Bytes in each unit of size (IEC 80000-13)."""

_QUANTITY = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([A-Za-zµ%/]*)\s*")


def split(text: str) -> tuple[Fraction, str]:
    """Split ``"0.5ms"`` into an exact number and its unit (may be empty); ValueError when it is neither."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a number with a unit")
    return Fraction(match[1]), match[2]


def parse_time_ns(text: object) -> int:
    """A time such as ``"0.1ms"`` in whole nanoseconds; ValueError names the units when it is not one."""
    return _parse(text, TIME_NS, "a time", "0.1ms, 250us or 10s")


def parse_size_bytes(text: object) -> int:
    """A size such as ``"64KiB"`` in bytes; ValueError names the units when it is not one."""
    return _parse(text, SIZE_BYTES, "a size", "64KiB or 16MiB")


def parse_share(text: object) -> float:
    """A share such as ``"1%"`` as a float (0.01); ValueError when the per cent sign is missing."""
    if not isinstance(text, str):
        raise ValueError(f'{text!r} has no unit: write it with a per cent sign, for instance "1%"')
    number, unit = split(text)
    if unit != "%":
        raise ValueError(f'{text!r} is not a share: write it with a per cent sign, for instance "1%"')
    return float(number / 100)


def _parse(text: object, units: dict[str, int], kind: str, example: str) -> int:
    known = ", ".join(units)
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise ValueError(f"{text!r} is not {kind}: write it like {example}")
    if not isinstance(text, str):
        raise ValueError(f"{text!r} has no unit: {kind} is written like {example} (units: {known})")
    number, unit = split(text)
    if not unit:
        raise ValueError(f"{text!r} has no unit: {kind} is written like {example} (units: {known})")
    if unit not in units:
        raise ValueError(f"{text!r} is not {kind}: {unit!r} is not one of its units ({known})")
    exact = number * units[unit]
    if exact.denominator != 1:
        raise ValueError(f"{text!r} is finer than one {next(iter(units))}")
    return int(exact)


def format_time(seconds: float) -> str:
    """Seconds in words for people: ``"45 s"``, ``"12 min 30 s"``, ``"3 h 5 min"``."""
    whole = round(seconds)
    if whole < 120:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 120:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def counted(number: int, one: str, many: str = "") -> str:
    """``1 block``, ``3 blocks``; ``many`` where it is not ``one`` with an s."""
    return f"{number} {one if number == 1 else many or one + 's'}"
