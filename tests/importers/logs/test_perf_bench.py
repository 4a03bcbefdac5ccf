"""perf bench of perf 6.1: benchmarks whose figures depend on more than its name; uprobe as in its source."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.results.imported import ImportProblem
from tests.importers.logs.recorded import read, row, text, values

SAMPLE = "perf-bench-other.log"


def test_each_size_of_find_bit_is_a_row() -> None:
    imported = read(SAMPLE)
    assert values(imported, "time", "perf-mem-find_bit", set=1, bits=1, of="for_each_set_bit") == [2.0]
    assert values(imported, "time", "perf-mem-find_bit", set=2, bits=2, of="test_bit loop") == [0.75]
    assert len([series for series in imported.series if series.workload == "perf-mem-find_bit"]) == 6


def test_numa_has_the_same_figures_with_and_without_q() -> None:
    imported = read(SAMPLE)
    quiet, full = "-p 1 -t 2 -P 64 -T 16 -s 2 -q", "-p 1 -t 2 -P 64 -s 2 -zZ0cm"
    speed = row(imported, "total-speed", options=quiet)
    assert (speed.values.tolist(), speed.unit, speed.direction) == ([8.403], "GB/s", "higher")
    assert values(imported, "total-speed", options=full) == [19.934]
    assert values(imported, "runtime-max/thread", options=quiet) == [2.021]
    assert values(imported, "NUMA-convergence-latency", options=full) == [0.301]
    byte = row(imported, "runtime/byte/thread", options=full)
    assert (byte.values.tolist(), byte.unit, byte.direction) == ([0.1], "ns", "lower")


def test_tests_of_numa_are_rows(tmp_path: Path) -> None:
    run = ' # Running {0}, "perf bench numa mem -p 1 -t 1 -P 1024 -s 20 -zZq"\n {0},   {1}, GB/sec,    total-speed\n'
    log = tmp_path / "numa.log"
    log.write_text(
        "# Running numa/mem benchmark...\n" + run.format("RAM-bw-local", 9.5) + run.format("RAM-bw-remote", 5.5)
    )
    imported = detect.read(log)
    assert values(imported, "total-speed", test="RAM-bw-local") == [9.5]
    assert values(imported, "total-speed", test="RAM-bw-remote") == [5.5]


def test_internals_have_times_of_a_pass_and_of_an_event() -> None:
    imported = read(SAMPLE)
    assert values(imported, "time", "perf-internals-synthesize", of="data synthesis") == [112.1]
    assert values(imported, "time-per-event", "perf-internals-synthesize", of="synthesis") == [4.09]
    assert values(imported, "time-per-event", "perf-internals-inject-build-id", of="build-id-all injection") == [0.695]
    memory = row(imported, "memory", of="build-id injection")
    assert (memory.values.tolist(), memory.unit, memory.direction) == ([10648.0], "KiB", "lower")


def test_breakpoints_and_uprobes_have_times_of_an_operation() -> None:
    imported = read(SAMPLE)
    assert values(imported, "latency", "perf-breakpoint-thread", breakpoints=1, parallel=2) == [33.05]
    assert values(imported, "latency-per-cpu", "perf-breakpoint-thread") == [66.1]
    assert values(imported, "latency", "perf-breakpoint-enable", passive=2, active=0) == [9.8]
    assert values(imported, "latency", "perf-uprobe-baseline", loops=1000) == [1053.533]
    assert values(imported, "latency", "perf-uprobe-empty", loops=1000) == [1055.103]


def test_the_simple_format_of_uprobe_is_in_microseconds(tmp_path: Path) -> None:
    log = tmp_path / "uprobe.log"
    log.write_text("# Running uprobe/baseline benchmark...\n1053533\n\n# Running uprobe/empty benchmark...\n1055103\n")
    imported = detect.read(log)
    time = row(imported, "time", "perf-uprobe-baseline")
    assert (time.values.tolist(), time.unit) == (pytest.approx([1.053533]), "s")


@pytest.mark.parametrize(
    "last", ["          8.403 GB/sec total speed", " 1,053.533 usecs/op", "66.100000 usecs/op/cpu"]
)
def test_a_benchmark_without_its_figures_is_cut_off(last: str, tmp_path: Path) -> None:
    log = tmp_path / "cut.log"
    before = text(SAMPLE).partition(last)[0]
    section = before[before.rindex("# Running '") :]
    log.write_text("".join(line for line in section.splitlines(keepends=True) if line.startswith("#")))
    with pytest.raises(ImportProblem, match="has no result"):
        detect.read(log)
