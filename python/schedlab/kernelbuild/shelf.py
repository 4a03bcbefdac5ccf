"""The shelf: built kernels in the cache, each in a folder of its own, and the names that series gave them.

kernels/built/KEY/    bzImage, config, log, record.json; without bzImage where the prefix does not apply or build
kernels/names/NAME    which key each prefix of a series has
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from schedlab import cache
from schedlab.errors import CannotRunHere, SchedlabError

BUILT = "built:"
BASE = "base"
"""The prefix without any patch."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class NotBuilt(SchedlabError):
    """A ``built:`` name that nothing on the shelf has."""


class KernelGap(CannotRunHere):
    """A kernel of a series that does not apply or build: its trials fail with this reason, and others go on."""


@dataclass(frozen=True)
class Record:
    """What came of one prefix.

    ``reason`` is empty where there is an image. ``seconds`` is what applying, configuring and building took,
    ``size`` the image's bytes, ``unmet`` the fragments' wishes that the configuration does not fulfil.
    """

    key: str
    prefix: str
    title: str
    source: str
    compiler: str
    reason: str = ""
    release: str = ""
    sha256: str = ""
    seconds: float = 0.0
    size: int = 0
    unmet: tuple[str, ...] = ()
    lasting: bool = True
    """Whether the same would come of it again: a timeout or a full disk says nothing of the kernel."""


@dataclass(frozen=True)
class Shelf:
    """The built kernels of a cache."""

    folder: Path

    @classmethod
    def of(cls, cache_folder: Path | None = None) -> Shelf:
        """That of the cache folder, default the user's."""
        return cls((cache_folder or cache.folder()) / "kernels")

    def place(self, key: str) -> Path:
        """Where the files of a key are."""
        return self.folder / "built" / key

    def image(self, key: str) -> Path:
        """The image of a key."""
        return self.place(key) / "bzImage"

    def record(self, key: str) -> Record | None:
        """What is known of a key; None when it has to be built."""
        try:
            told = json.loads((self.place(key) / "record.json").read_text())
        except OSError:
            return None
        found = Record(**told | {"unmet": tuple(told["unmet"])})
        return found if found.reason or self.image(key).is_file() else None

    def keep(self, record: Record, files: Mapping[str, Path]) -> None:
        """Put a prefix on the shelf: these files (by the names of the module) and its record, all or nothing."""

        def fill(part: Path) -> None:
            for name, path in files.items():
                shutil.copyfile(path, part / name)
            (part / "record.json").write_text(json.dumps(asdict(record), indent=1))

        shutil.rmtree(self.place(record.key), ignore_errors=True)
        cache.made_once(self.place(record.key), fill)

    def name(self, series: str, records: Sequence[Record]) -> None:
        """Have the series' name stand for these prefixes from now on."""
        path = self.folder / "names" / series
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{series}.{os.getpid()}")
        new.write_text(json.dumps([asdict(record) for record in records], indent=1))
        new.replace(path)

    def series(self) -> dict[str, list[Record]]:
        """The prefixes of every series, by its name."""
        folder = self.folder / "names"
        names = sorted(path.name for path in folder.glob("[!.]*")) if folder.is_dir() else []
        return {name: self._prefixes(name) for name in names}

    def find(self, name: str) -> Record:
        """The record that ``built:NAME`` or ``built:NAME+01`` means, an image's.

        NotBuilt when there is none, KernelGap when the prefix could not be built.
        """
        found = self.recorded(name)
        if found.reason:
            log = self.place(found.key) / "log"
            todo = f"the build's log is {log}" if log.is_file() else "'schedlab kernels build' tries again"
            raise KernelGap(found.reason, where=name, todo=todo)
        if not self.image(found.key).is_file():
            raise NotBuilt("its image is no longer in the cache", where=name, todo="'schedlab kernels build' again")
        return found

    def recorded(self, name: str) -> Record:
        """The record that the name means, a gap's too; NotBuilt when there is none."""
        series, _, prefix = name.removeprefix(BUILT).partition("+")
        prefixes = {record.prefix: record for record in self._prefixes(series)}
        wanted = prefix or BASE
        if wanted not in prefixes:
            known = ", ".join(called(series, record.prefix) for record in prefixes.values())
            others = ", ".join(self.series()) or "none yet"
            what = f"the series has no such prefix; it has {known}" if prefixes else "no built kernel is called so"
            todo = f"schedlab kernels build TREE --name {series or 'NAME'} (built series: {others})"
            raise NotBuilt(what, where=name, todo=todo)
        held = self.record(prefixes[wanted].key)
        return replace(held, prefix=wanted, title=prefixes[wanted].title) if held else prefixes[wanted]

    def _prefixes(self, series: str) -> list[Record]:
        path = self.folder / "names" / series
        if not _NAME.fullmatch(series) or not path.is_file():
            return []
        return [Record(**told | {"unmet": tuple(told["unmet"])}) for told in json.loads(path.read_text())]


def called(series: str, prefix: str) -> str:
    """What a prefix of a series is called as a kernel."""
    return f"{BUILT}{series}" if prefix == BASE else f"{BUILT}{series}+{prefix}"


def series_name(text: str) -> str:
    """A name for a series; SchedlabError when it cannot be one."""
    if _NAME.fullmatch(text) is None:
        raise SchedlabError(f"{text!r} cannot name a series", where="--name", todo="letters, digits, '.', '_' and '-'")
    return text
