"""An entry of the catalogue: kind, unit and range of a tunable, and every place where a kernel has the tunable.

The classes are the file format of ``catalogue/*.toml`` as well, so that reading an entry checks each key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, field_validator, model_validator

from schedlab.tunables.codecs import CODEC_NAMES, SEEN
from schedlab.tunables.terms import FIRST, GROUPS, UNDOCUMENTED, Cost, KernelRange, KernelVersion, Kind, PlaceKind

UNITS = ("ns", "us", "ms", "s", "min", "h", "B", "KiB", "MiB", "GiB", "MB/s", "GB/s", "percent", "count")


def _version(text: object) -> KernelVersion:
    if not isinstance(text, str) or re.fullmatch(r"\d+\.\d+", text) is None:
        raise ValueError(f"{text!r} is not a kernel version such as 6.18")
    return KernelVersion.parse(text)


Version = Annotated[KernelVersion, PlainValidator(_version)]


class _Ranged(BaseModel):
    """Base of entries that apply to the kernels from `since` to `until`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    since: Version = FIRST
    until: Version | None = None

    @property
    def range(self) -> KernelRange:
        """The kernels to which the entry applies."""
        return KernelRange(self.since, self.until)

    @model_validator(mode="after")
    def _check_order(self) -> _Ranged:
        if self.until is not None and self.until < self.since:
            raise ValueError(f"until {self.until} comes before since {self.since}")
        return self


class Place(_Ranged):
    """An interface to a tunable, and the kernels that have it.

    `where` is a dotted sysctl name, a path below debugfs, /sys or /proc, or the name of a boot parameter. A path may
    contain `*`. A write then changes every file that matches. `codec` names the format of the file. `arguments` maps
    values to complete words of a kernel command line, for boot parameters that are not simply `where` + value; an empty
    word means that nothing is to be added.

    In the catalogue the interface is the key of `where`: `sysctl = "kernel.numa_balancing"`.
    """

    kind: PlaceKind
    where: str
    codec: str
    arguments: dict[str, str] = {}

    @model_validator(mode="before")
    @classmethod
    def _interface(cls, entry: Mapping[str, Any]) -> dict[str, Any]:
        kinds = [kind for kind in PlaceKind if kind.value in entry]
        if len(kinds) != 1:
            raise ValueError("a place has exactly one of sysctl, debugfs, sysfs, proc, boot")
        fields = {key: value for key, value in entry.items() if key != kinds[0].value}
        return fields | {"kind": kinds[0], "where": entry[kinds[0].value]}

    @field_validator("codec")
    @classmethod
    def _check_codec(cls, codec: str) -> str:
        if codec.partition(":")[0] not in CODEC_NAMES:
            raise ValueError(f"unknown codec {codec!r}; one of {', '.join(CODEC_NAMES)}")
        return codec

    @model_validator(mode="after")
    def _check_arguments(self) -> Place:
        if self.arguments and self.kind is not PlaceKind.BOOT:
            raise ValueError("arguments belong to a boot parameter")
        return self

    def __hash__(self) -> int:
        return hash((self.kind, self.where))

    @property
    def text(self) -> str:
        """The path of the file, or the boot parameter, for a reader and for finding the file."""
        match self.kind:
            case PlaceKind.SYSCTL:
                return "/proc/sys/" + self.where.replace(".", "/")
            case PlaceKind.DEBUGFS:
                return "/sys/kernel/debug/" + self.where
            case PlaceKind.SYSFS:
                return "/sys/" + self.where
            case PlaceKind.PROC:
                return "/proc/" + self.where
            case PlaceKind.BOOT:
                return f"boot parameter {self.where}"


class Choice(_Ranged):
    """One permitted value of a tunable of type choice: its text, name and meaning, and the kernels that have it."""

    value: str
    name: str
    meaning: str

    @model_validator(mode="before")
    @classmethod
    def _name(cls, entry: Mapping[str, Any]) -> dict[str, Any]:
        return {"name": entry.get("value"), **entry}


class Default(_Ranged):
    """The value that a kernel starts with, in the unit of the file, and the kernels with that default."""

    value: str


@dataclass(frozen=True)
class ConfigNeed:
    """A build option that the tunable requires, and the kernels that have the option."""

    option: str
    range: KernelRange


def _config(text: object) -> ConfigNeed:
    """Read `CONFIG_SCHED_DEBUG`, `CONFIG_SCHED_DEBUG since 5.13` or `CONFIG_SCHED_DEBUG until 6.14`."""
    match = re.fullmatch(r"(CONFIG_\w+)(?: (since|until) (\d+\.\d+))?", text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{text!r} is not an option such as CONFIG_SMP, with since or until and a version")
    limit = {match[2]: KernelVersion.parse(match[3])} if match[2] else {}
    return ConfigNeed(match[1], KernelRange(**limit))


def _defaults(entry: object) -> object:
    """The defaults of a catalogue entry; a single text applies to all kernels."""
    return ({"value": entry},) if isinstance(entry, str) else entry


class Tunable(BaseModel):
    """A tunable under its canonical name, with every place that it has had since Linux 4.4.

    `minimum` and `maximum` are in `unit`. `special` maps values, in range or not, to their meaning. `follows` names
    the cause that scales or overrides the default. `config` lists the options that a kernel must be built with.
    `enabled_by` names the tunable that makes this tunable appear, `successor` the tunable that replaced it. `source`
    is the public document or kernel file that states the facts.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    area: str
    summary: str
    kind: Kind = Field(alias="type")
    unit: str = "count"
    minimum: int | None = Field(None, alias="min")
    maximum: int | None = Field(None, alias="max")
    special: dict[str, str] = {}
    choices: tuple[Choice, ...] = ()
    defaults: Annotated[tuple[Default, ...], BeforeValidator(_defaults)] = Field((), alias="default")
    follows: str = ""
    places: Annotated[tuple[Place, ...], Field(min_length=1)] = Field(alias="place")
    aliases: tuple[str, ...] = ()
    config: tuple[Annotated[ConfigNeed, PlainValidator(_config)], ...] = ()
    cost: Cost = Cost.FREE
    enabled_by: str | None = None
    successor: str | None = None
    source: Annotated[str, Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _usual_codec(cls, entry: Mapping[str, Any]) -> dict[str, Any]:
        flag = str(entry.get("name")).rpartition(".")[2]
        usual = {Kind.STRING: "text", Kind.FEATURE: f"feature:{flag}", Kind.KNOB: SEEN}.get(
            entry.get("type", ""), "int"
        )
        return {**entry, "place": [{"codec": usual, **place} for place in entry.get("place", ())]}

    @field_validator("unit")
    @classmethod
    def _check_unit(cls, unit: str) -> str:
        if unit not in UNITS:
            raise ValueError(f"unknown unit {unit!r}; one of {', '.join(UNITS)}")
        return unit

    @model_validator(mode="after")
    def _check(self) -> Tunable:
        if (self.kind is Kind.CHOICE) != bool(self.choices):
            raise ValueError("the type choice needs choices, and no other type has choices")
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError(f"min {self.minimum} is above max {self.maximum}")
        return self

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def is_documented(self) -> bool:
        """Whether the tunable has an entry, in the catalogue or in a file of the user."""
        return self.area != UNDOCUMENTED

    @property
    def is_rehearsed(self) -> bool:
        """Whether only the kernel knows the values that it takes."""
        return self.area in (UNDOCUMENTED, GROUPS)

    @property
    def range(self) -> KernelRange:
        """From the first to the last kernel that has the tunable, in any place."""
        untils = [place.until for place in self.places if place.until is not None]
        last = max(untils) if len(untils) == len(self.places) else None
        return KernelRange(min(place.since for place in self.places), last)

    def run_time_places(self, version: KernelVersion) -> list[Place]:
        """Return the places in a running kernel, the places of this version first: vendors backport tunables."""
        places = [place for place in self.places if place.kind is not PlaceKind.BOOT]
        return sorted(places, key=lambda place: version not in place.range)

    def places_in(self, version: KernelVersion) -> tuple[Place, ...]:
        """Return the places that a mainline kernel of this version has."""
        return tuple(place for place in self.places if version in place.range)

    def boot_argument(self, text: str, version: KernelVersion) -> str | None:
        """Return the word for the kernel's command line that sets the canonical value `text` at boot.

        An empty word means that the kernel starts with that value anyway. None means that a kernel of that version
        has no boot parameter for the tunable, or cannot set this value at boot.
        """
        for place in self.places_in(version):
            if place.kind is PlaceKind.BOOT:
                return place.arguments.get(text) if place.arguments else place.where + text
        return None

    def kernels_of(self, part: Default | ConfigNeed) -> KernelRange:
        """The kernels of a default or of an option; the kernels of the tunable if the catalogue names no kernels."""
        return self.range if part.range.is_all else part.range


class CatalogueFile(BaseModel):
    """A file of the catalogue: the tunables of one area."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    area: str
    tunable: Annotated[tuple[Tunable, ...], Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _add_area(cls, content: Mapping[str, Any]) -> dict[str, Any]:
        entries = [{**entry, "area": content.get("area")} for entry in content.get("tunable", ())]
        return {**content, "tunable": entries}
