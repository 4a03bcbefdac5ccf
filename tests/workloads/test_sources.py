"""Folders of the cache, kernel trees, and the search for tools."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from schedlab.errors import CannotRunHere
from schedlab.files.cache import made_once
from schedlab.workloads.base import Place, Tool
from schedlab.workloads.kernbench import build
from schedlab.workloads.kernbench.adapter import Kernbench, KernbenchParameters
from schedlab.workloads.tools import SCHEDLOAD, find, install_line


def test_a_folder_is_created_once(tmp_path: Path) -> None:
    folders = []

    def make(part: Path) -> None:
        folders.append(part)
        (part / "file").write_text("whole")

    for _ in range(2):
        assert (made_once(tmp_path / "a" / "b", make) / "file").read_text() == "whole"
    assert len(folders) == 1


def test_a_folder_that_failed_is_created_at_the_next_attempt(tmp_path: Path) -> None:
    def fail(part: Path) -> None:
        (part / "half").touch()
        raise CannotRunHere("no room")

    with pytest.raises(CannotRunHere):
        made_once(tmp_path / "b", fail)
    assert not (tmp_path / "b").exists()
    assert list(made_once(tmp_path / "b", lambda part: (part / "whole").touch()).iterdir()) == [tmp_path / "b/whole"]


def test_a_tree_that_cannot_be_built_is_a_missing_requirement(tmp_path: Path) -> None:
    def reasons() -> str:
        return " ".join(Kernbench().missing_requirements(KernbenchParameters(tree=str(tmp_path))))

    assert "not a kernel tree" in reasons()
    for name in ("Kconfig", "Makefile", ".config"):
        (tmp_path / name).touch()
    assert "mrproper" in reasons()
    (tmp_path / ".config").unlink()
    assert reasons() == ""


class Names:
    """A register that keeps the names of folders."""

    def __init__(self) -> None:
        self.made_names: list[str] = []
        self.gone_names: list[str] = []

    def made(self, what: str, name: str) -> None:
        self.made_names.append(name)

    def gone(self, what: str, name: str) -> None:
        self.gone_names.append(name)


def test_a_build_folder_in_the_cache_is_on_the_runs_register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache outlives the run: after a kill, the next start removes the folder by its name."""
    monkeypatch.setattr(build.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(1, 1, 0))
    register = Names()
    with build.Build("", "tinyconfig", Place(tmp_path / "cache", tmp_path, register))._folder() as folder:
        assert folder.parent == tmp_path / "cache"
        assert register.made_names == [str(folder)]
        assert register.gone_names == []
    assert register.gone_names == [str(folder)]


def test_a_broken_tree_is_refused_with_the_error_of_make(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "Kconfig").touch()
    (tree / "Makefile").write_text("tinyconfig:\n\t@echo this tree is broken >&2; exit 1\n")
    (tmp_path / "scratch").mkdir()
    place = Place(tmp_path / "cache", tmp_path / "scratch")
    with (
        pytest.raises(CannotRunHere, match="this tree is broken"),
        Kernbench().prepared(KernbenchParameters(tree=str(tree)), place),
    ):
        raise AssertionError
    assert list(place.scratch.iterdir()) == []


def test_missing_kernel_source_is_reported_with_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(build, "TARBALLS", f"{tmp_path}/*")
    assert "apt-get install linux-source" in Kernbench().missing_requirements(KernbenchParameters())[0]


@pytest.mark.parametrize("target", ["../../etc/", "/etc/", "a b", "", "-k", "x/../y/"])
def test_targets_stay_within_the_tree(target: str) -> None:
    with pytest.raises(ValueError, match="target"):
        KernbenchParameters(target=target)


def test_the_newest_version_of_a_tool_is_found(tmp_path: Path) -> None:
    for version in ("9.6", "15", "8"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "no-such-program").touch()
    tool = Tool("no-such-program", "package", (f"{tmp_path}/*/no-such-program",))
    assert find(tool) == tmp_path / "15" / "no-such-program"


def test_the_install_line_is_one_command_and_names_tools_without_a_package() -> None:
    elsewhere = [Tool(name, "x", source="from https://example.org") for name in ("x", "y")]
    tools = [Tool("b", "bb"), *elsewhere, SCHEDLOAD, Tool("a", "aa")]
    assert install_line(tools) == "make build && apt-get install aa bb\n# x, y: from https://example.org"
    assert install_line(elsewhere) == "# x, y: from https://example.org"
