"""Figures with a decimal comma are read where the comma is certain; otherwise the reason names the comma.

The output was recorded with ``LC_ALL=de_DE.UTF-8``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.results.imported import ImportProblem
from tests.importers.logs.recorded import reading
from tests.importers.printed.helpers import imported, only, values

SEMICOLONS = """1,20;msec;task-clock;5,26%;1200000;100,00;0,012;CPUs utilized
2;;context-switches;0,00%;1200000;100,00;1,667;K/sec
"""
JSON = (
    '{"counter-value" : "1,200000", "unit" : "msec", "event" : "task-clock", "event-runtime" : 1200000, '
    '"pcnt-running" : 100,00, "metric-value" : 0,012000, "metric-unit" : "CPUs utilized"}\n'
    '{"counter-value" : "80,000000", "unit" : "", "event" : "page-faults", "event-runtime" : 1175333, '
    '"pcnt-running" : 100,00, "metric-value" : 68,065816, "metric-unit" : "K/sec"}\n'
)
BENCH = """# Running 'sched/pipe' benchmark:
# Executed 2000 pipe operations between two processes

     Total time: 0.060 [sec]

      30,500000 usecs/op
          32786 ops/sec
# Running 'syscall/basic' benchmark:
# Executed 10.000 getppid() calls
     Total time: 0.001 [sec]

       0,103000 usecs/op
      9.708.737 ops/sec
# Running 'mem/memcpy' benchmark:
# function 'default' (Default memcpy() provided by glibc)
# Copying 1MB bytes ...

      10,850694 GB/sec
# Running 'internals/synthesize' benchmark:
  Average synthesis took: 124,100 usec (+- 19,344 usec)
"""
NUMA = """# Running 'numa/mem' benchmark:
 main,                                    1,005, secs,           runtime-max/thread
 main,                                   10,673, GB/sec,         thread-speed
"""


def figures(form: str, content: str) -> dict[str, float]:
    return {
        f"{samples.workload} {samples.metric.name}": float(samples.values[-1])
        for samples in reading(form, content).samples
    }


def test_perf_stat_between_semicolons() -> None:
    (table,) = reading("perf-stat", SEMICOLONS).tables
    assert [(line.cells[0].value, line.cells[0].spread_percent) for line in table.rows] == [(1.2, 5.26), (2.0, 0.0)]


def test_json_of_perf_stat() -> None:
    assert figures("perf-stat-json", JSON) == {"perfstat task-clock": 1.2, "perfstat page-faults": 80.0}


def test_perf_bench() -> None:
    assert figures("perf-bench", BENCH) == {
        "perf-sched-pipe latency": 30.5, "perf-sched-pipe time": 0.06,
        "perf-syscall-basic latency": 0.103, "perf-syscall-basic time": 0.001,
        "perf-mem-memcpy throughput": 10.850694, "perf-internals-synthesize time": 124.1,
    }  # fmt: skip
    assert figures("perf-bench", NUMA) == {
        "perf-numa-mem runtime-max/thread": 1.005,
        "perf-numa-mem thread-speed": 10.673,
    }
    # The number of calls is a parameter in every locale.
    for calls in ("10.000", "10,000", "10000"):
        samples = reading("perf-bench", BENCH.replace("10.000", calls)).samples
        assert [part.parameters["loops"] for part in samples if part.workload == "perf-syscall-basic"] == [10000] * 2


@pytest.mark.parametrize(
    "counters", ["", "   0,88 msec task-clock   #    0,296 CPUs utilized\n     47      page-faults\n"]
)
def test_perf_stat_for_people_without_percentages(counters: str) -> None:
    text = (
        f" Performance counter stats for 'true':\n\n{counters}\n"
        "       0,001971722 seconds time elapsed\n\n       0,001297000 seconds user\n       0,000000000 seconds sys\n"
    )
    table = only(imported(text))
    read = {line.operation: values(line) for line in table.rows}
    assert (read["elapsed"], read["user"], read["system"]) == ([0.001971722], [0.001297], [0.0])
    assert read.get("task-clock", [0.88]) == [0.88]


def test_whole_counts_are_grouped_in_any_locale() -> None:
    block = " Performance counter stats for 'true':\n\n   {}      page-faults:u\n   {}      cycles\n"
    for point in ".", ",":
        table = only(imported(block.format(f"1{point}234", f"1{point}234{point}567")))
        assert [values(line) for line in table.rows] == [[1234.0], [1_234_567.0]]


def test_figures_of_two_locales_in_one_block_are_refused() -> None:
    with pytest.raises(ImportProblem, match="both decimal points and decimal commas") as problem:
        imported(
            " Performance counter stats for 'true':\n\n   0.88 msec task-clock\n   0,001971722 seconds time elapsed\n"
        )
    assert problem.value.where.endswith(":3")


def test_commas_that_also_separate_are_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "perf.csv"
    path.write_text("1,07,msec,task-clock,1068137,100,00,235,CPUs utilized\n49,,page-faults,1068137,100,00,45,K/sec\n")
    with pytest.raises(ImportProblem, match="with decimal commas") as problem:
        detect.read(path)
    assert "LC_ALL=C" in problem.value.todo


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("# Running 'sched/pipe' benchmark:\n# Executed 200 pipe operations\n\n   30,5 frobs/op\n", "30,5"),
        ("# Running 'sched/messaging' benchmark:\n\nreal\t0m1,234s\n", "0m1,234s"),
    ],
)
def test_a_refusal_names_decimal_commas(text: str, figure: str, tmp_path: Path) -> None:
    path = tmp_path / "bench.log"
    path.write_text(text)
    with pytest.raises(ImportProblem, match=f"has no result.*decimal comma \\({figure}\\)") as problem:
        detect.read(path)
    assert problem.value.todo.startswith("run the tool with LC_ALL=C")
    path.write_text(text.replace(",", "."))
    with pytest.raises(ImportProblem) as problem:
        detect.read(path)
    assert "comma" not in problem.value.what


def test_groups_of_thousands_are_no_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "bench.log"
    path.write_text("# Running 'sched/messaging' benchmark:\n\n1,234 tasks and 1,234,567 messages\n")
    with pytest.raises(ImportProblem) as problem:
        detect.read(path)
    assert "comma" not in problem.value.what
