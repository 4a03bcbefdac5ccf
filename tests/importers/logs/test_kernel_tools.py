"""rtla, perf sched, turbostat and rt-tests.

Sources of the samples: rtla's manual pages (linux, Documentation/tools/rtla), with fewer CPUs; perf 6.1; the mails and
the repository of reports that describe ``perf sched stats``; turbostat 2022.04; rt-tests 2.40.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.results.imported import ImportProblem, TableRow
from tests.importers.logs.recorded import read, row, text, values

STATS_DIFF = """\
Columns description
Time elapsed (in jiffies)                 :      150000,     150001
CPU <ALL CPUS SUMMARY>
sched_yield() count                       :      138180,     146373  |     5.93% |
Legacy counter can be ignored             :           0,          0  |     0.00% |
schedule() called                         :     5654101,    5723044  |     1.22% |
schedule() left the processor idle        :     1226028,    1231886  |     0.48% |  (    21.68%,     21.53% )
total runtime by tasks on this processor (in jiffies)            : 509996068491,511066738327  |     0.21% |
total waittime by tasks on this processor (in jiffies)           : 760362205701,764903176187  |     0.60% |
CPU <ALL CPUS SUMMARY>, DOMAIN MC
----------------------------------------- <Category idle> ------------------------------------------
load_balance() count on cpu idle          :       17399,      17581  |     1.05% |  $        8.62,        8.53 $
*load_balance() success count on cpu idle                        :        1938,       1967  |     1.50% |
*avg task pulled per successful lb attempt (cpu idle)            :        1.52,       1.53  |     0.23% |
--------------------------------- <Category sched_balance_exec()> ----------------------------------
sbe_count is not used                     :           0,          0  |     0.00% |
------------------------------------------ <Wakeup Info> -------------------------------------------
try_to_wake_up() awoke a task that last ran on a diff cpu        :     2333320,    2360184  |     1.15% |
"""


def _import(folder: Path, content: str, name: str = "log.txt") -> detect.Import:
    (folder / name).write_text(content)
    return detect.read(folder / name)


def _rows(imported: detect.Import) -> dict[tuple[str, str], TableRow]:
    (table,) = imported.tables
    return {(each.operation, each.label): each for each in table.rows}


def test_timerlat_has_latencies_of_each_context_by_cpu_and_of_all_cpus() -> None:
    imported = read("rtla-timerlat-top.log")
    assert values(imported, "latency-max", context="thread", cpu=23) == [41.0]
    assert values(imported, "latency-mean", context="irq", cpu=2) == [1.0]
    (total,) = [
        s for s in imported.series if s.metric == "latency-mean" and dict(s.parameters) == {"context": "thread"}
    ]
    assert (total.values.tolist(), total.unit, total.direction) == ([9.0], "us", "lower")


def test_user_threads_and_nanoseconds_of_timerlat(tmp_path: Path) -> None:
    head = "0 00:00:09 | IRQ Timer Latency (ns) | Thread Timer Latency (ns) | Ret user Timer Latency (ns)\n"
    imported = _import(tmp_path, f"{head}  7 #9  |  1 2 3 1500 |  -  -  -  - |  4 1000 5000 100000\n")
    assert values(imported, "latency-max", context="irq", cpu=7) == [1.5]
    assert values(imported, "latency-mean", context="user") == [5.0]
    assert not [series for series in imported.series if series.parameters["context"] == "thread"]


def _frame(seconds: int, count: int, largest: int) -> str:
    head = f"  0 00:00:{seconds:02d}   |          IRQ Timer Latency (us)        |         Thread Timer Latency (us)\n"
    return f"{head}  0 #{count} | 0 0 1 {largest} | 1 1 2 {largest + 5}\n"


def test_tables_that_rtla_prints_each_second_are_one_run(tmp_path: Path) -> None:
    run = _frame(1, 1000, 10) + _frame(2, 2000, 12) + _frame(3, 3000, 12)
    assert values(_import(tmp_path, run), "latency-max", context="irq") == [12.0]
    again = _frame(1, 900, 30) + _frame(2, 2000, 31)
    assert values(_import(tmp_path, run + again), "latency-max", context="irq") == [12.0, 31.0]


def test_quiet_runs_of_rtla_are_samples_even_with_rising_counts(tmp_path: Path) -> None:
    runs = _frame(60, 60000, 10) + _frame(60, 60001, 12) + _frame(60, 60002, 15)
    assert values(_import(tmp_path, runs), "latency-max", context="irq") == [10.0, 12.0, 15.0]
    with pytest.raises(ImportProblem, match=r"log\.txt:3: 2 tables after 1 s may be of one run or of 2 runs"):
        _import(tmp_path, _frame(1, 1000, 10) + _frame(1, 1001, 12))


def test_osnoise_has_noise_and_its_sources_by_cpu() -> None:
    imported = read("rtla-osnoise-top.log")
    available = row(imported, "cpu-available", cpu=1)
    assert (available.values.tolist(), available.unit, available.direction) == ([99.36282], "%", "higher")
    assert values(imported, "noise", cpu=0) == [304896.0]
    assert values(imported, "noise-max", cpu=0) == [6978.0]
    assert values(imported, "noise-single-max", cpu=0) == [56.0]
    assert values(imported, "interferences", cpu=1, source="softirq") == [1448.0]


def test_a_histogram_of_timerlat_has_percentiles() -> None:
    imported = {(s.metric, *s.parameters.values()): s.values.tolist() for s in read("rtla-timerlat-hist.log").series}
    # Of 600002 interrupts, 594816 are below 2 us, 599038 below 4 us and 599482 below 5 us; 99.9 % are 599402.
    assert imported["latency-p99", "irq"] == [1.0]
    assert imported["latency-p99.9", "irq"] == [4.0]
    # Of the threads, 35487 + 122584 + 11815 + 17287 + 43291 are below 6 us, and 101501 at 6 us; half are 300001.
    assert imported["latency-p50", "thread"] == [6.0]
    assert imported["latency-max", "thread", 0] == [36.0]
    assert imported["latency-mean", "thread", 0] == [5.0]


def test_values_above_the_last_bucket_count_and_lie_below_the_maximum() -> None:
    imported = read("rtla-osnoise-hist.log")
    largest = {
        tuple(s.parameters.items()): s.values.tolist() for s in imported.series if s.metric == "noise-single-max"
    }
    assert largest == {(): [50.0], (("cpu", 0),): [30.0], (("cpu", 1),): [30.0], (("cpu", 9),): [50.0]}
    # The mean of 55215, 54649 and 54389 values.
    (mean,) = [s for s in imported.series if s.metric == "noise-single-mean" and not s.parameters]
    assert mean.values.tolist() == pytest.approx([(55215 * 2.21 + 54649 * 1.53 + 54389 * 0.8) / 164253])
    assert any("buckets of 10 us" in note for note in imported.notes)


@pytest.mark.parametrize(
    ("name", "cut", "match"),
    [
        ("rtla-timerlat-hist.log", "max:  ", "without its summary"),
        ("rtla-osnoise-top.log", "       53130", "a line of noise is cut off"),
        ("rtla-timerlat-top.log", "         3         9        31", "a line of latencies is cut off"),
        ("perf-sched-latency.log", "  TOTAL:", "without its TOTAL"),
        ("perf-sched-stats.log", "yld_count", "contains no counter"),
        ("turbostat.log", "\t0.07\n0", "cut off"),
        ("oslat.log", "    Duration", "without its figures or duration"),
    ],
)
def test_a_cut_log_is_refused(name: str, cut: str, match: str, tmp_path: Path) -> None:
    with pytest.raises(ImportProblem, match=match):
        _import(tmp_path, text(name).partition(cut)[0] + "\n")


def test_a_histogram_that_lacks_a_bucket_is_refused(tmp_path: Path) -> None:
    lines = [line for line in text("rtla-timerlat-hist.log").splitlines(keepends=True) if not line.startswith("7 ")]
    with pytest.raises(ImportProblem, match="the buckets of IRQ-000 do not add up to its count"):
        _import(tmp_path, "".join(lines))


def test_perf_sched_latency_has_delays_by_task_without_numbers_of_processes() -> None:
    imported = read("perf-sched-latency.log")
    assert values(imported, "delay-mean", task="sched-pipe") == [0.023]
    largest = row(imported, "delay-max", task="cc1")
    assert (largest.values.tolist(), largest.unit, largest.direction) == ([22.992], "ms", "lower")
    assert any("9 tasks without a measured delay" in note for note in imported.notes)


def test_other_versions_of_perf_sched_latency(tmp_path: Path) -> None:
    old = (
        "  Task             |   Runtime ms  | Switches | Average delay ms | Maximum delay ms | Maximum delay at     |\n"
        "  kworker/1:1H:159 |      0.044 ms |        2 | avg:    0.012 ms | max:    0.015 ms | max at: 85.834525 s\n"
        "  sh:7             |      0.170 ms |        3 | avg:    0.016 ms | max:    0.023 ms | max at: 85.842895 s\n"
        "  sh:8             |      0.170 ms |        3 | avg:    0.017 ms | max:    0.024 ms | max at: 85.842895 s\n"
        "  TOTAL:           |      0.384 ms |        8 |\n"
    )
    imported = _import(tmp_path, old)
    assert values(imported, "delay-max", task="kworker/1:1H") == [0.015]
    assert values(imported, "delay-mean", task="sh:8") == [0.017]
    new = (
        "  Task                  |   Runtime ms  |  Count   | Avg delay ms    | Max delay ms    | Sum delay ms     |\n"
        "  a:(4)                 |      8.000 ms |       16 | avg:   0.250 ms | max:   1.500 ms | sum:   4.000 ms |\n"
        "  TOTAL:                |      8.000 ms |       16 |                 |                 |         4.000 ms |\n"
    )
    assert values(_import(tmp_path, new), "delay-mean", task="a") == [0.25]


def test_perf_sched_stats_diff_is_a_table_of_two_runs(tmp_path: Path) -> None:
    imported = _import(tmp_path, STATS_DIFF)
    assert imported.tables[0].columns == ("first", "second")
    rows = _rows(imported)
    waiting = rows["total waittime by tasks on this processor", ""]
    assert [cell.value for cell in waiting.cells] == [760362205701, 764903176187]
    assert (waiting.unit, waiting.direction) == ("ns", "lower")
    balance = rows["load_balance() count on cpu idle", "domain MC"]
    assert ([cell.value for cell in balance.cells], balance.unit, balance.direction) == ([17399, 17581], "events", None)
    assert rows["avg task pulled per successful lb attempt (cpu idle)", "domain MC"].unit == "tasks"
    assert not [name for name, _ in rows if "Legacy" in name or "not used" in name]
    assert any("150000 and 150001 jiffies" in note for note in imported.notes)


def test_the_command_names_the_runs_of_perf_sched_stats_diff(tmp_path: Path) -> None:
    command = "$ perf sched stats diff base.data 6ms.data\n"
    imported = _import(tmp_path, command + STATS_DIFF)
    assert imported.tables[0].columns == ("base.data", "6ms.data")


def test_perf_sched_stats_report_has_counters_by_cpu_or_their_summary(tmp_path: Path) -> None:
    rows = _rows(read("perf-sched-stats.log"))
    assert [cell.value for cell in rows["run_delay", "cpu 0"].cells] == [3449973971]
    assert (rows["run_delay", "cpu 0"].unit, rows["run_delay", "cpu 0"].direction) == ("ns", "lower")
    assert [cell.value for cell in rows["busy_lb_count", "cpu 0 domain SMT"].cells] == [136]
    summary = "CPU <ALL CPUS SUMMARY>\nsched_count     :   5\n"
    imported = _import(tmp_path, text("perf-sched-stats.log").replace("CPU 0\n", f"{summary}CPU 0\n"))
    assert [(each.operation, each.cells[0].value) for each in imported.tables[0].rows] == [("sched_count", 5)]
    assert any("counters of single CPUs" in note for note in imported.notes)


def test_turbostat_has_an_interval_a_sample_and_means_of_columns_without_direction() -> None:
    imported = read("turbostat.log")
    power = row(imported, "PkgWatt")
    assert (power.values.tolist(), power.unit, power.direction) == ([1.3, 1.81], "W", "lower")
    assert values(imported, "IRQ") == [1160.0, 1009.0]
    busy = _rows(imported)["Busy%", ""]
    (cell,) = busy.cells
    assert (cell.value, busy.unit, busy.direction, cell.n) == (pytest.approx(0.12), "%", None, 2)
    # The standard deviation of 0.11 and 0.13 is 0.02 / sqrt(2).
    assert cell.spread_percent == pytest.approx(100 * 0.02 / 2**0.5 / 0.12)
    assert values(read("turbostat-summary.log"), "PkgWatt") == [20.1, 20.3]


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("Core\tCPU\tBusy%\tPkgWatt\n0\t0\t1.5\t9.9\n1\t1\t2.5\n", "no line for the machine"),
        ("Busy%\tCPUGFX%Pkg%pc2\tPkgWatt\n1.5\t0.00\t0.00\t9.9\n", "4 values for 3 columns"),
        ("Busy%\tTotl%C0Any%C0\tPkgWatt\n1.5\t261.67100.52\t9.9\n", "not a line of turbostat|layout of this table"),
    ],
)
def test_lines_that_do_not_fit_turbostats_columns_are_refused(content: str, match: str, tmp_path: Path) -> None:
    with pytest.raises(ImportProblem, match=match):
        _import(tmp_path, content)


def test_oslat_has_the_same_metrics_as_text_and_as_json() -> None:
    printed, json = read("oslat.log"), read("oslat.json")
    assert values(printed, "latency-max", threads=2) == [48074.0]
    assert values(printed, "latency-mean", cpu=1) == [1.071]
    # 12436548 and 23463140 turns, with the turns of the last bucket.
    mean = (12436548 * 1.134 + 23463140 * 1.071) / (12436548 + 23463140)
    assert values(printed, "latency-mean", threads=2) == pytest.approx([mean])
    assert values(json, "latency-max", threads=2) == [24097.0]
    assert values(json, "latency-mean", cpu=0) == [1.104704]
    assert {series.workload for imported in (printed, json) for series in imported.series} == {"oslat"}


def test_json_of_rt_tests_has_the_workload_of_its_tool() -> None:
    pairs = read("pmqtest.json")
    assert values(pairs, "latency-mean", "pmqtest", threads=1) == [3.47]
    assert values(pairs, "latency-max", "pmqtest") == [17.0]
    signals = read("signaltest.json")
    # Each thread woke up 100 times.
    assert values(signals, "latency-mean", "signaltest", threads=2) == pytest.approx([(325.72 + 1031.36) / 2])
    assert values(signals, "latency-max", "signaltest") == [15232.0]
    migrations = read("rt-migrate-test.json")
    assert values(migrations, "latency-max", "rt-migrate-test", priority=3) == [79.0]
    assert not [series for series in migrations.series if "threads" in series.parameters]
