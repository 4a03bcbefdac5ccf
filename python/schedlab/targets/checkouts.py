"""Commits of a git repository, each checked out and built in a separate folder. The user's work tree is only read."""

from __future__ import annotations

import os
import shutil
from hashlib import sha256
from pathlib import Path

from schedlab.experiment.model import Variant
from schedlab.experiment.states import COMMIT
from schedlab.files import cache
from schedlab.kernels import git
from schedlab.workloads import launcher


class Checkouts:
    """Folders of commits, in the cache, so that a resumed search reuses its built states.

    Args:
        repository: a git repository.
        build: a shell command that runs in each checked-out folder; None without a build command.
    """

    def __init__(self, repository: Path, build: str | None) -> None:
        self._repository, self._build = repository, build
        key = sha256(os.fsencode(f"{os.path.realpath(repository)}\n{build}")).hexdigest()[:16]
        self.folder = cache.folder() / "bisect" / key
        self._failed: dict[str, str] = {}

    def make(self, variant: Variant) -> str:
        """Check out and build a state's commit, unless the commit is already built. Return the reason of a failure,
        otherwise an empty text."""
        commit = variant.environment[COMMIT]
        if commit not in self._failed:
            try:
                cache.made_once(self.folder / commit, lambda part: self._make(commit, part))
            except BuildError as error:
                self._failed[commit] = str(error)
        return self._failed.get(commit, "")

    def remove(self) -> None:
        """Remove all folders."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make(self, commit: str, folder: Path) -> None:
        git.check_out(self._repository, commit, folder)
        if self._build is not None and (error := launcher.error_of(["sh", "-c", self._build], {}, folder)):
            raise BuildError(f"the build failed: {error}")


class BuildError(Exception):
    """A failed build."""
