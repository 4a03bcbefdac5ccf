"""A log that is cut off, or of a run that failed, is named with its line; nothing of it is imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.results import ImportProblem
from tests.importers.logs.recorded import SAMPLES, text

CUT = {
    # sample, lines that are kept, what is said, where
    "hackbench.log": (8, 'without the line "Time', 8),
    "tbench.log": (9, "Throughput", 9),
    "pgbench-progress.log": (10, "tps = N", 10),
    "perf-bench-sched.log": (19, "perf-sched-pipe has no result", 16),
    "perf-bench-futex-epoll.log": (15, "perf-futex-wake has no result", 8),
    "netperf-tcp-stream.log": (20, "printed no result", 15),
    "netperf-udp-stream.log": (6, "a result is cut off", 6),
    "cyclictest-histogram.log": (200, "no histogram with its summary", 200),
    "hyperfine.json": (12, "middle of its JSON", 12),
    "iperf3-tcp.json": (60, "middle of its JSON", 60),
}


@pytest.mark.parametrize("name", CUT)
def test_a_log_that_is_cut_off_is_named_with_its_line(name: str, tmp_path: Path) -> None:
    lines, said, where = CUT[name]
    path = tmp_path / name
    path.write_text("\n".join(text(name).split("\n")[:lines]))
    with pytest.raises(ImportProblem, match=said) as problem:
        detect.read(path)
    assert problem.value.where == f"{path}:{where}"
    assert problem.value.todo


def test_a_figure_that_is_cut_off_is_no_figure(tmp_path: Path) -> None:
    path = tmp_path / "hackbench.log"
    path.write_text(text("hackbench.log").rstrip()[:-2])  # "Time: 0.2"
    with pytest.raises(ImportProblem, match="cut off"):
        detect.read(path)
    path = tmp_path / "perf.csv"
    path.write_text(text("perf-stat.csv").split("itches")[0])  # "7,,context-sw"
    with pytest.raises(ImportProblem, match="is cut off"):
        detect.read(path)


def test_a_line_of_transactions_that_is_none_is_named(tmp_path: Path) -> None:
    lines = text("pgbench-transactions.7140").split("\n")
    lines[70] = "0 35 4"
    path = tmp_path / "pgbench_log.1"
    path.write_text("\n".join(lines))
    with pytest.raises(ImportProblem, match="“0 35 4” is no line of a transaction") as problem:
        detect.read(path, "pgbench-log")
    assert problem.value.where == f"{path}:71"


def test_a_test_that_failed_says_what_the_tool_said() -> None:
    with pytest.raises(ImportProblem, match="Connection refused"):
        detect.read(SAMPLES / "iperf3-error.json")


def test_json_that_breaks_off_in_a_line_of_perf_is_named(tmp_path: Path) -> None:
    path = tmp_path / "perf.json"
    path.write_text(text("perf-stat.json")[:-60])
    with pytest.raises(ImportProblem, match="no whole JSON object") as problem:
        detect.read(path)
    assert problem.value.where == f"{path}:10"


def test_counts_that_are_all_missing_are_no_results(tmp_path: Path) -> None:
    path = tmp_path / "perf.csv"
    path.write_text("<not supported>,,cycles,0,100.00,,\n<not counted>,,instructions,0,0.00,,\n")
    with pytest.raises(ImportProblem, match="no event was counted"):
        detect.read(path)


def test_a_run_without_a_time_between_others_is_left_out_and_said(tmp_path: Path) -> None:
    lines = text("hackbench.log").split("\n")
    path = tmp_path / "hackbench.log"
    path.write_text("\n".join(lines[:5] + lines[6:]))
    found = detect.read(path)
    assert found.series[0].values.tolist() == [0.288, 0.264]
    assert any("printed no time" in note for note in found.notes)


def test_schbench_without_its_last_report_says_so(tmp_path: Path) -> None:
    path = tmp_path / "schbench.log"
    path.write_text("\n".join(text("schbench.log").split("\n")[:57]))
    found = detect.read(path)
    assert any("its last report is taken" in note for note in found.notes)
