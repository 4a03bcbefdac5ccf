"""The source and the changes of a build, from the command line's TREE, ``--patches`` and ``--range``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import SchedlabError
from schedlab.kernels import git, series
from schedlab.kernels.series import Change
from schedlab.kernels.source import Source, open_source
from schedlab.workloads.kernbench import source as kernel_source

LINUX_SOURCE = "linux-source"
"""Name of the distribution's newest kernel source package."""


class BadRange(SchedlabError):
    """A range of commits that cannot be built one by one."""


@dataclass(frozen=True)
class SeriesRequest:
    """A source, the changes over it, and a name for the series made from the tree's name."""

    source: Source
    changes: list[Change]
    name: str


def open_series(tree: str, patches: Path | None, commits: str | None, cache_folder: Path) -> SeriesRequest:
    """Open the source and read the changes; SchedlabError names an argument that cannot be used.

    The first use of the distribution's tarball unpacks it into the cache folder.
    """
    path = kernel_source.unpacked(cache_folder) if tree == LINUX_SOURCE else Path(tree).resolve()
    if not path.is_dir():
        todo = f"name a folder, or {LINUX_SOURCE} for the package of that name"
        raise SchedlabError("there is no such folder", where=tree, todo=todo)
    name = re.sub(r"[^A-Za-z0-9._-]+|^[^A-Za-z0-9]+", "-", path.name.removesuffix(".git")).strip("-.") or "kernel"
    if tree == LINUX_SOURCE:
        name = "-".join(name.split("-")[:3])
    if commits is None:
        return SeriesRequest(open_source(path), series.read(patches) if patches else [], name)
    if patches is not None:
        raise BadRange("--patches and --range are two series", where=commits, todo="give one of them")
    since, until = _ends(path, commits)
    return SeriesRequest(open_source(path, since), _changes(path, since, until, commits), name)


def _ends(repository: Path, commits: str) -> tuple[str, str]:
    since, dots, until = commits.partition("..")
    if not since or not dots or until.startswith("."):
        todo = "write A..B: the changes after A up to B"
        raise BadRange(f"{commits!r} is not a range", where="--range", todo=todo)
    if not git.is_repository(repository):
        raise BadRange(
            "is not a git repository, so it has no commits", where=str(repository), todo="give --patches instead"
        )
    return git.commit(repository, since), git.commit(repository, until or "HEAD")


def _changes(repository: Path, since: str, until: str, commits: str) -> list[Change]:
    if not git.is_ancestor(repository, since, until):
        todo = "'git merge-base' prints their common ancestor: begin there"
        raise BadRange("the second commit does not come after the first", where=commits, todo=todo)
    revisions = git.commits(repository, since, until)
    if not revisions:
        raise BadRange("there is no commit between the two", where=commits, todo="give an older commit first")
    steps = zip([since, *revisions], revisions, strict=False)
    return series.numbered([(git.title(repository, new), git.diff(repository, old, new), 1) for old, new in steps])
