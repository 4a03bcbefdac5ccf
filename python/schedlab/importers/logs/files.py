"""Which files a path of logs means, and which column each of them is.

::

    before.log after.log     a column for each file, called after it
    before/ after/           a column for each folder, a block for each of its files
    results/                 of folders with logs: as above; of logs alone: a column for each file
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from schedlab.results import ImportProblem

MOST_FILES = 2000
"""More files than any benchmark leaves: whoever names such a folder has named the wrong one."""

_SUFFIXES = re.compile(
    r"(?:\.(?:log|txt|json|jsonl|csv|tsv|out|err|stdout|stderr|dat|data|res|result|results))+$", re.I
)
_PACKED = re.compile(r"\.(?:gz|xz|bz2|zst|zstd)$", re.IGNORECASE)
_NUMBERS = re.compile(r"(\d+)")


@dataclass(frozen=True)
class File:
    """A file, and the name of the column that its samples go to; ``root`` is the path by which it was found.

    ``given``: it was given itself, not found in a folder. ``more``: files that are parts of it. ``name``: what the user
    wants its column to be called, None where nothing was said.
    """

    path: Path
    column: str
    root: Path
    given: bool
    more: tuple[Path, ...] = ()
    name: str | None = None


def files(paths: Sequence[Path], names: Mapping[Path, str]) -> list[File]:
    """The files that the paths mean, in their order; those in folders in natural order of their names.

    ``names`` are columns that the user wants paths to be; a folder is one column then.

    Raises:
        ImportProblem: a folder cannot be read, or holds more than :data:`MOST_FILES`.
    """
    found: list[File] = []
    for path in paths:
        try:
            inside = _in_folder(path, alone=len(paths) == 1) if path.is_dir() else [File(path, stem(path), path, True)]
        except OSError as error:
            where = str(error.filename or path)
            raise ImportProblem(f"cannot be read: {error.strerror}", where=where, todo="check its rights") from error
        name = names.get(path)
        found += inside if name is None else [replace(file, column=name, name=name) for file in inside]
    return found if names else _told_apart(found)


def stem(path: Path) -> str:
    """A file's name without the endings of packed files and of logs: ``before.log.gz`` is ``before``."""
    if str(path) == "-":
        return "stdin"
    plain = _PACKED.sub("", path.name)
    return _SUFFIXES.sub("", plain) or plain


def _in_folder(folder: Path, *, alone: bool) -> list[File]:
    name = folder.resolve().name
    inside = _children(folder)
    direct = [child for child in inside if child.is_file()]
    walked = ((inner.name, path) for inner in inside if _is_folder(inner) for path in _below(inner))
    deeper = list(islice(walked, MOST_FILES + 1))
    own = [File(path, stem(path) if alone and not deeper else name, folder, False) for path in direct]
    found = [*own, *(File(path, inner if alone else name, folder, False) for inner, path in deeper)]
    if len(found) > MOST_FILES:
        raise ImportProblem(
            f"holds more than {MOST_FILES} files", where=str(folder), todo="name the folders or files with results"
        )
    return found


def _below(folder: Path) -> Iterator[Path]:
    """All files below a folder, in natural order of their names."""
    for child in _children(folder):
        if _is_folder(child):
            yield from _below(child)
        elif child.is_file():
            yield child


def _is_folder(path: Path) -> bool:
    """Links to folders are not followed: they may lead back up."""
    return path.is_dir() and not path.is_symlink()


def _children(folder: Path) -> list[Path]:
    return [folder / name for name in sorted(os.listdir(folder), key=natural) if not name.startswith(".")]


def natural(name: str) -> list[tuple[int, int | str]]:
    """A key that sorts names as people do: ``run-9`` before ``run-10``."""
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in _NUMBERS.split(name) if part]


def _told_apart(found: list[File]) -> list[File]:
    """Files that were given and are called alike are columns after their folders: ``a/x.log b/x.log`` is a and b."""
    given = [file for file in found if file.given]
    parents = {file.path.absolute().parent for file in given}
    if len({file.column for file in given}) == len(given) or len(parents) < 2:
        return found
    short = {parent: parent.name for parent in parents}
    if len(set(short.values())) < len(parents):
        common = os.path.commonpath(parents)
        short = {parent: os.path.relpath(parent, common) for parent in parents}
    return [replace(file, column=short[file.path.absolute().parent]) if file.given else file for file in found]
