"""Trees in the layout of MMTests, written once for each session, and a run of one benchmark with given logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.importers.mmtests import trees

Run = Callable[[str, Mapping[str, str]], Path]


@pytest.fixture(scope="session")
def now(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trees.write_now(tmp_path_factory.mktemp("now"))


@pytest.fixture(scope="session")
def y2019(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trees.write_old(tmp_path_factory.mktemp("y2019"))


@pytest.fixture(scope="session")
def y2016(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trees.write_older(tmp_path_factory.mktemp("y2016"))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Function that writes the logs of a benchmark by their names and returns the run's folder."""

    def write_run(benchmark: str, logs: Mapping[str, str]) -> Path:
        for name, text in logs.items():
            trees.write(tmp_path / "base" / "iter-0" / benchmark / "logs" / name, text)
        return tmp_path / "base"

    return write_run
