"""Quantities with units, read exactly: `0.5ms` for a file that holds nanoseconds is `500000`."""

from __future__ import annotations

import re

# Each family lists its units by their size in the family's smallest one.
_FAMILIES: dict[str, dict[str, int]] = {
    "time": {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9},
    "size": {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
    "rate": {"MB/s": 1, "GB/s": 1000},
    "share": {"percent": 1, "%": 1},
    "number": {"count": 1},
}
_SYNONYMS = {"µs": "us", "usec": "us", "msec": "ms", "sec": "s", "MBps": "MB/s", "GBps": "GB/s"}
_QUANTITY = re.compile(r"([+-]?\d[\d_]*(?:\.\d+)?(?:[eE]\d+)?)\s*([^\d\s].*)?")

UNITS: tuple[str, ...] = tuple(unit for family in _FAMILIES.values() for unit in family)


def accepted_units(own: str) -> tuple[str, ...]:
    """The units that a text for a tunable in unit `own` may carry, smallest first."""
    for family in _FAMILIES.values():
        if own in family:
            return tuple(unit for unit in family if unit != "count")
    raise ValueError(f"unknown unit {own!r}")


def quantity(text: str, own: str) -> int:
    """Read a number with an optional unit and return it in unit `own`.

    In: text such as `500us`, `0.5 ms`, `-1`; a bare number is in `own` already. Out: an integer in `own`.
    ValueError, with a reason that follows "… ", when the text is no number, has a unit of another kind, or is
    no whole number of `own`.
    """
    from fractions import Fraction

    found = _QUANTITY.fullmatch(text.strip())
    if found is None:
        raise ValueError("is not a number with an optional unit")
    number = Fraction(found[1].replace("_", ""))
    unit = (found[2] or own).strip()
    unit = _SYNONYMS.get(unit, unit)
    family = next(family for family in _FAMILIES.values() if own in family)
    if unit not in family:
        kinds = ", ".join(accepted_units(own))
        raise ValueError(f"has the unit {unit!r}, not one of {kinds}" if kinds else "takes no unit")
    exact = number * family[unit] / family[own]
    if exact.denominator != 1:
        raise ValueError(f"is not a whole number of {own}")
    return int(exact)
