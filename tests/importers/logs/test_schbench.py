"""schbench at 24e32b8 (2025-12): its runs with a goal (``-A``), its pipes (``-p``) and its JSON (``-j``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.results.imported import ImportProblem
from tests.importers.logs.recorded import read, row, text, values


def test_a_report_has_its_extremes_and_intervals_their_delays() -> None:
    imported = read("schbench.log")
    assert values(imported, "wakeup-max") == [1041.0]
    assert values(imported, "request-min") == [4797.0]
    # The last line, with zeros, is printed after the threads have ended.
    assert values(imported, "sched-delay-interim", thread="message") == [35.0, 21.0, 21.0]
    assert values(imported, "sched-delay-interim", thread="worker") == [40.0, 24.0, 20.0]


def test_a_run_with_a_goal_ends_with_the_goal_and_has_no_empty_report() -> None:
    imported = read("schbench-auto-rps.log")
    goal = row(imported, "requests-goal")
    assert (goal.values.tolist(), goal.unit, goal.direction) == ([0.0], "requests/s", "higher")
    assert values(imported, "requests-interim") == [10.0, 3.0]
    assert not [series for series in imported.series if series.metric == "requests-p50"]
    assert imported.notes == ()


def test_runs_over_pipes_have_transfers(tmp_path: Path) -> None:
    log = tmp_path / "pipe.log"
    log.write_text(2 * text("schbench-pipe.log"))
    imported = detect.read(log)
    assert values(imported, "transfers", mode="pipe") == [119420.45, 119420.45]
    # 119420.45 transfers of 4096 bytes are 466.49 * 2**20 bytes.
    throughput = row(imported, "throughput")
    assert (throughput.values.tolist(), throughput.unit, throughput.direction) == ([466.49, 466.49], "MiB/s", "higher")
    assert values(imported, "wakeup-p99.9") == [31.0, 31.0]


def test_json_has_the_names_of_the_text() -> None:
    imported = read("schbench.json")
    assert values(imported, "wakeup-p99", messages=2, workers=2) == [12048.0]
    assert values(imported, "request-p99.9") == [16992.0]
    assert values(imported, "request-max") == [25010.0]
    median = row(imported, "requests-p50")
    assert (median.values.tolist(), median.unit, median.direction) == ([877.0], "requests/s", "higher")
    pipes = read("schbench-pipe.json")
    assert {series.metric.partition("-")[0] for series in pipes.series} == {"wakeup"}
    assert values(pipes, "wakeup-p99", mode="pipe", messages=1, workers=2) == [5.0]


@pytest.mark.parametrize(
    ("name", "last"), [("schbench-pipe.log", "\t* 99.0th"), ("schbench.json", '"request_latency_pct99')]
)
def test_a_cut_run_is_refused(name: str, last: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text(name).partition(last)[0])
    with pytest.raises(ImportProblem, match=r"cut off|JSON"):
        detect.read(tmp_path / name)
