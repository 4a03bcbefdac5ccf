"""Files of the paths that a user names, and the column of each file::

before.log after.log     a column for each file, with the file's name
before/ after/           a column for each folder, a block for each file of the folder
results/                 with folders of logs: as above; with logs alone: a column for each file
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from schedlab.results.imported import ImportProblem
from schedlab.workloads.log_reader import natural

MOST_FILES = 50_000
"""Upper bound on files: a year of nightly runs has some 10,000 logs, and a folder with more is the wrong folder."""

_SUFFIXES = re.compile(
    r"(?:\.(?:log|txt|json|jsonl|csv|tsv|out|err|stdout|stderr|dat|data|res|result|results))+$", re.I
)
_PACKED = re.compile(r"\.(?:gz|xz|bz2|zst|zstd)$", re.IGNORECASE)


@dataclass(frozen=True)
class File:
    """A file of results.

    Attributes:
        path: path of the file.
        column: name of the column of its samples.
        root: path that the user named: the file or a folder above it.
        is_named: the user named the file itself, not a folder above it.
        more: files that belong to the same log.
        name: name of the column that the user asked for, or None.
    """

    path: Path
    column: str
    root: Path
    is_named: bool
    more: tuple[Path, ...] = ()
    name: str | None = None


_WARM_UP = re.compile(
    r"(?<![a-z])(?:warm(?:ing)?[-_. ]?up|pre-?warm|ramp(?:[-_. ]?up)?|prim(?:e|ing)|burn[-_. ]?in)(?![a-z])", re.I
)
"""Names of runs before the measurement: ``warmup.log``, ``pgbench-warm_up-4.log``. ``warm.log`` may be a measurement
with warm caches."""


def is_warm_up(file: File) -> bool:
    """Return whether the name of a file in a folder, or of a folder above it, is that of a warm-up."""
    return not file.is_named and _WARM_UP.search(os.path.relpath(file.path, file.root)) is not None


def files(paths: Sequence[Path], names: Mapping[Path, str]) -> list[File]:
    """Return the files of the paths in their order, and files in folders in natural order of their names.

    ``names`` maps paths to the column that the user asked for; a folder is then one column.

    Raises:
        ImportProblem: a folder cannot be read, or contains more than :data:`MOST_FILES`.
    """
    chosen: list[File] = []
    folders = _apart({path: Path(os.path.realpath(path)) for path in paths if path.is_dir()})
    for path in paths:
        try:
            inside = (
                _in_folder(path, folders[path], alone=len(paths) == 1)
                if path in folders
                else [File(path, stem(path), path, True)]
            )
        except OSError as error:
            where = str(error.filename or path)
            raise ImportProblem(f"cannot be read: {error.strerror}", where=where, todo="check its rights") from error
        name = names.get(path)
        chosen += inside if name is None else [replace(file, column=name, name=name) for file in inside]
    return chosen if names else _with_folder_names(chosen)


def stem(path: Path) -> str:
    """Return a file's name without the suffixes of packed files and of logs: ``before`` of ``before.log.gz``."""
    if str(path) == "-":
        return "stdin"
    plain = _PACKED.sub("", path.name)
    return _SUFFIXES.sub("", plain) or plain


def _in_folder(folder: Path, name: str, *, alone: bool) -> list[File]:
    inside = _children(folder)
    direct = [child for child in inside if child.is_file()]
    walked = ((inner.name, path) for inner in inside if _is_folder(inner) for path in _below(inner))
    deeper = list(islice(walked, MOST_FILES + 1))
    top = [File(path, stem(path) if alone and not deeper else name, folder, False) for path in direct]
    inner_files = [*top, *(File(path, inner if alone else name, folder, False) for inner, path in deeper)]
    if len(inner_files) > MOST_FILES:
        raise ImportProblem(
            f"contains more than {MOST_FILES:,} files", where=str(folder), todo="name the folders or files with results"
        )
    return inner_files


def _below(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder, in natural order of their names."""
    for child in _children(folder):
        if _is_folder(child):
            yield from _below(child)
        elif child.is_file():
            yield child


def _is_folder(path: Path) -> bool:
    """Return whether a path is a folder; links do not count, as links may lead to a parent folder."""
    return path.is_dir() and not path.is_symlink()


def _children(folder: Path) -> list[Path]:
    return [folder / name for name in sorted(os.listdir(folder), key=natural) if not name.startswith(".")]


def _with_folder_names(files: list[File]) -> list[File]:
    """Name columns after folders where files have the same name: ``a/x.log b/x.log`` become a and b."""
    named = [file for file in files if file.is_named]
    parents = {file.path.absolute().parent for file in named}
    if len({file.column for file in named}) == len(named) or len(parents) < 2:
        return files
    short = _apart({parent: parent for parent in parents})
    return [replace(file, column=short[file.path.absolute().parent]) if file.is_named else file for file in files]


def _apart(folders: Mapping[Path, Path]) -> dict[Path, str]:
    """Return a name for each folder: its own, or its path below the common folder if two have the same name."""
    names = {path: folder.name for path, folder in folders.items()}
    if len(set(names.values())) == len(set(folders.values())):
        return names
    common = os.path.commonpath([folder.parent for folder in folders.values()])
    return {path: os.path.relpath(folder, common) for path, folder in folders.items()}
