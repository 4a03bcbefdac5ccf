"""Folders of the cache, kernel trees, and the search for tools."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from schedlab.errors import CannotRunHere
from schedlab.files.cache import made_once
from schedlab.tunables import recover
from schedlab.tunables.journal.local import LocalAgent
from schedlab.workloads.base import Place, Tool
from schedlab.workloads.kernbench import build
from schedlab.workloads.kernbench.adapter import Kernbench, KernbenchParameters
from schedlab.workloads.machine import Machine
from schedlab.workloads.preparation import carry_out, place_of
from schedlab.workloads.tools import SCHEDLOAD, find, install_line
from tests.waiting import eventually
from tests.workloads.conftest import ready


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


def test_a_tree_that_cannot_be_built_is_a_missing_requirement(tmp_path: Path, place: Place) -> None:
    def reasons() -> str:
        return " ".join(Kernbench().missing_requirements(KernbenchParameters(tree=str(tmp_path)), place))

    assert "not a kernel tree" in reasons()
    for name in ("Kconfig", "Makefile", ".config"):
        (tmp_path / name).touch()
    assert "mrproper" in reasons()
    (tmp_path / ".config").unlink()
    assert reasons() == ""


def tree_of(folder: Path, makefile: str) -> KernbenchParameters:
    """Return the parameters of a tree with this Makefile."""
    folder.mkdir()
    (folder / "Kconfig").touch()
    (folder / "Makefile").write_text(makefile)
    return KernbenchParameters(tree=str(folder))


def test_a_build_that_is_too_large_for_memory_is_on_the_disk(
    tmp_path: Path, agent: LocalAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Machine, "free_bytes", lambda machine, folder: 0)
    parameters = tree_of(tmp_path / "tree", "tinyconfig prepare clean vmlinux:\n\t@mkdir -p $(O)\n\t@touch $(O)/$@\n")
    assert (
        "GiB in /dev/shm or /var/tmp, which have 0.0 GiB"
        in Kernbench().missing_requirements(parameters, place_of(agent))[0]
    )
    with ready(agent, Kernbench(), parameters) as place:
        (built,) = place.disk.iterdir()
        assert {path.name for path in built.iterdir()} == {"tinyconfig", "prepare", "clean"}
        assert list(place.scratch.iterdir()) == []
    assert not place.disk.exists()


def test_a_broken_tree_is_refused_with_the_error_of_make(tmp_path: Path, agent: LocalAgent) -> None:
    parameters = tree_of(tmp_path / "tree", "tinyconfig:\n\t@echo this tree is broken >&2; exit 1\n")
    with (
        pytest.raises(CannotRunHere, match=r"(?s)make .*: make tinyconfig ended .*this tree is broken") as error,
        ready(agent, Kernbench(), parameters),
    ):
        raise AssertionError
    assert "that this compiler can build" in error.value.todo


def test_missing_kernel_source_is_reported_with_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: Place
) -> None:
    monkeypatch.setattr(build, "TARBALLS", f"{tmp_path}/*")
    assert "apt-get install linux-source" in Kernbench().missing_requirements(KernbenchParameters(), place)[0]


def test_the_newest_source_is_unpacked_once(tmp_path: Path, agent: LocalAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("6.1", "6.12", "6.6"):
        (tmp_path / "linux" / "kernel").mkdir(parents=True, exist_ok=True)
        (tmp_path / "linux" / "Kconfig").write_text(version)
        subprocess.run(["tar", "-C", tmp_path, "-cf", tmp_path / f"linux-source-{version}.tar.gz", "linux"], check=True)
    monkeypatch.setattr(build, "TARBALLS", f"{tmp_path}/linux-source-*.tar.*")
    place = replace(place_of(agent), cache=tmp_path / "cache")
    archive, folder = build.source(place)
    assert archive.name == "linux-source-6.12.tar.gz"
    steps = list(build.unpacking(place))
    carry_out(agent, steps)
    assert (folder / "Kconfig").read_text() == "6.12"
    assert list(build.unpacking(place)) == []
    # Another command unpacked the tree at the same time.
    carry_out(agent, steps)
    assert [path.name for path in (tmp_path / "cache/kernel-source").iterdir()] == [folder.name]
    assert (folder / "Kconfig").read_text() == "6.12"


UNPACK = """
import sys
from dataclasses import replace
from pathlib import Path
from schedlab.tunables import Journal, System
from schedlab.workloads.kernbench import build
from schedlab.workloads.preparation import carry_out, place_of
folder = Path(sys.argv[1])
build.TARBALLS = f"{folder}/linux-source-*.tar.gz"
with Journal.open(folder / "run" / "journal", "run", System()) as journal:
    carry_out(journal.agent, build.unpacking(replace(place_of(journal.agent), cache=folder / "cache")))
"""


@pytest.mark.slow
def test_a_run_that_is_killed_while_unpacking_leaves_no_part_of_the_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "linux-source-6.1.tar.gz").touch()
    (tmp_path / "tar").write_text(
        f'#!/bin/sh\nfor last; do :; done; touch "${{last#*=}}/Kconfig" {tmp_path}/begun; sleep 1000\n'
    )
    (tmp_path / "tar").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    parts = tmp_path / "cache" / "kernel-source"
    with subprocess.Popen([sys.executable, "-c", UNPACK, str(tmp_path)]) as run:
        eventually((tmp_path / "begun").exists, "tar did not begin")
        assert len(list(parts.iterdir())) == 1
        run.kill()
    assert recover(tmp_path / "run" / "journal") == [], "the agent of the run removes everything"
    assert list(parts.iterdir()) == []


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
