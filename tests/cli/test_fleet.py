"""``schedlab run`` on several machines: at the same time, each with a separate run, and the summary over machines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from schedlab.store import reader
from schedlab.store.file import open_store
from schedlab.targets.ssh.connection import CONFIG
from tests.cli.in_process import Schedlab, runner
from tests.targets.ssh import loopback
from tests.waiting import eventually

pytestmark = pytest.mark.slow

NAMES = ("anna", "berta")

EXPERIMENT = """
[experiment]
name = "fleet"
[design]
blocks = 2
warmup = 0
control = false
[[variant]]
name = "base"
[[variant]]
name = "nice"
nice = 5
environment = { TURN = "2" }
"""
TRIALS = '[[workload]]\nuse = "pipetest"\nloops = 500\n'
WAITS = "[[workload]]\nuse = 'command'\nrun = \"sh -c 'touch FOLDER/began.$$; [ -e FOLDER/go ] || sleep 1000'\"\n"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An OpenSSH configuration with two machines."""
    with loopback.machines(tmp_path / "machines", NAMES) as config:
        monkeypatch.setenv(CONFIG, str(config))
        yield config


def words(tmp_path: Path, *options: str, target: str = "ssh:anna,berta", experiment: str = TRIALS) -> list[str]:
    file = tmp_path / "fleet.toml"
    file.write_text(EXPERIMENT + experiment.replace("FOLDER", str(tmp_path)))
    place = ["--target", target] if target else []
    return ["run", str(file), *place, "--store", str(tmp_path / "store"), *options]


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Schedlab:
    return runner(monkeypatch, capsys)


def runs(tmp_path: Path) -> dict[str, reader.Run]:
    """Return the newest run of each machine."""
    return {run.target: run for run in reversed(reader.runs(open_store(tmp_path / "store", create=False)))}


def test_each_machine_has_a_run_and_the_summary_can_be_shown_again(
    config: Path, tmp_path: Path, schedlab: Schedlab
) -> None:
    done = schedlab(*words(tmp_path, "--format", "json", "--seed", "1"))
    assert done.code == 0, done.err
    document: dict[str, Any] = json.loads(done.out)
    anna, berta = (runs(tmp_path)[f"ssh:{name}"] for name in NAMES)
    assert (anna.state, berta.state) == ("complete", "complete")
    assert anna.design.fleet == berta.design.fleet != ""
    assert anna.seed != berta.seed
    assert {machine["name"]: machine["run"] for machine in document["machines"]} == {
        "ssh:anna": anna.id,
        "ssh:berta": berta.id,
    }
    (row,) = (row for row in document["rows"] if row["variant"] == "nice")
    assert row["low"] < row["ratio"] < row["high"]
    assert {machine["name"] for machine in row["machines"]} == {"ssh:anna", "ssh:berta"}
    for name in NAMES:
        assert any(line.startswith(f"ssh:{name} ") and "block 2" in line for line in done.err.splitlines())
    report = partial(schedlab, "report", anna.id, "--machines", "--store", tmp_path / "store")
    assert json.loads(report("--format", "json").out) == document
    text = report().out
    print(text, done.err)
    assert "2 machines" in text
    assert f"run {berta.id}" in text


def test_machines_fail_alone_and_resume_continues_each_of_them(
    config: Path, tmp_path: Path, schedlab: Schedlab
) -> None:
    up = config.parent / "berta/up"
    up.unlink()
    done = schedlab(*words(tmp_path))
    assert done.code == 3
    assert "ssh:berta: no run" in done.out
    assert list(runs(tmp_path)) == ["ssh:anna"]
    up.touch()
    tables = '[[machine]]\nhost = "anna"\n[[machine]]\nhost = "berta"\n'
    refused = schedlab(*words(tmp_path, "--resume", target="", experiment=TRIALS + tables))
    assert refused.code == 2
    assert "no unfinished run" in refused.err
    done = schedlab(*words(tmp_path, "--resume"))
    assert done.code == 0, done.err
    assert {name: run.state for name, run in runs(tmp_path).items()} == {
        "ssh:anna": "complete",
        "ssh:berta": "complete",
    }
    assert len(reader.runs(open_store(tmp_path / "store", create=False))) == 2


def test_the_file_names_the_machines_and_a_killed_command_ends_their_runs(
    config: Path, tmp_path: Path, schedlab: Schedlab
) -> None:
    tables = '[[machine]]\nhost = "anna"\n[[machine]]\nhost = "berta"\n'
    options = words(tmp_path, target="", experiment=WAITS + tables)
    argv = [sys.executable, "-m", "schedlab", *options]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as controller:
        waiting = f"[ -e {tmp_path}/go ]"
        eventually(lambda: len(list(tmp_path.glob("began.*"))) == 2, "no trials on two machines")
        controller.kill()
    eventually(lambda: not loopback.processes(waiting), "a trial goes on")
    eventually(lambda: [run.state for run in runs(tmp_path).values()] == ["interrupted"] * 2, "a run goes on")
    (tmp_path / "go").touch()
    done = schedlab(*options, "--resume")
    assert done.code == 0, done.err
    assert {run.state for run in runs(tmp_path).values()} == {"complete"}


def test_a_dry_run_shows_the_plan_of_each_machine(config: Path, tmp_path: Path, schedlab: Schedlab) -> None:
    (config.parent / "anna/up").unlink()
    done = schedlab(*words(tmp_path, "--dry-run"))
    assert done.code == 3
    first, second = done.out.split("\nssh:berta\n")
    assert "cannot run here" in first
    assert "missing: nothing" in second
    done = schedlab(*words(tmp_path, "--dry-run", "--format", "json"))
    assert done.code == 3
    first, second = json.loads(done.out)["machines"]
    assert first["machine"] == "ssh:anna"
    assert "connection failed" in first["cannot_run"][0]
    assert (second["machine"], second["cannot_run"]) == ("ssh:berta", [])
    assert {trial["workload"] for trial in second["trials"]} == {"pipetest"}
    assert not os.path.exists(tmp_path / "store")
