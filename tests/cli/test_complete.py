"""Completion of values, through the protocol by which a shell asks for them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from schedlab.store.file import open_store
from tests.cli.in_process import Schedlab, runner
from tests.cli.test_gate import store_of, wave


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Schedlab:
    return runner(monkeypatch, capsys)


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, schedlab: Schedlab) -> object:
    """Function that returns the answers to a command line whose last word is incomplete, as bash reads them."""

    def answers(*words: object) -> list[str]:
        line = ["schedlab", *map(str, words)]
        with monkeypatch.context() as shell:
            shell.setenv("_SCHEDLAB_COMPLETE", "complete_bash")
            shell.setenv("COMP_WORDS", "\n".join(line))
            shell.setenv("COMP_CWORD", str(len(line) - 1))
            done = schedlab()
        assert done.err == ""
        return done.out.splitlines()

    return answers


def test_values_are_completed(ask) -> None:  # type: ignore[no-untyped-def]
    assert "kunpeng920" in ask("sim", "run", "--machine", "")
    assert ask("sim", "machines", "show", "rp") == ["rpi4b"]
    assert ask("sim", "run", "--kernel", "linux-6.12") == ["linux-6.12"]
    assert ask("sim", "kernels", "show", "linux-6") == ["linux-6.1", "linux-6.6", "linux-6.12", "linux-6.18"]
    assert ask("workloads", "show", "hackbench-") == ["hackbench-rt-tests"]
    assert ask("sim", "run", "--machine", "rpi4b", "hackb") == ["hackbench"]
    assert "groups=" in ask("sim", "run", "--machine", "rpi4b", "hackbench", "")
    assert ask("try", "hackb") == ["hackbench", "hackbench-rt-tests"]
    assert ask("try", "hackbench", "gro") == ["groups="]
    assert "sched.migration_cost_ns=" in ask("sim", "run", "--set", "sched.mig")
    assert "sched.base_slice_ns" in ask("tunables", "show", "sched.base")
    assert ask("report", "--format", "m") == ["mmtests", "markdown"]
    assert ask("init", "--example", "sched-") == ["sched-ext"]
    assert ask("--color", "a") == ["auto", "always"]


def test_targets_are_completed_in_two_steps(ask) -> None:  # type: ignore[no-untyped-def]
    assert {"host", "sim:rpi4b", "vm:debian-6.12"} <= set(ask("run", "x.toml", "--target", ""))
    assert ask("run", "x.toml", "--target", "sim:rp") == ["sim:rpi4b"]
    assert ask("run", "x.toml", "--target", "sim:rpi4b/linux-7") == ["sim:rpi4b/linux-7.2"]


def test_runs_come_from_the_named_store(ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    store = store_of(tmp_path, wave)
    for command in (["report"], ["compare"], ["store", "show"], ["run", "x.toml", "--from"]):
        assert ask(*command[:2], "--store", store, *command[2:], "") == ["1", "latest"]
    monkeypatch.setenv("SCHEDLAB_STORE", str(store))
    assert ask("report", "") == ["1", "latest"]


def files(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_completion_writes_nothing_and_never_fails(ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("HOME", str(tmp_path))
    store = store_of(tmp_path, wave)
    connection = open_store(store, create=False).connect()  # another process may use the store meanwhile
    before = files(tmp_path)
    for path in (store, tmp_path / "nosuch.sqlite", tmp_path, os.devnull):
        ask("report", "--store", path, "")
    ask("run", "--target", "")
    ask("kernels", "show", "")
    assert files(tmp_path) == before
    connection.close()
