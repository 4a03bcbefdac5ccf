"""A kernel's source, and the changes that a build applies to the source.

A source is a commit of a git repository or a folder. The source is only read, and copied for a build. The command line
names source and changes by TREE, ``--patches`` and ``--range``.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import CannotRunHere, SchedlabError
from schedlab.kernels import git, series
from schedlab.kernels.series import Change
from schedlab.workloads import launcher
from schedlab.workloads.kernbench import build as kernel_build

_MARKS = ("Kconfig", "Makefile")
"""Files at the top of every kernel source."""


class NoSource(SchedlabError):
    """A folder that is not a kernel source."""


@dataclass(frozen=True)
class Commit:
    """A commit of a git repository, whatever its work tree contains."""

    repository: Path
    revision: str

    @property
    def identity(self) -> str:
        """Git's hash of the files, which is equal for equal files."""
        return f"git-tree:{git.tree(self.repository, self.revision)}"

    @property
    def title(self) -> str:
        """The commit and its first line, for people."""
        return f"{self.revision[:12]} {git.title(self.repository, self.revision)}"

    @property
    def notes(self) -> list[str]:
        """Notes on parts of the user's tree that are not built: uncommitted changes."""
        if not git.is_changed(self.repository):
            return []
        return [f"{self.repository} has uncommitted changes; these changes are not built"]

    def put(self, folder: Path) -> None:
        """Write the files into an empty folder."""
        git.check_out(self.repository, self.revision, folder)


@dataclass(frozen=True)
class Folder:
    """An unpacked source outside git."""

    path: Path

    @property
    def identity(self) -> str:
        """A hash of all files' names, sizes, modes and modification times: hashing a gigabyte of content is slow."""
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
        """No notes: all files are built."""
        return []

    def put(self, folder: Path) -> None:
        """Copy the files into an empty folder, with shared blocks where possible: hard links would be unsafe."""
        argv = ["cp", "-a", "--reflink=auto", f"{self.path}/.", str(folder)]
        if error := launcher.error_of(argv):
            raise CannotRunHere(f"cannot be copied: {error}", where=str(self.path), todo="make room in the cache")


Source = Commit | Folder
"""A kernel's source in one state."""


def open_source(path: Path, revision: str | None = None) -> Source:
    """Return the source at this path, a repository's at this revision (default HEAD); NoSource for other folders."""
    if git.is_repository(path):
        commit = git.commit(path, revision or "HEAD")
        _require(path, all(git.has_file(path, commit, name) for name in _MARKS))
        return Commit(Path(os.path.realpath(path)), commit)
    if revision is not None:
        raise NoSource(
            "is not a git repository, so the folder has no commits", where=str(path), todo=("give --patches instead")
        )
    _require(path, all((path / name).is_file() for name in _MARKS))
    return Folder(Path(os.path.realpath(path)))


def _require(path: Path, is_kernel: bool) -> None:
    if not is_kernel:
        raise NoSource(
            "is not a kernel source (no Kconfig and Makefile)",
            where=str(path),
            todo=(
                "name a kernel's git repository or its unpacked source, such as the source of Debian's package "
                "linux-source"
            ),
        )


LINUX_SOURCE = "linux-source"
"""Name of the distribution's newest kernel source package."""


class BadRange(SchedlabError):
    """A range of commits that cannot be built one by one."""


@dataclass(frozen=True)
class SeriesRequest:
    """A source, the changes to the source, and a name for the series made from the tree's name."""

    source: Source
    changes: list[Change]
    name: str


def open_series(tree: str, patches: Path | None, commits: str | None, cache_folder: Path) -> SeriesRequest:
    """Open the source and read the changes; SchedlabError names an argument that cannot be used.

    The first use of the distribution's tarball unpacks it into the cache folder.
    """
    path = (
        kernel_build.source_here(cache_folder, unpack=True)[1] if tree == LINUX_SOURCE else Path(os.path.realpath(tree))
    )
    if not path.is_dir():
        todo = f"name a folder, or {LINUX_SOURCE} for the package of that name"
        raise SchedlabError("there is no such folder", where=tree, todo=todo)
    name = re.sub(r"[^A-Za-z0-9._-]+|^[^A-Za-z0-9]+", "-", path.name.removesuffix(".git")).strip("-.") or "kernel"
    if tree == LINUX_SOURCE:
        name = "-".join(name.split("-")[:3])
    if commits is None:
        return SeriesRequest(open_source(path), series.read(patches) if patches else [], name)
    if patches is not None:
        raise BadRange("--patches and --range name two series", where=commits, todo="give only one of these options")
    since, until = _ends(path, commits)
    return SeriesRequest(open_source(path, since), _changes(path, since, until, commits), name)


def _ends(repository: Path, commits: str) -> tuple[str, str]:
    since, dots, until = commits.partition("..")
    if not since or not dots or until.startswith("."):
        todo = "write A..B: the changes after A up to B"
        raise BadRange(f"{commits!r} is not a range", where="--range", todo=todo)
    if not git.is_repository(repository):
        raise BadRange(
            "is not a git repository, so the folder has no commits",
            where=str(repository),
            todo=("give --patches instead"),
        )
    return git.commit(repository, since), git.commit(repository, until or "HEAD")


def _changes(repository: Path, since: str, until: str, commits: str) -> list[Change]:
    if not git.is_ancestor(repository, since, until):
        todo = "begin the range at the common ancestor of both commits, which 'git merge-base' prints"
        raise BadRange("the second commit does not come after the first", where=commits, todo=todo)
    revisions = git.commits(repository, since, until)
    if not revisions:
        raise BadRange("the range contains no commit", where=commits, todo="give an older commit first")
    steps = zip([since, *revisions], revisions, strict=False)
    return series.numbered([(git.title(repository, new), git.diff(repository, old, new), 1) for old, new in steps])
