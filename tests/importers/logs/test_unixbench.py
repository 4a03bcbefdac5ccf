"""UnixBench's output with invented figures: tests, indices, scores, and a truncated run."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.results.imported import ImportProblem
from tests.importers.logs.recorded import values

LOG = """\
------------------------------------------------------------------------
Benchmark Run: Thu Jan 01 2026 10:00:00 - 10:10:00
4 CPUs in system; running 1 parallel copy of tests

Pipe Throughput                             1000000.0 lps   (10.0 s, 7 samples)
System Call Overhead                         600000.0 lps   (10.0 s, 7 samples)

System Benchmarks Partial Index              BASELINE       RESULT    INDEX
Pipe Throughput                               12440.0    1000000.0    803.9
System Call Overhead                          15000.0     600000.0    400.0
                                                                   ========
System Benchmarks Index Score (Partial Only)                          567.1

------------------------------------------------------------------------
Benchmark Run: Thu Jan 01 2026 10:10:00 - 10:20:00
4 CPUs in system; running 4 parallel copies of tests

Pipe Throughput                             4000000.0 lps   (10.0 s, 7 samples)

System Benchmarks Partial Index              BASELINE       RESULT    INDEX
Pipe Throughput                               12440.0    4000000.0   3215.4
                                                                   ========
System Benchmarks Index Score (Partial Only)                         3215.4
"""


def test_tests_and_scores_of_each_number_of_copies(tmp_path: Path) -> None:
    log = tmp_path / "unixbench.txt"
    log.write_text(LOG)
    imported = detect.read(log)
    assert imported.format == "unixbench"
    assert imported.tables == ()
    assert values(imported, "rate", "unixbench", copies=1, test="System Call Overhead") == [600000.0]
    assert values(imported, "index", "unixbench", copies=4, test="Pipe Throughput") == [3215.4]
    assert values(imported, "score", "unixbench", copies=1) == [567.1]
    assert {series.direction for series in imported.series} == {"higher"}


def test_runs_below_headings_are_columns(tmp_path: Path) -> None:
    log = tmp_path / "mail.txt"
    run = LOG.partition("----\nBenchmark Run: Thu Jan 01 2026 10:10")[0]
    log.write_text(f"before:\n{run}\nafter:\n{run.replace('567.1', '601.3')}\n")
    imported = detect.read(log)
    assert imported.columns == ("before", "after")
    assert [list(s.values) for s in imported.series if s.metric == "score"] == [[567.1], [601.3]]


def test_a_run_without_its_score_is_cut_off(tmp_path: Path) -> None:
    log = tmp_path / "cut.txt"
    log.write_text(LOG.rpartition("     ====")[0])
    with pytest.raises(ImportProblem, match=r"cut\.txt:16: a run ends without its score"):
        detect.read(log)
