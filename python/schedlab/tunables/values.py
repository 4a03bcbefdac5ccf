"""From what an experiment file holds to what a kernel file is given, and the words for what is allowed."""

from __future__ import annotations

from .errors import BadValue
from .kernel import KernelVersion
from .model import Choice, Kind, Tunable
from .units import accepted_units, quantity

_YES = {"1", "y", "yes", "on", "true", "enable", "enabled"}
_NO = {"0", "n", "no", "off", "false", "disable", "disabled"}


def allowed(tunable: Tunable) -> str:
    """What a tunable takes, in words: range with unit, units of texts, choices, special values."""
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
        case Kind.INT:
            return _with_specials(_range_text(tunable), tunable)


def range_text(tunable: Tunable) -> str:
    """`allowed` in short, for a table's column."""
    if tunable.kind is Kind.INT:
        return _range_text(tunable, texts=False)
    if tunable.kind is Kind.CHOICE:
        return " | ".join(choice.name for choice in tunable.choices)
    return {Kind.BOOL: "true | false", Kind.FEATURE: "true | false"}.get(tunable.kind, "text")


def parse(tunable: Tunable, value: object) -> str:
    """Text to write for `value`; BadValue names what is allowed. See `Tunable.parse`."""
    try:
        match tunable.kind:
            case Kind.INT:
                return _parse_int(tunable, value)
            case Kind.BOOL:
                return "1" if _parse_bool(value) else "0"
            case Kind.FEATURE:
                return _parse_feature(tunable, value)
            case Kind.CHOICE:
                return _parse_choice(tunable, value)
            case Kind.STRING:
                return _parse_string(value)
    except ValueError as error:
        raise BadValue(tunable.name, value, str(error), allowed(tunable)) from None


def check_kernel(tunable: Tunable, text: str, version: KernelVersion) -> None:
    """Raise BadValue when the choice `text` exists, but not in mainline kernels of that version."""
    for choice in tunable.choices:
        if choice.value == text and version not in choice.range:
            raise BadValue(
                tunable.name,
                choice.name,
                f"is not in kernel {version} (it is {choice.range})",
                allowed(tunable),
            )


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


def _parse_bool(value: object) -> bool:
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
    return flag if _parse_bool(value) else f"NO_{flag}"


def _parse_choice(tunable: Tunable, value: object) -> str:
    if not isinstance(value, bool | int | str):
        raise ValueError("is not one of the choices")
    words = {str(value).strip().lower()}
    if isinstance(value, bool):
        words = {"on" if value else "off"}
    for choice in tunable.choices:
        if words & {choice.value.lower(), choice.name.lower()}:
            return choice.value
    raise ValueError("is not one of the choices")


def _parse_string(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError("is not a text")
    text = " ".join(str(value).split())
    if not text:
        raise ValueError("is empty")
    return text


def _flag(tunable: Tunable) -> str:
    return tunable.name.rpartition(".")[2]


def _choice_text(choice: Choice) -> str:
    own = choice.name if choice.name == choice.value else f"{choice.name} ({choice.value})"
    ranged = "" if choice.range.since.major == 4 and choice.range.until is None else f", {choice.range}"
    return f"{own} = {choice.meaning}{ranged}"


def _range_text(tunable: Tunable, *, texts: bool = True) -> str:
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
    if texts and units:
        text += f" (as a whole number in {tunable.unit}, or a text with {', '.join(units)})"
    return text


def _with_specials(text: str, tunable: Tunable) -> str:
    specials = "; ".join(f"{value} = {meaning}" for value, meaning in tunable.special.items())
    return f"{text}; special: {specials}" if specials else text
