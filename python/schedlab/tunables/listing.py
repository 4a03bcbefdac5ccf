"""What `schedlab tunables list` and `show` print: data only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from .availability import Absent, Available, BootOnly, ReadOnly, Refused, Resolution
from .kernel import KernelRange
from .library import catalogue, lookup, names_of
from .model import Tunable
from .setting import allowed, range_text
from .system import System


class State(StrEnum):
    """Whether a tunable can be set here."""

    SETTABLE = "settable"
    READ_ONLY = "read-only"
    REFUSED = "refused"
    UNMOUNTED = "unmounted"
    BOOT = "boot"
    ABSENT = "absent"


@dataclass(frozen=True)
class Row:
    """One line of a list. `current` is None where no value can be read; `why` says why, or where the value is."""

    name: str
    area: str
    state: State
    current: str | None
    why: str
    range: str
    unit: str
    place: str
    kernels: str
    summary: str


@dataclass(frozen=True)
class Description:
    """All the catalogue says about a tunable, in words. `places` are pairs of place and kernels."""

    name: str
    area: str
    summary: str
    kind: str
    unit: str
    allowed: str
    special: dict[str, str]
    choices: tuple[tuple[str, str, str], ...]
    defaults: tuple[tuple[str, str], ...]
    follows: str
    places: tuple[tuple[str, str], ...]
    other_names: tuple[str, ...]
    config: tuple[str, ...]
    cost: str
    enabled_by: str | None
    successor: str | None
    source: str


def rows(system: System, names: Iterable[str] | None = None) -> list[Row]:
    """A row for each tunable named, or for all, as this system has them; mounts debugfs for as long, when root.

    UnknownTunable for a name that is none.
    """
    wanted = catalogue().values() if names is None else [lookup(name) for name in names]
    with system.debugfs():
        return [_row(system, tunable, system.resolve(tunable)) for tunable in wanted]


def describe(tunable: Tunable | str) -> Description:
    """All about one tunable, given itself or any of its names; UnknownTunable when it is none."""
    tunable = lookup(tunable) if isinstance(tunable, str) else tunable
    return Description(
        name=tunable.name,
        area=tunable.area,
        summary=tunable.summary,
        kind=tunable.kind.value,
        unit=tunable.unit,
        allowed=allowed(tunable),
        special=dict(tunable.special),
        choices=tuple((choice.value, choice.name, choice.meaning) for choice in tunable.choices),
        defaults=tuple((default.value, _while(default.range, tunable)) for default in tunable.defaults),
        follows=tunable.follows,
        places=tuple((place.text, str(place.range)) for place in tunable.places),
        other_names=names_of(tunable),
        config=tuple(f"{need.option} ({_while(need.range, tunable)})" for need in tunable.config),
        cost=f"{tunable.cost.value}: {tunable.cost.meaning}",
        enabled_by=tunable.enabled_by,
        successor=tunable.successor,
        source=tunable.source,
    )


def _while(part: KernelRange, tunable: Tunable) -> str:
    """When something holds of a tunable: as long as there is the tunable, where nothing narrower is known."""
    return str(tunable.range if part.is_all else part)


def _row(system: System, tunable: Tunable, here: Resolution) -> Row:
    places = tunable.places_in(system.version) or tunable.places[-1:]
    place = here.place if isinstance(here, Available) else places[0]
    return Row(
        name=tunable.name,
        area=tunable.area,
        state=_state(here),
        current=None if isinstance(here, Absent | Refused) else here.current,
        why=here.why,
        range=range_text(tunable),
        unit=tunable.unit,
        place=place.text,
        kernels=str(tunable.range),
        summary=tunable.summary,
    )


def _state(here: Resolution) -> State:
    match here:
        case Available():
            return State.SETTABLE
        case ReadOnly():
            return State.READ_ONLY
        case Refused():
            return State.UNMOUNTED if here.unmounted else State.REFUSED
        case BootOnly():
            return State.BOOT
        case Absent():
            return State.ABSENT
