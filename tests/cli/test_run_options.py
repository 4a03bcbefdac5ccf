"""Options of ``schedlab run`` that change the experiment, from the command line to the store."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from schedlab.workloads.tools import SCHEDLOAD, find
from tests.cli.in_process import Schedlab, runner

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find(SCHEDLOAD) is None, reason="schedload is not built: make build"),
]

FILE = """
[experiment]
name = "options"
[design]
blocks = 3
warmup = 0
[[variant]]
name = "base"
[[variant]]
name = "batch"
policy = "batch"
[[variant]]
name = "idle"
policy = "idle"
[[workload]]
use = "command"
run = "true"
label = "yes"
[[workload]]
use = "command"
run = "false"
label = "no"
"""
SMALLER = ("--blocks", "2", "--only", "yes", "--variant", "idle", "--delta", "3%")


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Schedlab:
    return runner(monkeypatch, capsys)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "options.toml"
    path.write_text(FILE)
    return path


def test_options_make_a_dry_run_smaller(schedlab: Schedlab, file: Path) -> None:
    done = schedlab("run", file, *SMALLER, "--iterations", 2, "--dry-run", "--format", "json")
    assert done.code == 0, done.err
    trials = json.loads(done.out)["trials"]
    assert {trial["variant"] for trial in trials} == {"base", "control", "idle"}
    assert {trial["workload"] for trial in trials} == {"yes"}
    assert (max(trial["block"] for trial in trials), len(trials)) == (2, 2 * 2 * 3)


def test_the_stored_text_alone_repeats_the_run(schedlab: Schedlab, file: Path, tmp_path: Path) -> None:
    store = ("--store", tmp_path / "s.sqlite")
    assert schedlab("run", file, *SMALLER, *store).code == 0
    again = tmp_path / "again.toml"
    again.write_text(schedlab("store", "show", 1, "--file", *store).out)
    assert schedlab("run", again, *store).code == 0
    assert 'delta = "3%"' in again.read_text()
    first, second = (json.loads(schedlab("report", run, "--format", "json", *store).out) for run in (1, 2))
    for report in (first, second):
        assert report["run"]["blocks"] == 2
        assert {row["variant"] for row in report["rows"]} == {"control", "idle"}


def test_a_run_with_options_is_resumed_with_the_same_options(schedlab: Schedlab, file: Path, tmp_path: Path) -> None:
    store = ("--store", tmp_path / "s.sqlite")
    assert schedlab("run", file, *SMALLER, *store).code == 0
    with sqlite3.connect(tmp_path / "s.sqlite") as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("UPDATE run SET state = 'interrupted'")
        connection.execute("DELETE FROM trial WHERE position = 5")
    refused = schedlab("run", file, *store, "--resume")
    assert refused.code == 2
    assert "run 1 was made from another version of" in refused.words
    assert "or with other options" in refused.words
    assert schedlab("run", file, *SMALLER, *store, "--resume").code == 0


def test_a_wrong_option_is_refused_before_the_run(schedlab: Schedlab, file: Path, tmp_path: Path) -> None:
    done = schedlab("run", file, "--blocks", 0, "--store", tmp_path / "s.sqlite")
    assert (done.code, done.out) == (2, "")
    assert "--blocks: should be greater than or equal to 1 (is 0)" in done.words
    assert not (tmp_path / "s.sqlite").exists()
