"""The catalogue's file format, checked key by key; only `catalogue` imports this, because pydantic is slow to."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from .codecs import CODEC_NAMES
from .kernel import FIRST, KernelRange, KernelVersion
from .model import Choice, ConfigNeed, Cost, Default, Kind, Place, PlaceKind, Tunable
from .setting import UNITS

Version = Annotated[str, Field(pattern=r"^\d+\.\d+$")]
ConfigText = Annotated[str, Field(pattern=r"^CONFIG_\w+( (since|until) \d+\.\d+)?$")]


class _Ranged(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    since: Version | None = None
    until: Version | None = None

    @property
    def range(self) -> KernelRange:
        since = KernelVersion.parse(self.since) if self.since else FIRST
        return KernelRange(since, KernelVersion.parse(self.until) if self.until else None)

    @model_validator(mode="after")
    def _in_order(self) -> _Ranged:
        if self.range.until is not None and self.range.until < self.range.since:
            raise ValueError(f"until {self.until} comes before since {self.since}")
        return self


class PlaceEntry(_Ranged):
    """One of `sysctl`, `debugfs`, `sysfs`, `boot`, with the kernels that have it."""

    sysctl: str | None = None
    debugfs: str | None = None
    sysfs: str | None = None
    boot: str | None = None
    codec: str | None = None
    arguments: dict[str, str] = {}

    @field_validator("codec")
    @classmethod
    def _known_codec(cls, codec: str | None) -> str | None:
        if codec is not None and codec not in CODEC_NAMES:
            raise ValueError(f"unknown codec {codec!r}; one of {', '.join(CODEC_NAMES)}")
        return codec

    @model_validator(mode="after")
    def _arguments_at_boot(self) -> PlaceEntry:
        if self.arguments and self.boot is None:
            raise ValueError("arguments belong to a boot parameter")
        return self

    @model_validator(mode="after")
    def _one_door(self) -> PlaceEntry:
        if sum(door is not None for door in (self.sysctl, self.debugfs, self.sysfs, self.boot)) != 1:
            raise ValueError("a place has exactly one of sysctl, debugfs, sysfs, boot")
        return self

    def place(self, usual_codec: str) -> Place:
        """The place as the rest of the package knows it."""
        for kind in PlaceKind:
            where = getattr(self, kind.value)
            if where is not None:
                return Place(kind, where, self.range, self.codec or usual_codec, dict(self.arguments))
        raise AssertionError("checked by _one_door")


class ChoiceEntry(_Ranged):
    """One value of a choice."""

    value: str
    name: str | None = None
    meaning: str


class DefaultEntry(_Ranged):
    """A default that holds for some kernels only."""

    value: str


class TunableEntry(BaseModel):
    """One `[[tunable]]` table."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    summary: str
    type: Kind
    unit: str = "count"
    min: int | None = None
    max: int | None = None
    special: dict[str, str] = {}
    choices: tuple[ChoiceEntry, ...] = ()
    default: str | tuple[DefaultEntry, ...] | None = None
    follows: str = ""
    place: Annotated[tuple[PlaceEntry, ...], Field(min_length=1)]
    aliases: tuple[str, ...] = ()
    config: tuple[ConfigText, ...] = ()
    cost: Cost = Cost.FREE
    enabled_by: str | None = None
    successor: str | None = None
    source: Annotated[str, Field(min_length=1)]

    @field_validator("unit")
    @classmethod
    def _known_unit(cls, unit: str) -> str:
        if unit not in UNITS:
            raise ValueError(f"unknown unit {unit!r}; one of {', '.join(UNITS)}")
        return unit

    @model_validator(mode="after")
    def _coherent(self) -> TunableEntry:
        if (self.type is Kind.CHOICE) != bool(self.choices):
            raise ValueError("choices belong to the type choice, and a choice needs them")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max}")
        return self

    def tunable(self, area: str) -> Tunable:
        """The entry as the rest of the package knows it."""
        usual = {Kind.STRING: "text", Kind.FEATURE: f"feature:{self.name.rpartition('.')[2]}"}
        places = tuple(entry.place(usual.get(self.type, "int")) for entry in self.place)
        given = self.default
        defaults: tuple[Default, ...] = ()
        if isinstance(given, str):
            defaults = (Default(given, KernelRange()),)
        elif given is not None:
            defaults = tuple(Default(entry.value, entry.range) for entry in given)
        return Tunable(
            name=self.name,
            area=area,
            summary=self.summary,
            kind=self.type,
            unit=self.unit,
            minimum=self.min,
            maximum=self.max,
            special=dict(self.special),
            choices=tuple(Choice(c.value, c.name or c.value, c.meaning, c.range) for c in self.choices),
            defaults=defaults,
            follows=self.follows,
            places=places,
            aliases=self.aliases,
            config=tuple(_config(text) for text in self.config),
            cost=self.cost,
            enabled_by=self.enabled_by,
            successor=self.successor,
            source=self.source,
        )


def _config(text: str) -> ConfigNeed:
    option, _, limit = text.partition(" ")
    word, _, version = limit.partition(" ")
    if word == "since":
        return ConfigNeed(option, KernelRange(KernelVersion.parse(version)))
    return ConfigNeed(option, KernelRange(until=KernelVersion.parse(version) if version else None))


class CatalogueFile(BaseModel):
    """One file of the catalogue."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    area: str
    tunable: Annotated[tuple[TunableEntry, ...], Field(min_length=1)]
