"""Output below headings such as ``before:`` and ``after:`` becomes two columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.importers.logs.columns import stated_columns
from tests.importers.logs.recorded import read, text, values

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


def netperf(rate: int) -> str:
    return text("netperf-tcp-rr.log").replace("45018.38", f"{rate}.00")


def by_column(imported: detect.Import, metric: str) -> dict[str, list[float]]:
    return {series.column: series.values.tolist() for series in imported.series if series.metric == metric}


def hackbench(groups: int, seconds: float) -> str:
    return (
        f"Running in process mode with {groups} groups using 40 file descriptors each (== {groups * 40} tasks)\n"
        f"Each sender will pass 100 messages of 100 bytes\nTime: {seconds:.3f}\n"
    )


def test_a_level_that_only_names_the_test_is_not_part_of_a_column(tmp_path: Path) -> None:
    path = tmp_path / "mail.txt"
    path.write_text(
        f"baseline\n4 groups:\n{hackbench(4, 1)}8 groups:\n{hackbench(8, 2)}"
        f"patched\n4 groups:\n{hackbench(4, 3)}8 groups:\n{hackbench(8, 4)}"
    )
    imported = detect.read(path)
    rows = {(series.column, series.parameters["groups"]): series.values.tolist() for series in imported.series}
    assert rows == {("baseline", 4): [1], ("baseline", 8): [2], ("patched", 4): [3], ("patched", 8): [4]}


@pytest.mark.parametrize("order", ["abab", "abba", "aabb"])
def test_runs_of_variants_in_turn_are_samples_of_their_columns(order: str, tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("".join(f"{each}:\n{netperf(number)}" for number, each in enumerate(order, 100)))
    expected = {name: [100.0 + at for at, each in enumerate(order) if each == name] for name in "ab"}
    assert by_column(detect.read(path), "transactions") == expected


def test_a_heading_that_returns_out_of_turn_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("".join(f"{each}:\n{netperf(number)}" for number, each in enumerate("asbs", 100)))
    with pytest.raises(detect.ImportProblem, match='may be a heading or prose: "s:"'):
        detect.read(path)


def test_captions_below_the_runs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text(f"{netperf(100)}(baseline)\n{netperf(200)}(patched)\n")
    with pytest.raises(detect.ImportProblem, match=r'may be a heading or prose: "\(patched\)"'):
        detect.read(path)


def test_the_same_headings_in_several_files_are_not_pooled(tmp_path: Path) -> None:
    for number, name in enumerate(("6.12", "6.13"), 1):
        content = f"base:\n{netperf(number * 100)}patched:\n{netperf(number * 100 + 1)}"
        (tmp_path / f"{name}.log").write_text(content)
    (imported,) = detect.read_all([tmp_path / "6.12.log", tmp_path / "6.13.log"])
    assert by_column(imported, "transactions") == {
        "6.12: base": [100], "6.12: patched": [101], "6.13: base": [200], "6.13: patched": [201],
    }  # fmt: skip


def test_a_stated_name_pools_the_headings_of_a_file_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text(f"base:\n{netperf(100)}patched:\n{netperf(200)}")
    (imported,) = detect.read_all([path], names=["all"])
    assert by_column(imported, "transactions") == {"all": [100, 200]}
    assert any('are one column, as --name states: "base:", "patched:"' in note for note in imported.notes)


def test_stated_columns_are_read_from_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text(f"It was fast.\n{netperf(100)}Then it was slow for reasons of its own.\n{netperf(200)}")
    with pytest.raises(detect.ImportProblem, match="may be a heading or prose"):
        detect.read(path)
    end = 1 + netperf(100).count("\n")
    columns = stated_columns([f"fast=1-{end}", f"slow={end + 1}-99"])
    assert by_column(detect.read(path, columns=columns), "transactions") == {"fast": [100], "slow": [200]}
    for wrong, message in (
        (["fast"], "is not NAME=FIRST-LAST"),
        (["a=5-2"], "is not NAME=FIRST-LAST"),
        (["a=1-5", "b=5-9"], "line 5 is stated twice"),
    ):
        with pytest.raises(detect.ImportProblem, match=message):
            stated_columns(wrong)
    with pytest.raises(detect.ImportProblem, match="contain no output of a known tool"):
        detect.read(path, columns=stated_columns(["a=1-1"]))
    with pytest.raises(detect.ImportProblem, match="the text ends in line"):
        detect.read(path, columns=stated_columns(["a=900-901"]))


def test_json_documents_below_headings_are_columns(tmp_path: Path) -> None:
    path = tmp_path / "mail.txt"
    path.write_text(f"6.12:\n{text('iperf3-tcp.json')}\n6.13:\n{text('iperf3-tcp.json')}\n")
    columns = by_column(detect.read(path), "received")
    assert list(columns) == ["6.12", "6.13"]
    assert columns["6.12"] == columns["6.13"] == by_column(read("iperf3-tcp.json"), "received")["iperf3-tcp"]
