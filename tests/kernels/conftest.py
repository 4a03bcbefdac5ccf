"""A built series that several tests share, and a builder for other series."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from schedlab.errors import CannotRunHere
from schedlab.kernels import make
from schedlab.kernels.build_cache import BuildCache
from schedlab.kernels.config import recipe
from schedlab.kernels.series_build import Outcome, Request, build
from schedlab.kernels.source import open_series
from tests.kernels.tiny_tree import Repository, repository_with_series

FRAGMENT = "CONFIG_NUMA=y\nCONFIG_HZ=250\nCONFIG_SCHED_NOT_THERE=y\n"


@dataclass(frozen=True)
class Builder:
    """Builder of kernels with a separate cache."""

    folder: Path

    @property
    def cache(self) -> BuildCache:
        """The cache of built kernels."""
        return BuildCache.of(self.folder / "cache")

    def __call__(
        self,
        tree: Path,
        patches: Path | None = None,
        commits: str | None = None,
        *,
        timeout: float = 600.0,
        again: bool = False,
        fragment: str = FRAGMENT,
    ) -> list[Outcome]:
        return build(self.request(tree, patches, commits, timeout, fragment, again=again), self.cache, lambda _: None)

    def request(
        self,
        tree: Path,
        patches: Path | None = None,
        commits: str | None = None,
        timeout: float = 600.0,
        fragment: str = FRAGMENT,
        *,
        again: bool = False,
    ) -> Request:
        """Return the request for a build."""
        series = open_series(str(tree), patches, commits, self.folder / "cache")
        path = self.folder / "fragment"
        path.write_text(fragment)
        configuration = recipe("tinyconfig", [path])
        return Request(series.source, series.changes, configuration, series.name, 2, timeout, None, again)

    def log(self, outcome: Outcome) -> str:
        """Return the build log of a prefix."""
        return (self.cache.place(outcome.record.key) / "log").read_text()


@pytest.fixture(scope="session", autouse=True)
def _tools() -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    try:
        make.require_tools()
    except CannotRunHere as error:
        pytest.skip(str(error))


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    """A builder with an empty cache."""
    return Builder(tmp_path)


@dataclass(frozen=True)
class Series:
    """A repository with three commits after its base, and the outcomes of their builds."""

    repository: Repository
    builder: Builder
    outcomes: list[Outcome]
    before: dict[str, tuple[bytes, int]]


@pytest.fixture(scope="session")
def series(tmp_path_factory: pytest.TempPathFactory) -> Series:
    """A series that is built once. Tests only read the series or build the series again."""
    folder = tmp_path_factory.mktemp("series")
    repository = repository_with_series(folder / "linux")
    before = contents(repository.folder)
    builder = Builder(folder)
    return Series(repository, builder, builder(repository.folder, commits=f"{repository.base}..HEAD"), before)


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return every file below a folder, with its bytes and its modification time."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}
