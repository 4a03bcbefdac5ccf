"""The catalogue: every tunable that schedlab supports, and the search for a tunable by any of its names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from schedlab.tunables import knobs, local
from schedlab.tunables.errors import BadEntry, UnknownTunable
from schedlab.tunables.terms import Kind, PlaceKind

if TYPE_CHECKING:
    from schedlab.tunables.tunable import Place, Tunable

_DOMAIN_LEVEL = re.compile(r"sched\.domain(\d+)\.(\w+)")


@cache
def catalogue() -> dict[str, Tunable]:
    """Return every tunable by its canonical name, in the order of the files; read and checked once a process.

    ValueError (from pydantic or tomllib, with the place in the file) when a file of the catalogue is wrong.
    """
    import tomllib
    from importlib import resources

    from schedlab.tunables.tunable import CatalogueFile

    tunables: dict[str, Tunable] = {}
    folder = resources.files(__package__) / "catalogue"
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if not file.name.endswith(".toml"):
            continue
        content = CatalogueFile.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
        for tunable in content.tunable:
            if tunable.name in tunables:
                raise ValueError(f"{file.name}: {tunable.name} is in the catalogue twice")
            tunables[tunable.name] = tunable
    return tunables


def names_of(tunable: Tunable) -> tuple[str, ...]:
    """Return the names, other than the canonical name, by which `lookup` finds the tunable: old names, paths, boot
    parameters."""
    if not tunable.is_documented:
        return ()
    names = list(tunable.aliases)
    for place in tunable.places:
        names.extend(_names_of_place(tunable, place))
    return tuple(dict.fromkeys(name for name in names if name != tunable.name))


def lookup(name: str) -> Tunable:
    """Return the tunable of that canonical name, alias, sysctl name or path; UnknownTunable with the nearest names.

    A name that the catalogue lacks may be a knob (:mod:`schedlab.tunables.knobs`).
    `sched.domain1.imbalance_pct` is `sched.domain.imbalance_pct` of domain level 1 alone.
    """
    name = name.strip()
    if name in catalogue():
        return catalogue()[name]
    if (canonical := _aliases().get(_without_root(name))) is not None:
        return catalogue()[canonical]
    if (match := _DOMAIN_LEVEL.fullmatch(name)) and (tunable := catalogue().get(f"sched.domain.{match[2]}")):
        return _at_level(tunable, name, match[1])
    if (mine := _of_user(name)) is not None:
        return mine
    try:
        if (knob := _knob(name)) is not None:
            return knob
    except ValueError as error:
        raise UnknownTunable(name, (), str(error)) from None
    raise UnknownTunable(name, _nearest(name))


def _knob(name: str) -> Tunable | None:
    """Return the knob of that name, or the tunable of the catalogue that has the same file."""
    found = knobs.knob(name)
    if found is None or found.kind is Kind.FEATURE:
        return found
    path = found.places[0].text
    canonical = _aliases().get(_without_root(path))
    return (_of_user(path) or found) if canonical is None else catalogue()[canonical]


_READ: ContextVar[Mapping[str, local.Entry] | None] = ContextVar("entries", default=None)
"""The entries while an experiment file is read: the user's and the file's."""


def entries() -> Mapping[str, local.Entry]:
    """Return the entries of the user by name (:mod:`schedlab.tunables.local`); BadEntry for a clash or a mistake."""
    read = _READ.get()
    return _of_files(local.files()) if read is None else read


@contextmanager
def with_entries(more: Iterable[local.Entry]) -> Iterator[None]:
    """Add the entries of an experiment file for the block; ValueError for a clash."""
    token = _READ.set(_joined(entries(), more))
    try:
        yield
    finally:
        _READ.reset(token)


@contextmanager
def with_file(path: Path | None) -> Iterator[None]:
    """Add the entries of a file for the block; BadEntry for a mistake or a clash. None adds nothing."""
    files = local.files() if path is None else (*local.files(), path)
    token = _READ.set(_of_files(files))
    try:
        yield
    finally:
        _READ.reset(token)


@cache
def _of_files(files: tuple[Path, ...]) -> Mapping[str, local.Entry]:
    every: Mapping[str, local.Entry] = {}
    for path in files:
        try:
            every = _joined(every, local.of_file(path))
        except ValueError as error:
            todo = "choose another name, or remove the entry: the catalogue's is in use"
            raise BadEntry(str(error), where=str(path), todo=todo) from error
    return every


def _joined(known: Mapping[str, local.Entry], more: Iterable[local.Entry]) -> dict[str, local.Entry]:
    every = dict(known)
    for each in more:
        tunable = each.tunable
        for name in (tunable.name, *(_without_root(place.text) for place in tunable.places)):
            if (same := _aliases().get(name, name)) in catalogue():
                raise ValueError(f"{tunable.name}: {name} is {same} of the catalogue")
        if every.setdefault(tunable.name, each).table != each.table:
            raise ValueError(f"{tunable.name} has another entry too")
    return every


def _of_user(name: str) -> Tunable | None:
    for mine in (each.tunable for each in entries().values()):
        if name in (mine.name, *mine.aliases, *(place.text for place in mine.places)):
            return mine
    return None


def _nearest(name: str) -> tuple[str, ...]:
    """Return the canonical names most similar to `name`. The comparison includes aliases and the last parts of
    names."""
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
        case PlaceKind.DEBUGFS | PlaceKind.SYSFS | PlaceKind.PROC:
            return [] if "*" in place.where else [place.where]
        case PlaceKind.BOOT:
            return [place.where, place.where.rstrip("=")]


def _without_root(name: str) -> str:
    for root in ("/proc/sys/", "/sys/kernel/debug/", "/sys/"):
        if name.startswith(root):
            return name.removeprefix(root)
    return name


def _at_level(tunable: Tunable, name: str, level: str) -> Tunable:
    places = tuple(
        place.model_copy(update={"where": place.where.replace("domain*", f"domain{level}")}) for place in tunable.places
    )
    return tunable.model_copy(update={"name": name, "places": places, "aliases": ()})
