"""The data that `schedlab tunables list` and `show` print."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .availability import Available, Resolution, State
from .library import catalogue, lookup, names_of
from .setting import allowed, range_text
from .system import System

if TYPE_CHECKING:
    from .terms import KernelRange
    from .tunable import Tunable


@dataclass(frozen=True)
class Row:
    """A line of the list. `current` is None where no value can be read; `why` gives the reason, or the place."""

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
    """A catalogue entry in words. `places` and `defaults` are pairs of a place or value and its kernels."""

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
    """Return a row for each named tunable, or for all of them, with its state on this system.

    For root, debugfs is mounted meanwhile. Raises UnknownTunable.
    """
    wanted = catalogue().values() if names is None else [lookup(name) for name in names]
    with system.debugfs():
        return [_row(system, tunable, system.resolve(tunable)) for tunable in wanted]


def describe(tunable: Tunable | str) -> Description:
    """Describe a tunable, given by any of its names; UnknownTunable for any other name."""
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
        defaults=tuple((default.value, _kernels(default.range, tunable)) for default in tunable.defaults),
        follows=tunable.follows,
        places=tuple((place.text, str(place.range)) for place in tunable.places),
        other_names=names_of(tunable),
        config=tuple(f"{need.option} ({_kernels(need.range, tunable)})" for need in tunable.config),
        cost=f"{tunable.cost.value}: {tunable.cost.meaning}",
        enabled_by=tunable.enabled_by,
        successor=tunable.successor,
        source=tunable.source,
    )


def _kernels(part: KernelRange, tunable: Tunable) -> str:
    """The range of a default or an option; where the catalogue gives none, the range of the tunable."""
    return str(tunable.range if part.is_all else part)


def _row(system: System, tunable: Tunable, here: Resolution) -> Row:
    places = tunable.places_in(system.version) or tunable.places[-1:]
    place = here.place if isinstance(here, Available) else places[0]
    return Row(
        name=tunable.name,
        area=tunable.area,
        state=here.state,
        current=here.current,
        why=here.why,
        range=range_text(tunable),
        unit=tunable.unit,
        place=place.text,
        kernels=str(tunable.range),
        summary=tunable.summary,
    )
