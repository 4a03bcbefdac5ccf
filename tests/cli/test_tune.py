"""``schedlab tune``: the search, the confirmation on fresh blocks, and the result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schedlab.execution import tuning
from tests.cli.in_process import Done, Schedlab, runner

pytestmark = pytest.mark.slow

FILE = """
[experiment]
name = "small"
[target]
kind = "sim"
machine = "laptop-4"
[design]
blocks = 6
seed = 3
[sweep.factors]
"sched.migration_cost_ns" = { from = 1000, to = 5_000_000, scale = "log" }
[[variant]]
name = "default"
tunables = { "sched.migration_cost_ns" = 10_000_000 }
[[workload]]
use = "hackbench"
groups = 2
loops = 5
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tune.toml"
    path.write_text(FILE)
    return path


@pytest.fixture
def schedlab(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Schedlab:
    monkeypatch.setenv("COLUMNS", "80")
    run = runner(monkeypatch, capsys)

    def with_store(*arguments: object) -> Done:
        return run(*arguments, "--store", tmp_path / "s.sqlite")

    return with_store


def test_without_optuna_the_command_names_the_installation(
    schedlab: Schedlab, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "find_spec", lambda name: None)
    done = schedlab("tune", file)
    assert (done.code, "pip install 'schedlab[scale]'" in done.words) == (3, True)
    assert not (tmp_path / "s.sqlite").exists()


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_the_winner_is_measured_again_on_fresh_blocks(schedlab: Schedlab, file: Path, sampler: str) -> None:
    done = schedlab("tune", file, "--trials", 6, "--sampler", sampler, "--format", "json")
    found = json.loads(done.out)
    assert (done.code, len(found["points"]), found["sampler"]) == (0, 6, sampler)
    complete = [point for point in found["points"] if point["blocks"] == 2]
    best = min(complete, key=lambda point: point["ratio"])
    assert (found["winner"], found["optimistic_ratio"]) == (best["values"], best["ratio"])
    assert (found["confirmation"]["run"], found["confirmation"]["blocks"]) == (2, 6)
    assert found["confirmation"]["ratio"] != found["optimistic_ratio"]


def test_the_same_seed_gives_the_same_result(schedlab: Schedlab, file: Path) -> None:
    first, second = (json.loads(schedlab("tune", file, "--trials", 3, "--format", "json").out) for _ in range(2))
    assert [point["values"] for point in first["points"]] == [point["values"] for point in second["points"]]
    assert first["optimistic_ratio"] == second["optimistic_ratio"]


def test_a_search_goes_on_with_more_points(schedlab: Schedlab, file: Path) -> None:
    first = json.loads(schedlab("tune", file, "--trials", 2, "--format", "json").out)
    done = schedlab("tune", file, "--trials", 4, "--resume", "--format", "json")
    found = json.loads(done.out)
    assert (found["run"], len(found["points"])) == (first["run"], 4)
    assert found["points"][:2] == first["points"]


def test_the_text_shows_the_optimistic_figure_beside_the_verdict(schedlab: Schedlab, file: Path) -> None:
    text = schedlab("tune", file, "--trials", 6).out
    assert "optimistic as the best of 6 points" in text
    assert "confirmed on fresh blocks (run 2)" in text
    assert schedlab("tune", "--show", 1).out == text


def test_without_a_better_point_nothing_is_confirmed(schedlab: Schedlab, file: Path) -> None:
    file.write_text(FILE.replace("= 10_000_000", "= 500_000").replace("to = 5_000_000", "to = 1010"))
    found = json.loads(schedlab("tune", file, "--trials", 1, "--format", "json").out)
    assert (len(found["points"]), found["winner"], found["confirmation"]) == (1, None, None)


def test_a_search_has_no_report_of_verdicts(schedlab: Schedlab, file: Path) -> None:
    schedlab("tune", file, "--trials", 1)
    assert "schedlab tune --show 1" in schedlab("report", 1).words
