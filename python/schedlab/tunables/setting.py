"""A tunable's value, parsed once from an experiment file or from ``--set``, and the description of valid values.

The rest of schedlab passes on a :class:`Setting`: from the experiment file through the plan to the target, the
journal and the simulator. No other module parses values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from schedlab.notation.units import SIZE_BYTES, TIME_NS, duration_ns
from schedlab.tunables.errors import BadValue, UnknownTunable
from schedlab.tunables.library import lookup
from schedlab.tunables.terms import KernelVersion, Kind

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

    from schedlab.tunables.tunable import Choice, Tunable

_YES = {"1", "y", "yes", "on", "true", "enable", "enabled"}
_NO = {"0", "n", "no", "off", "false", "disable", "disabled"}

_FAMILIES = (TIME_NS, SIZE_BYTES, {"MB/s": 1, "GB/s": 1000}, {"percent": 1, "%": 1}, {"count": 1})
"""Families of units: each unit with its size in the family's smallest unit."""

_SYNONYMS = {"MBps": "MB/s", "GBps": "GB/s"}
_QUANTITY = re.compile(r"([+-]?\d[\d_]*(?:\.\d+)?(?:[eE]\d+)?)\s*([^\d\s].*)?")


@dataclass(frozen=True)
class Setting:
    """A tunable and its requested value.

    ``name`` is canonical. ``text`` is the value in canonical form, in the unit of the tunable's file; a codec
    converts it to the written text. ``tunable`` is None for a constant that only kernel models have.
    """

    name: str
    text: str
    tunable: Tunable | None = field(repr=False)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        """Make a setting an opaque value in pydantic models."""
        from pydantic_core.core_schema import is_instance_schema

        return is_instance_schema(cls)

    @property
    def catalogued(self) -> Tunable:
        """The tunable; UnknownTunable for a constant that only kernel models have."""
        return lookup(self.name) if self.tunable is None else self.tunable

    @property
    def number(self) -> int:
        """The value as kernel models take it, 1 or 0 for a scheduler feature; ValueError when the value is not a
        number."""
        if self.tunable is not None and self.tunable.kind is Kind.FEATURE:
            return int(not self.text.startswith("NO_"))
        return int(self.text)


def setting(name: str, value: object) -> Setting:
    """Return the setting for a tunable, by any of its names, and a value in the form of experiment files.

    A :class:`Setting` as ``value`` is returned unchanged. Raises UnknownTunable, and BadValue with the allowed values.
    """
    if isinstance(value, Setting):
        return value
    tunable = lookup(name)
    return Setting(tunable.name, parse(tunable, value), tunable)


def model_setting(name: str, value: object) -> Setting:
    """As :func:`setting`, for simulated kernels: a name that the catalogue lacks is a constant of a kernel model.

    Such a constant takes a whole number, or the words of a switch. Raises UnknownTunable for any other value,
    because the name is then more likely a mistake.
    """
    try:
        return setting(name, value)
    except UnknownTunable:
        word = str(value).strip()
        if isinstance(value, bool) or (isinstance(value, str) and word.lower() in _YES | _NO):
            return Setting(name, str(int(_parse_switch(value))), None)
        if isinstance(value, int) or (isinstance(value, str) and re.fullmatch(r"-?[0-9]+", word)):
            return Setting(name, str(int(word)), None)
        raise


def parse(tunable: Tunable, value: object) -> str:
    """Return the canonical text, in the unit of the file, for a value of an experiment file.

    Args: an integer in the tunable's unit, a boolean, or text with a unit (`"0.5ms"`). Raises BadValue, which names
    the allowed values.
    """
    try:
        match tunable.kind:
            case Kind.INT:
                return _parse_int(tunable, value)
            case Kind.BOOL:
                return "1" if _parse_switch(value) else "0"
            case Kind.FEATURE:
                return _parse_feature(tunable, value)
            case Kind.CHOICE:
                return _parse_choice(tunable, value)
            case Kind.STRING:
                return _parse_string(value)
            case Kind.KNOB:
                return _parse_knob(value)
    except ValueError as error:
        raise BadValue(tunable.name, value, str(error), allowed(tunable)) from None


def quantity(text: str, unit: str) -> int:
    """Read a number with an optional unit and return it in `unit`.

    Args: text such as `500us`, `0.5 ms`, `-1`; a bare number is already in `unit`. Out: an integer in `unit`.
    ValueError, with a reason that continues "'500us' …", for a text that is not a number, for a unit of another kind,
    and for a fraction of `unit`.
    """
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        raise ValueError("is not a number with an optional unit")
    family = _family(unit)
    written = (match[2] or unit).strip()
    written = _SYNONYMS.get(written, written)
    if match[2] and family is TIME_NS:
        exact = Fraction(duration_ns(text), family[unit])
    elif written in family:
        exact = Fraction(match[1].replace("_", "")) * family[written] / family[unit]
    else:
        names = ", ".join(accepted_units(unit))
        raise ValueError(f"has the unit {written!r}, which is not one of {names}" if names else "takes no unit")
    if exact.denominator != 1:
        raise ValueError(f"is not a whole number of {unit}")
    return int(exact)


def accepted_units(unit: str) -> tuple[str, ...]:
    """Return the units that a text for a tunable in `unit` may have, smallest first."""
    return tuple(name for name in _family(unit) if name not in ("count", "µs"))


def _family(unit: str) -> dict[str, int]:
    return next(family for family in _FAMILIES if unit in family)


def check_kernel(tunable: Tunable, text: str, version: KernelVersion) -> None:
    """Raise BadValue when the choice `text` exists, but not in mainline kernels of that version."""
    for choice in tunable.choices:
        if choice.value == text and version not in choice.range:
            why = f"is not in kernel {version} (present {choice.range})"
            raise BadValue(tunable.name, choice.name, why, allowed(tunable))


def allowed(tunable: Tunable) -> str:
    """A description of the values of a tunable: range with unit, units of texts, choices, special values."""
    match tunable.kind:
        case Kind.BOOL:
            return "true or false"
        case Kind.FEATURE:
            flag = _flag(tunable)
            return f'true or false (or "{flag}", "NO_{flag}")'
        case Kind.CHOICE:
            return "; ".join(_choice_text(choice) for choice in tunable.choices)
        case Kind.STRING:
            return _with_specials("a text", tunable)
        case Kind.KNOB:
            return "true, false, a number, or a text in the form of the file"
        case Kind.INT:
            return _with_specials(_range_text(tunable), tunable)


def _parse_int(tunable: Tunable, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("is not a number")
    if isinstance(value, float) and not value.is_integer():
        raise ValueError("is a fraction without a unit (write a text such as '0.5ms')")
    number = quantity(value, tunable.unit) if isinstance(value, str) else int(value)
    if str(number) in tunable.special:
        return str(number)
    if tunable.minimum is not None and number < tunable.minimum:
        raise ValueError("is too small")
    if tunable.maximum is not None and number > tunable.maximum:
        raise ValueError("is too large")
    return str(number)


def _parse_switch(value: object) -> bool:
    word = str(value).strip().lower()
    if isinstance(value, bool | int | str):
        if word in _YES:
            return True
        if word in _NO:
            return False
    raise ValueError("is neither true nor false")


def _parse_feature(tunable: Tunable, value: object) -> str:
    flag = _flag(tunable)
    if isinstance(value, str) and value.strip() in (flag, f"NO_{flag}"):
        return value.strip()
    return flag if _parse_switch(value) else f"NO_{flag}"


def _parse_choice(tunable: Tunable, value: object) -> str:
    """A choice by its value or its name; where "on" and "off" are names, every word of a switch is accepted."""
    if not isinstance(value, bool | int | str):
        raise ValueError("is not one of the choices")
    words = [str(value).strip().lower()]
    if isinstance(value, bool) or words[0] in (_YES | _NO) - {"0", "1"}:
        words.append("on" if _parse_switch(value) else "off")
    for word in words:
        for choice in tunable.choices:
            if word in (choice.value.lower(), choice.name.lower()):
                return choice.value
    raise ValueError("is not one of the choices")


def _parse_string(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError("is not a text")
    text = " ".join(str(value).split())
    if not text:
        raise ValueError("is empty")
    return text


def _parse_knob(value: object) -> str:
    if isinstance(value, bool | int):
        return str(int(value))
    if isinstance(value, float):
        return str(value)
    return _parse_string(value)


def _flag(tunable: Tunable) -> str:
    return tunable.name.rpartition(".")[2]


def _choice_text(choice: Choice) -> str:
    label = choice.name if choice.name == choice.value else f"{choice.name} ({choice.value})"
    ranged = "" if choice.range.since.major == 4 and choice.range.until is None else f", {choice.range}"
    return f"{label} = {choice.meaning}{ranged}"


def _range_text(tunable: Tunable) -> str:
    unit = "" if tunable.unit == "count" else f" {tunable.unit}"
    low, high = tunable.minimum, tunable.maximum
    if low is not None and high is not None:
        text = f"{low} to {high}{unit}"
    elif low is not None:
        text = f"{low}{unit} or more"
    elif high is not None:
        text = f"at most {high}{unit}"
    else:
        text = f"any whole number{' of' + unit if unit else ''}"
    units = accepted_units(tunable.unit)
    if units:
        text += f" (as a whole number in {tunable.unit}, or a text with {', '.join(units)})"
    return text


def _with_specials(text: str, tunable: Tunable) -> str:
    specials = "; ".join(f"{value} = {meaning}" for value, meaning in tunable.special.items())
    return f"{text}; special: {specials}" if specials else text
