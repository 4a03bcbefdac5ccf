"""Where a kernel's source comes from: a commit of a git repository, or a folder; read, and copied to be built."""

from __future__ import annotations

import hashlib
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from schedlab.errors import CannotRunHere, SchedlabError
from schedlab.kernelbuild import git

_MARKS = ("Kconfig", "Makefile")
"""What the top of every kernel's source holds."""


class NoSource(SchedlabError):
    """What was named is no kernel source."""


class Source(Protocol):
    """A kernel's source in one state."""

    @property
    def identity(self) -> str:
        """The same for the same files."""

    @property
    def title(self) -> str:
        """For people: which state it is."""

    @property
    def notes(self) -> list[str]:
        """What of the user's tree is not in it."""

    def put(self, folder: Path) -> None:
        """Write its files into an empty folder."""


@dataclass(frozen=True)
class Commit:
    """A commit of a git repository; its work tree does not matter."""

    repository: Path
    revision: str

    @property
    def identity(self) -> str:
        """Git's own hash of the files."""
        return f"git-tree:{git.tree(self.repository, self.revision)}"

    @property
    def title(self) -> str:
        """The commit and its first line."""
        return f"{self.revision[:12]} {git.title(self.repository, self.revision)}"

    @property
    def notes(self) -> list[str]:
        """Changes that are not committed."""
        if not git.is_changed(self.repository):
            return []
        return [f"{self.repository} has changes that are not committed: they are not built"]

    def put(self, folder: Path) -> None:
        """By an index of its own."""
        git.check_out(self.repository, self.revision, folder)


@dataclass(frozen=True)
class Folder:
    """An unpacked source that is no git repository."""

    path: Path

    @property
    def identity(self) -> str:
        """Of every file's name, size, mode and time of change: reading a gigabyte to know it is unchanged is slow."""
        digest = hashlib.sha256()
        for folder, folders, files in os.walk(self.path):
            folders.sort()
            for name in sorted(files):
                path = os.path.join(folder, name)
                state = os.lstat(path)
                mark = f"{os.path.relpath(path, self.path)}\0{state.st_size}\0{state.st_mode}\0{state.st_mtime_ns}\n"
                digest.update(os.fsencode(mark))
        return f"folder:{digest.hexdigest()}"

    @property
    def title(self) -> str:
        """The folder's name."""
        return self.path.name

    @property
    def notes(self) -> list[str]:
        """None."""
        return []

    def put(self, folder: Path) -> None:
        """A copy that shares blocks where the file system can; no hard links, which a careless write would follow."""
        argv = ["cp", "-a", "--reflink=auto", f"{self.path}/.", str(folder)]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            words = done.stderr.strip()[-300:]
            raise CannotRunHere(f"cannot be copied: {words}", where=str(self.path), todo="make room in the cache")


def open_source(path: Path, revision: str | None = None) -> Source:
    """The source at this path, of a repository in this revision (default HEAD); NoSource when there is none."""
    if git.is_repository(path):
        found = git.commit(path, revision or "HEAD")
        _require(path, all(git.has_file(path, found, name) for name in _MARKS))
        return Commit(path.resolve(), found)
    if revision is not None:
        raise NoSource("is no git repository, so it has no commits", where=str(path), todo="give --patches instead")
    _require(path, all((path / name).is_file() for name in _MARKS))
    return Folder(path.resolve())


def _require(path: Path, is_kernel: bool) -> None:
    if not is_kernel:
        raise NoSource(
            "is no kernel source (no Kconfig and Makefile)",
            where=str(path),
            todo="name a kernel's git repository or its unpacked source, such as that of Debian's package linux-source",
        )
