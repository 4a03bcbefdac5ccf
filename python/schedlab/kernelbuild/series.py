"""A patch series: a quilt-like folder, a mailbox, a single patch, or a range of commits.

Every change is a unified diff in the end, so that one way of applying serves all.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import SchedlabError
from schedlab.kernelbuild import mails
from schedlab.kernelbuild.git import apply_patch

_DIFF = re.compile(rb"^(diff --git |--- \S)", re.MULTILINE)
_SUFFIXES = (".patch", ".diff")


class SeriesProblem(SchedlabError):
    """A patch series that cannot be read."""


@dataclass(frozen=True)
class Change:
    """One step of a series.

    ``name`` is its number as variants and images are called (``01``), ``title`` the patch's subject, ``strip`` the
    leading parts of its paths that are not of the tree (``patch -p``).
    """

    name: str
    title: str
    data: bytes
    strip: int = 1

    def apply(self, folder: Path) -> str:
        """Apply it to the tree in the folder, wholly or not at all; empty when it went well, else why it does not."""
        # A commit may change nothing but its message.
        return apply_patch(folder, self.data, self.strip) if self.data.strip() else ""

    @property
    def digest(self) -> str:
        """The same for the same change of the tree, whatever it is called."""
        return hashlib.sha256(b"%d:" % self.strip + self.data).hexdigest()


def read(path: Path) -> list[Change]:
    """The series in a folder of ``*.patch`` (ordered by its file ``series``, else by name), a mailbox or a file."""
    try:
        found = _folder(path) if path.is_dir() else _file(path)
    except OSError as error:
        raise SeriesProblem(
            f"the patches cannot be read: {error.strerror or error}", where=str(path), todo="name a folder or a file"
        ) from error
    if not found:
        raise SeriesProblem("holds no patch", where=str(path), todo="name a folder of *.patch, a mailbox or a patch")
    return numbered(found)


def numbered(found: Sequence[tuple[str, bytes, int]]) -> list[Change]:
    """Changes with names that sort: ``01``, ``02``, …, from (title, diff, strip)."""
    width = max(2, len(str(len(found))))
    return [Change(f"{i:0{width}}", *parts) for i, parts in enumerate(found, start=1)]


def _folder(path: Path) -> list[tuple[str, bytes, int]]:
    listed = path / "series"
    if listed.is_file():
        entries = [_quilt(line, listed) for line in listed.read_text().splitlines() if line.partition("#")[0].strip()]
    else:
        entries = [(file.name, 1) for file in sorted(path.iterdir()) if file.suffix in _SUFFIXES]
    found = []
    for name, strip in entries:
        data = (path / name).read_bytes()
        if _DIFF.search(data):
            found.append((mails.subject(data) or Path(name).stem, mails.decoded(data), strip))
        elif "cover-letter" not in name:
            raise SeriesProblem("holds no diff", where=str(path / name), todo="take it out of the series")
    return found


def _quilt(line: str, listed: Path) -> tuple[str, int]:
    """A line of quilt's ``series``: a file, and perhaps ``-p0``; see quilt(1)."""
    name, *options = line.partition("#")[0].split()
    strip = 1
    for option in options:
        match = re.fullmatch(r"-p(\d|ab)", option)
        if match is None:
            raise SeriesProblem(f"{option!r} is not understood", where=str(listed), todo="only -p0, -p1, … are")
        strip = 1 if match[1] == "ab" else int(match[1])
    return name, strip


def _file(path: Path) -> list[tuple[str, bytes, int]]:
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError) as error:
            raise SeriesProblem(f"is torn: {error}", where=str(path), todo="download it again") from error
    if found := mails.patches(data):
        return [(title, diff, 1) for title, diff in found]
    return [(mails.subject(data) or path.stem, data, 1)] if _DIFF.search(data) else []
