"""The build cache: built kernels, each in a separate folder, and the names of their series.

kernels/built/KEY/    bzImage, config, log, record.json; no bzImage where the prefix does not apply or build
kernels/names/NAME    the records of a series' prefixes
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter, ValidationError

from schedlab.errors import CannotRunHere, SchedlabError
from schedlab.files import cache
from schedlab.kernels import bzimage

BUILT = "built:"
SERIES = "series:"
"""Beginning of a word that stands for all kernels of a series."""

BASE = "base"
"""Name of the prefix without any patch."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class NotBuilt(SchedlabError):
    """A ``built:`` name for which the cache has no kernel."""


class KernelGap(CannotRunHere):
    """A kernel of a series that does not apply or build. Its trials fail with this reason; trials of other variants
    continue."""


@dataclass(frozen=True)
class Record:
    """The result of building one prefix.

    ``reason`` is empty where there is an image. ``seconds`` is the time to apply, configure and build, ``size`` the
    image's bytes, ``unmet`` the options of fragments that the configuration does not have as requested.
    """

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")

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
    """Whether another build would fail in the same way; False after a timeout or with a full disk."""


@dataclass(frozen=True)
class BuildCache:
    """The built kernels below a folder."""

    folder: Path

    @classmethod
    def of(cls, cache_folder: Path | None = None) -> BuildCache:
        """Return the build cache of a cache folder, by default of the user's cache folder."""
        return cls((cache_folder or cache.folder()) / "kernels")

    def place(self, key: str) -> Path:
        """The folder with the files of a key."""
        return self.folder / "built" / key

    def image(self, key: str) -> Path:
        """The path of a key's image."""
        return self.place(key) / "bzImage"

    def record(self, key: str) -> Record | None:
        """Return the record of a key; None when the prefix has to be built, or its files are damaged."""
        try:
            record = _RECORD.validate_json((self.place(key) / "record.json").read_bytes())
            is_whole = bool(record.reason) or bzimage.checksum(self.image(key)) == record.sha256
        except (OSError, ValidationError):
            return None
        return record if is_whole else None

    def keep(self, record: Record, files: Mapping[str, Path]) -> None:
        """Store a prefix: these files, by the names in the module's docstring, and its record, completely or not at
        all."""

        def fill(part: Path) -> None:
            for name, path in files.items():
                shutil.copyfile(path, part / name)
            (part / "record.json").write_text(json.dumps(asdict(record), indent=1))

        cache.made_once(self.place(record.key), fill, lambda folder: False)

    def name(self, series: str, records: Sequence[Record]) -> None:
        """Record that the series of this name consists of these prefixes."""
        cache.write(self.folder / "names" / series, json.dumps([asdict(record) for record in records], indent=1))

    def series(self) -> dict[str, list[Record] | NotBuilt]:
        """Return the prefixes of every series, by its name; the error of a series whose file is damaged."""
        folder = self.folder / "names"
        names = sorted(path.name for path in folder.glob("[!.]*")) if folder.is_dir() else []
        found: dict[str, list[Record] | NotBuilt] = {}
        for name in names:
            try:
                found[name] = self._prefixes(name)
            except NotBuilt as error:
                found[name] = error
        return found

    def find(self, name: str) -> Record:
        """Return the record of an image named ``built:NAME`` or ``built:NAME+01``.

        NotBuilt when there is no such image, KernelGap when the prefix could not be built.
        """
        record = self.recorded(name)
        if record.reason:
            log = self.place(record.key) / "log"
            todo = f"read the log of the build: {log}" if log.is_file() else "run 'schedlab kernels build' again"
            raise KernelGap(record.reason, where=name, todo=todo)
        if self.record(record.key) is None:
            message = "the image is no longer in the cache, or is damaged there"
            raise NotBuilt(message, where=name, todo="run 'schedlab kernels build' again")
        return record

    def expanded(self, words: Sequence[str]) -> list[str]:
        """Return kernel names, with the base and every prefix in place of a word ``series:NAME``.

        NotBuilt when there is no such series.
        """
        names: list[str] = []
        for word in words:
            series = word.removeprefix(SERIES)
            if series == word:
                names.append(word)
                continue
            self.recorded(f"{BUILT}{series}")
            names += [kernel_name(series, record.prefix) for record in self._prefixes(series)]
        return names

    def titles(self, names: Sequence[str]) -> dict[str, str]:
        """Return the subjects of the last patches of built kernels, by kernel name. Other names are left out."""
        built = [name for name in names if name.startswith(BUILT) and "+" in name]
        return {name: self.recorded(name).title for name in built}

    def recorded(self, name: str) -> Record:
        """Return the record of an image or of a gap; NotBuilt when there is no such name."""
        series, _, prefix = name.removeprefix(BUILT).partition("+")
        prefixes = {record.prefix: record for record in self._prefixes(series)}
        wanted = prefix or BASE
        if wanted not in prefixes:
            names = ", ".join(kernel_name(series, record.prefix) for record in prefixes.values())
            others = ", ".join(self.series()) or "none yet"
            message = f"the series has no such prefix, only {names}" if prefixes else "no built kernel has this name"
            todo = f"run 'schedlab kernels build TREE --name {series or 'NAME'}' (built series: {others})"
            raise NotBuilt(message, where=name, todo=todo)
        record = self.record(prefixes[wanted].key)
        return replace(record, prefix=wanted, title=prefixes[wanted].title) if record else prefixes[wanted]

    def _prefixes(self, series: str) -> list[Record]:
        path = self.folder / "names" / series
        if not _NAME.fullmatch(series) or not path.is_file():
            return []
        try:
            return _RECORDS.validate_json(path.read_bytes())
        except ValidationError as error:
            todo = f"run 'schedlab kernels build TREE --name {series}' again: kernels that were built are kept"
            raise NotBuilt("the list of the series' kernels is damaged", where=str(path), todo=todo) from error


_RECORD, _RECORDS = TypeAdapter(Record), TypeAdapter(list[Record])


def kernel_name(series: str, prefix: str) -> str:
    """Return the kernel name of a series' prefix: ``built:NAME``, ``built:NAME+01``."""
    return f"{BUILT}{series}" if prefix == BASE else f"{BUILT}{series}+{prefix}"


def series_name(text: str) -> str:
    """Check a name for a series; SchedlabError when the name contains other characters."""
    if _NAME.fullmatch(text) is None:
        raise SchedlabError(
            f"{text!r} cannot name a series", where="--name", todo="use letters, digits, '.', '_' and '-'"
        )
    return text
