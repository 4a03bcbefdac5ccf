"""A command that prints its figures, from the file to the report."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from schedlab.workloads.tools import SCHEDLOAD, find
from tests.cli.in_process import Schedlab, runner
from tests.waiting import eventually

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find(SCHEDLOAD) is None, reason="schedload is not built: make build"),
]

FILE = """
[experiment]
name = "figures"
[design]
blocks = 2
warmup = 0
[[variant]]
name = "base"
[[variant]]
name = "nice"
nice = 1
[[workload]]
use = "command"
run = "sh {script}"
repeat = 3
setup = "echo setup >> {log}"
cleanup = "echo cleanup >> {log}"
metrics = [
  "elapsed",
  {{ name = "score", unit = "points", better = "higher", regex = '^score (\\d+)$' }},
  {{ name = "delay", unit = "us", better = "lower", json = "delays", stream = "stderr" }},
]
"""


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Schedlab:
    return runner(monkeypatch, capsys)


def file(folder: Path, script: str) -> Path:
    (folder / "bench.sh").write_text(script)
    path = folder / "figures.toml"
    path.write_text(FILE.format(script=folder / "bench.sh", log=folder / "log"))
    return path


def test_a_command_is_judged_by_the_figures_that_it_prints(schedlab: Schedlab, tmp_path: Path) -> None:
    path = file(tmp_path, "echo score 40; echo score 42; echo '{\"delays\": [1, 2, 3]}' >&2")
    done = schedlab("run", path, "--store", tmp_path / "s.sqlite", "--format", "json")
    assert done.code == 0, done.err
    rows = {(row["metric"], row["unit"], row["direction"]) for row in json.loads(done.out)["rows"]}
    assert rows == {("elapsed", "s", "lower"), ("score", "points", "higher"), ("delay", "us", "lower")}
    assert (tmp_path / "log").read_text() == "setup\ncleanup\n"
    samples = schedlab("report", "--store", tmp_path / "s.sqlite", "--format", "csv", "--samples").out
    values = [float(line["value"]) for line in csv.DictReader(samples.splitlines()) if line["metric"] == "score"]
    assert values == 2 * 3 * [41.0]


def test_a_trial_without_its_figure_fails_with_the_reason(schedlab: Schedlab, tmp_path: Path) -> None:
    path = file(tmp_path, "echo no score")
    done = schedlab("run", path, "--store", tmp_path / "s.sqlite")
    assert done.code == 4
    assert "metric 'score'" in schedlab("report", "--failures", "--store", tmp_path / "s.sqlite").out
    assert (tmp_path / "log").read_text() == "setup\ncleanup\n"


def test_cleanup_runs_after_an_interruption(tmp_path: Path) -> None:
    path = file(tmp_path, f"touch {tmp_path}/begun; sleep 1000")
    command = [sys.executable, "-m", "schedlab", "run", str(path), "--store", str(tmp_path / "s.sqlite")]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually((tmp_path / "begun").exists)
        os.kill(running.pid, signal.SIGINT)
        assert running.wait(timeout=120) == 130
    finally:
        running.kill()
        running.wait()
    assert (tmp_path / "log").read_text() == "setup\ncleanup\n"
