"""The catalogue: every known tunable, and from any of its names to the one it goes by."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from .errors import UnknownTunable
from .model import Kind, Place, PlaceKind, Tunable

_DOMAIN_LEVEL = re.compile(r"sched\.domain(\d+)\.(\w+)")


@cache
def catalogue() -> dict[str, Tunable]:
    """Every tunable by its canonical name, in the order of the files; read and checked once a process.

    ValueError (from pydantic or tomllib, with the place in the file) when a file of the catalogue is wrong.
    """
    import tomllib
    from importlib import resources

    from .schema import CatalogueFile

    found: dict[str, Tunable] = {}
    folder = resources.files(__package__) / "catalogue"
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if not file.name.endswith(".toml"):
            continue
        content = CatalogueFile.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
        for entry in content.tunable:
            if entry.name in found:
                raise ValueError(f"{file.name}: {entry.name} is in the catalogue twice")
            found[entry.name] = entry.tunable(content.area)
    return found


def names_of(tunable: Tunable) -> tuple[str, ...]:
    """Every name, besides the canonical one, that resolves to it: old names, paths, boot parameters."""
    names = list(tunable.aliases)
    for place in tunable.places:
        names.extend(_names_of_place(tunable, place))
    return tuple(dict.fromkeys(name for name in names if name != tunable.name))


def lookup(name: str) -> Tunable:
    """The tunable of that canonical name, alias, sysctl name or path; UnknownTunable with the nearest names.

    `sched.domain1.imbalance_pct` is `sched.domain.imbalance_pct` of domain level 1 alone.
    """
    name = name.strip()
    if name in catalogue():
        return catalogue()[name]
    if (canonical := _aliases().get(_without_root(name))) is not None:
        return catalogue()[canonical]
    if (level := _DOMAIN_LEVEL.fullmatch(name)) and (whole := catalogue().get(f"sched.domain.{level[2]}")):
        return _at_level(whole, name, level[1])
    raise UnknownTunable(name, _nearest(name))


def _nearest(name: str) -> tuple[str, ...]:
    """Canonical names that look most like `name`, by any of their names; the flag's own name counts too."""
    import difflib

    words: dict[str, str] = {canonical.lower(): canonical for canonical in catalogue()}
    words.update((alias.lower(), canonical) for alias, canonical in _aliases().items())
    words.update((canonical.rpartition(".")[2].lower(), canonical) for canonical in catalogue())
    close = difflib.get_close_matches(name.lower(), words, n=9, cutoff=0.6)
    return tuple(dict.fromkeys(words[word] for word in close))[:3]


@cache
def _aliases() -> dict[str, str]:
    return {alias: tunable.name for tunable in catalogue().values() for alias in names_of(tunable)}


def _names_of_place(tunable: Tunable, place: Place) -> list[str]:
    if tunable.kind is Kind.FEATURE:
        return [tunable.name.rpartition(".")[2]]
    match place.kind:
        case PlaceKind.SYSCTL:
            bare = place.where.partition(".")[2]
            return [place.where] if "*" in place.where else [place.where, bare, _without_root(place.text)]
        case PlaceKind.DEBUGFS | PlaceKind.SYSFS:
            return [] if "*" in place.where else [place.where]
        case PlaceKind.BOOT:
            return [place.where, place.where.rstrip("=")]


def _without_root(name: str) -> str:
    for root in ("/proc/sys/", "/sys/kernel/debug/", "/sys/"):
        if name.startswith(root):
            return name.removeprefix(root)
    return name


def _at_level(whole: Tunable, name: str, level: str) -> Tunable:
    places = tuple(replace(p, where=p.where.replace("domain*", f"domain{level}")) for p in whole.places)
    return replace(whole, name=name, places=places, aliases=())
