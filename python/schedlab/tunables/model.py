"""What the catalogue says about one tunable, as plain values without any parsing library."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from .kernel import KernelRange, KernelVersion


class Kind(StrEnum):
    """What sort of value a tunable takes."""

    INT = "int"
    BOOL = "bool"
    CHOICE = "choice"
    FEATURE = "feature"
    STRING = "string"


class PlaceKind(StrEnum):
    """Through which door the kernel lets a tunable be set."""

    SYSCTL = "sysctl"
    DEBUGFS = "debugfs"
    SYSFS = "sysfs"
    BOOT = "boot"


class Cost(StrEnum):
    """What a change of the value does to the machine, besides its purpose."""

    FREE = "free"
    FLUSHES = "flushes"
    STOP_MACHINE = "stop-machine"
    REBOOT = "reboot"

    @property
    def meaning(self) -> str:
        """One line for a reader."""
        return _COST_MEANING[self]


_COST_MEANING = {
    Cost.FREE: "a store to a variable",
    Cost.FLUSHES: "drops what the kernel has learnt or rebuilds a structure; warm up again after it",
    Cost.STOP_MACHINE: "stops all CPUs for a moment to patch code or to take CPUs on or off line",
    Cost.REBOOT: "takes a reboot",
}


@dataclass(frozen=True)
class Place:
    """One door and the kernels that have it.

    `where` is a dotted sysctl name, a path below debugfs or below /sys (both may hold `*`, and every file that
    matches is then written), or a boot parameter's name. `codec` names how the file shows its value.
    `arguments` maps values to whole kernel command line words where those are not simply `where` + value; an
    empty word means that nothing is to be added.
    """

    kind: PlaceKind
    where: str
    range: KernelRange
    codec: str
    arguments: dict[str, str] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.kind, self.where))

    @property
    def text(self) -> str:
        """For a reader, and for finding the file: `/proc/sys/…`, `debugfs …`, `/sys/…` or `name=`."""
        match self.kind:
            case PlaceKind.SYSCTL:
                return "/proc/sys/" + self.where.replace(".", "/")
            case PlaceKind.DEBUGFS:
                return "/sys/kernel/debug/" + self.where
            case PlaceKind.SYSFS:
                return "/sys/" + self.where
            case PlaceKind.BOOT:
                return f"boot parameter {self.where}"


@dataclass(frozen=True)
class Choice:
    """One value of a choice: what is written, its name, what it means, and the kernels that have it."""

    value: str
    name: str
    meaning: str
    range: KernelRange


@dataclass(frozen=True)
class Default:
    """The value a kernel starts with, in the file's own unit, and the kernels for which that holds."""

    value: str
    range: KernelRange


@dataclass(frozen=True)
class ConfigNeed:
    """A build option without which a kernel does not have the tunable, and the kernels that know the option."""

    option: str
    range: KernelRange

    def __str__(self) -> str:
        return self.option


@dataclass(frozen=True)
class Tunable:
    """One tunable under its canonical name, with every place it has lived since Linux 4.4.

    `minimum` and `maximum` are in `unit`; `special` maps values, in range or not, to what they mean. `config`
    lists the options a kernel must be built with. `source` is the public document or kernel file that the facts
    come from. `follows` is what scales or overrides the default.
    """

    name: str
    area: str
    summary: str
    kind: Kind
    unit: str
    minimum: int | None
    maximum: int | None
    special: dict[str, str]
    choices: tuple[Choice, ...]
    defaults: tuple[Default, ...]
    follows: str
    places: tuple[Place, ...]
    aliases: tuple[str, ...]
    config: tuple[ConfigNeed, ...]
    cost: Cost
    enabled_by: str | None
    successor: str | None
    source: str

    def __hash__(self) -> int:
        return hash(self.name)

    def parse(self, value: object) -> str:
        """Text to write, in the file's own unit, for what an experiment file holds.

        In: an integer in the tunable's own unit, a boolean, or text with a unit (`"0.5ms"`). Raises BadValue,
        which names what is allowed.
        """
        from .setting import parse

        return parse(self, value)

    @property
    def range(self) -> KernelRange:
        """From the first to the last kernel that has it in any place."""
        since = min(place.range.since for place in self.places)
        untils = [place.range.until for place in self.places]
        last = None if None in untils else max(until for until in untils if until is not None)
        return KernelRange(since, last)

    @property
    def boot_only(self) -> bool:
        """True when no running kernel lets it be changed."""
        return all(place.kind is PlaceKind.BOOT for place in self.places)

    def places_in(self, version: KernelVersion) -> tuple[Place, ...]:
        """Places that a mainline kernel of that version has."""
        return tuple(place for place in self.places if version in place.range)

    def boot_argument(self, text: str, version: KernelVersion) -> str | None:
        """Word for the kernel's command line that sets the parsed value `text` at boot.

        An empty word says that the kernel starts with that value anyway; None that a kernel of that version has
        no boot parameter for it, or none that can say this value.
        """
        for place in self.places_in(version):
            if place.kind is PlaceKind.BOOT:
                return place.arguments.get(text) if place.arguments else place.where + text
        return None

    def default_in(self, version: KernelVersion) -> str | None:
        """Default of that version, or None when it depends on the machine or is not known."""
        return next((default.value for default in self.defaults if version in default.range), None)
