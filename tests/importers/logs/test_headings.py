"""Output below headings such as ``before:`` and ``after:`` becomes two columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.importers import detect
from tests.importers.logs.recorded import text, values

SAMPLES = {
    "netperf-tcp-rr.log": "transactions",
    "perf-bench-sched.log": "time",
    "schbench.log": "wakeup-p99",
    "tbench.log": "throughput",
    "pgbench-progress.log": "tps",
    "cyclictest.log": "latency-max",
}


@pytest.mark.parametrize("name", SAMPLES)
def test_output_below_two_headings_is_two_columns(name: str, tmp_path: Path) -> None:
    path = tmp_path / "mail.txt"
    path.write_text(f"Some words.\n\nBefore the patch:\n\n{text(name)}\n\n=== After the patch ===\n\n{text(name)}\n")
    imported = detect.read(path)
    assert imported.columns == ("Before the patch", "After the patch")
    metric = SAMPLES[name]
    rows = {series.column: series.values.tolist() for series in imported.series if series.metric == metric}
    assert rows["Before the patch"] == rows["After the patch"]


def test_a_problem_below_a_heading_keeps_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mail.txt"
    cut = "\n".join(text("netperf-tcp-rr.log").split("\n")[:4])
    path.write_text(f"base:\n{text('netperf-tcp-rr.log')}\npatched:\n{cut}\n")
    with pytest.raises(detect.ImportProblem, match="printed no result") as problem:
        detect.read(path)
    # One heading, eight lines, an empty line, a heading: the second test begins in line 11.
    assert problem.value.where == f"{path}:{len(text('netperf-tcp-rr.log').split(chr(10))) + 3}"


def test_one_heading_alone_does_not_split(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text(f"base\n{text('netperf-tcp-rr.log')}")
    imported = detect.read(path)
    assert imported.columns == ("log",)
    assert values(imported, "transactions") == [45018.38]


def test_a_log_of_several_tools_is_read_by_the_reader_of_each_tool(tmp_path: Path) -> None:
    path = tmp_path / "all.log"
    names = (
        "hackbench.log",
        "netperf-tcp-rr.log",
        "tbench.log",
        "perf-bench-sched.log",
        "pgbench-rw.log",
        "perf-stat.csv",
    )
    path.write_text("".join(f"### {name}\n{text(name)}\n" for name in names))
    imported = detect.read(path)
    assert set(imported.format.split(", ")) == {"hackbench", "netperf", "dbench", "perf-bench", "pgbench", "perf-stat"}
    assert values(imported, "time", "hackbench") == [0.288, 0.261, 0.264]
    assert values(imported, "transactions") == [45018.38]
    assert values(imported, "task-clock") == [1.69]


def test_a_note_counts_lines_of_other_programs(tmp_path: Path) -> None:
    path = tmp_path / "perf.csv"
    path.write_text("said\nsaid\n" + text("perf-stat.csv"))
    assert any("2 lines that perf stat did not print" in note for note in detect.read(path).notes)


@pytest.mark.parametrize("mail", ["Subject: [PATCH] sched\n\n", ""])
def test_tables_of_a_mail_are_not_lost_beside_a_tools_output(mail: str, tmp_path: Path) -> None:
    path = tmp_path / "mail.txt"
    table = "tbench4\n                 vanilla            patched\nHmean  1   500.85 (  0.00%)   510.20 (  1.87%)\n"
    table += "Hmean  2   900.85 (  0.00%)   910.20 (  1.04%)\n"
    path.write_text(f"{mail}{table}\n\n{text('netperf-tcp-rr.log')}\n")
    imported = detect.read(path)
    assert [len(table.rows) for table in imported.tables] == [2]
    assert values(imported, "transactions") == [45018.38]
