"""A log that is cut off, or that a failed run wrote, is reported with its line; no part of the log is imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.results.imported import ImportProblem
from tests.importers.logs.recorded import SAMPLES, reading, text

CUT = {
    # sample: number of lines kept, message, line of the problem
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
    lines, message, line = CUT[name]
    path = tmp_path / name
    path.write_text("\n".join(text(name).split("\n")[:lines]))
    with pytest.raises(ImportProblem, match=message) as problem:
        detect.read(path)
    assert problem.value.where == f"{path}:{line}"
    assert problem.value.todo


def test_a_truncated_figure_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "hackbench.log"
    path.write_text(text("hackbench.log").rstrip()[:-2])  # "Time: 0.2"
    with pytest.raises(ImportProblem, match="cut off"):
        detect.read(path)
    path = tmp_path / "perf.csv"
    path.write_text(text("perf-stat.csv").split("itches")[0])  # "7,,context-sw"
    with pytest.raises(ImportProblem, match="is cut off"):
        detect.read(path)


def test_a_foreign_line_among_transactions_is_named(tmp_path: Path) -> None:
    lines = text("pgbench-transactions.7140").split("\n")
    lines[70] = "0 35 4"
    path = tmp_path / "pgbench_log.1"
    path.write_text("\n".join(lines))
    with pytest.raises(ImportProblem, match="“0 35 4” is not a line of a transaction") as problem:
        detect.read(path, "pgbench-log")
    assert problem.value.where == f"{path}:71"


def test_a_failed_test_is_refused_with_the_tools_message() -> None:
    with pytest.raises(ImportProblem, match="Connection refused"):
        detect.read(SAMPLES / "iperf3-error.json")


def test_truncated_json_of_perf_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "perf.json"
    path.write_text(text("perf-stat.json")[:-60])
    with pytest.raises(ImportProblem, match="not a complete JSON object") as problem:
        detect.read(path)
    assert problem.value.where == f"{path}:10"


def test_a_log_without_any_count_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "perf.csv"
    path.write_text("<not supported>,,cycles,0,100.00,,\n<not counted>,,instructions,0,0.00,,\n")
    with pytest.raises(ImportProblem, match="no event was counted"):
        detect.read(path)


def test_a_run_without_a_time_is_left_out_with_a_note(tmp_path: Path) -> None:
    lines = text("hackbench.log").split("\n")
    path = tmp_path / "hackbench.log"
    path.write_text("\n".join(lines[:5] + lines[6:]))
    imported = detect.read(path)
    assert imported.series[0].values.tolist() == [0.288, 0.264]
    assert any("printed no time" in note for note in imported.notes)


def test_a_note_says_that_schbench_lacks_its_last_report(tmp_path: Path) -> None:
    path = tmp_path / "schbench.log"
    lines = text("schbench.log").split("\n")
    path.write_text("\n".join(lines[:57]))
    imported = detect.read(path)
    assert any("the last report is used" in note for note in imported.notes)


def test_reports_of_several_runs_of_schbench_are_not_read_as_one_run(tmp_path: Path) -> None:
    path = tmp_path / "schbench.log"
    report = text("schbench.log").split("current rps")[0]
    path.write_text(report + report.replace("296 ", "900 "))
    with pytest.raises(ImportProblem, match="reports may be of several runs"):
        detect.read(path)


def test_a_clock_of_perf_without_a_unit_is_in_milliseconds_only_with_decimals() -> None:
    line = "{},,task-clock,1203000,100.00,,\n3,,page-faults,1203000,100.00,,\n"
    (clock, _) = reading("perf-stat", line.format("1.203000")).samples
    assert (list(clock.values), clock.metric.unit) == ([1.203], "ms")
    with pytest.raises(ImportProblem, match="neither a unit nor decimals"):
        reading("perf-stat", line.format("1203000"))
    document = '{{"counter-value" : "{}", "unit" : "", "event" : "task-clock", "event-runtime" : 1203000}}\n'
    with pytest.raises(ImportProblem, match="neither a unit nor decimals"):
        reading("perf-stat-json", document.format("1203000"))
    assert list(reading("perf-stat-json", document.format("1.203000")).samples[0].values) == [1.203]


@pytest.mark.parametrize(
    ("name", "heading", "first"),
    [
        ("perf-bench-sched.log", "# Running 'sched/pipe' benchmark:", "perf-sched-messaging"),
        ("perf-bench-sched.log", "# Running 'syscall/basic' benchmark:", "perf-sched-pipe"),
        ("perf-bench-futex-epoll.log", "# Running 'futex/requeue' benchmark:", "perf-futex-wake-parallel"),
        ("perf-bench-simple.log", "# Running sched/pipe benchmark...", "perf-sched-messaging"),
    ],
)
def test_a_lost_heading_of_perf_bench_is_noticed(name: str, heading: str, first: str) -> None:
    assert heading in text(name)
    with pytest.raises(ImportProblem, match=f"{first} has several results below one heading"):
        reading("perf-bench", text(name).replace(heading, "", 1))
