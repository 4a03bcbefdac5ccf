"""Each tool's figures come out as the tool printed them, with its units and the right direction.

The expected figures are those printed in the samples; where a unit is another, the factor stands beside them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.importers import detect
from tests.importers.logs.recorded import SAMPLES, read, reading, row, text, values

DIRECTIONS = {
    "hackbench.log": {"time": ("s", "lower")},
    "tbench.log": {"throughput": ("MB/s", "higher"), "latency-readx": ("us", "lower")},
    "pgbench-progress.log": {"tps-interim": ("transactions/s", "higher"), "latency": ("us", "lower")},
    "pgbench-aggregate.7149": {"tps": ("transactions/s", "higher"), "latency": ("us", "lower")},
    "perf-bench-sched.log": {"time": ("s", "lower"), "latency": ("us/op", "lower")},
    "perf-bench-futex-epoll.log": {"operations": ("operations/s", "higher"), "latency": ("ms", "lower")},
    "perf-bench-mem.log": {"throughput": ("GiB/s", "higher")},
    "perf-stat.csv": {"task-clock": ("ms", "lower"), "context-switches": ("events", "lower")},
    "netperf-tcp-stream.log": {"throughput": ("Mbit/s", "higher")},
    "netperf-tcp-rr.log": {"transactions": ("transactions/s", "higher")},
    "netperf-udp-stream.log": {"sent": ("Mbit/s", "higher"), "received": ("Mbit/s", "higher")},
    "netperf-cpu.log": {"cpu-local": ("%", "lower"), "throughput": ("Mbit/s", "higher")},
    "netperf-omni-keys.log": {"transactions": ("transactions/s", "higher"), "latency-p99": ("us", "lower")},
    "iperf3-tcp.json": {"received": ("Mbit/s", "higher"), "retransmits": ("segments", "lower")},
    "iperf3-udp.json": {"jitter": ("ms", "lower"), "lost": ("%", "lower")},
    "hyperfine.json": {"time": ("s", "lower")},
    "schbench.log": {"wakeup-p99": ("us", "lower"), "requests": ("requests/s", "higher")},
    "cyclictest.log": {"latency-max": ("us", "lower")},
}  # fmt: skip


@pytest.mark.parametrize("name", DIRECTIONS)
def test_units_and_directions_are_the_tools_own(name: str) -> None:
    found = {(one.metric, one.unit, one.direction) for one in read(name).series}
    assert {(metric, *scale) for metric, scale in DIRECTIONS[name].items()} <= found


def test_runs_of_hackbench_in_one_log_are_samples_of_one_row() -> None:
    found = read("hackbench.log")
    assert values(found, "time") == [0.288, 0.261, 0.264]
    # 40 descriptors are the two ends of 20.
    assert row(found, "time").parameters == {"mode": "process", "groups": 2, "fds": 20, "loops": 200, "size": 100}
    threads = row(read("hackbench-threads-pipes.log"), "time")
    assert (threads.parameters["mode"], threads.values.tolist()) == ("thread", [0.023, 0.040])


def test_tbench_tells_throughput_latencies_and_every_second() -> None:
    found = read("tbench.log")
    assert values(found, "throughput", clients=2) == [623.18]
    # Milliseconds in the log.
    assert values(found, "latency-writex") == [20.0]
    assert values(found, "latency-max") == [3746.0]
    assert values(found, "throughput-so-far") == [654.56, 632.74, 623.18]
    assert values(found, "latency-max-interim") == [3746.0, 2457.0, 716.0]
    assert {one.workload for one in found.series} == {"tbench"}
    assert {one.workload for one in read("dbench.log").series} == {"dbench"}


def test_pgbench_tells_its_summary_and_its_progress() -> None:
    found = read("pgbench-progress.log")
    assert values(found, "tps", mode="ro", clients=2, scale=1) == [29292.187215]
    assert values(found, "latency") == [65.0]
    assert values(found, "tps-interim") == [29851.4, 31460.6, 26484.9]
    assert values(found, "latency-interim") == [63.0, 60.0, 73.0]
    assert values(read("pgbench-rate.log"), "schedule-lag") == [119.0]
    written = read("pgbench-rw.log")
    assert values(written, "tps", mode="rw") == [2522.386177]
    assert any("single statements" in note for note in written.notes)


def test_transactions_of_pgbench_are_samples_and_their_rate_is_its_own() -> None:
    found = read("pgbench-transactions.7140")
    latencies = values(found, "latency")
    assert (len(latencies), latencies[:3]) == (120, [571.0, 75.0, 55.0])
    (rate,) = values(found, "tps")
    lines = [line.split() for line in (SAMPLES / "pgbench-transactions.7140").read_text().splitlines()]
    ends = [int(line[4]) * 1_000_000 + int(line[5]) for line in lines]
    starts = [end - int(line[2]) for end, line in zip(ends, lines, strict=True)]
    assert rate == pytest.approx(120 / (max(ends) - min(starts)) * 1e6)


def test_skipped_transactions_are_counted_and_said() -> None:
    found = read("pgbench-skipped.log")
    assert len(values(found, "latency")) == 10
    assert any("52 transactions skipped" in note for note in found.notes)


def test_intervals_of_pgbench_become_their_means_and_rates() -> None:
    found = read("pgbench-aggregate.7149")
    # 462968 us over 800 transactions, and so on; the first interval had begun before its first transaction.
    assert values(found, "latency") == pytest.approx([578.71, 715.802, 732.7527, 752.6472], abs=1e-3)
    assert values(found, "tps") == [2778.0, 2722.0, 2653.0]


def test_logs_of_pgbench_threads_are_one_run() -> None:
    found = read("pgbench-threads")
    assert found.columns == ("pgbench_log.7144",)
    assert len(values(found, "latency")) == 60
    assert row(found, "latency").block == 1


def test_perf_bench_tells_each_benchmark_by_its_parameters() -> None:
    found = read("perf-bench-sched.log")
    assert values(found, "time", "perf-sched-messaging", groups=1, mode="process") == [0.038, 0.036]
    assert values(found, "time", "perf-sched-messaging", groups=2, mode="thread") == [0.021]
    assert values(found, "latency", "perf-sched-pipe", loops=5000) == [27.873, 38.9012]
    assert values(found, "latency", "perf-syscall-basic") == [0.16961]


def test_perf_bench_tells_single_runs_where_it_prints_them() -> None:
    found = read("perf-bench-futex-epoll.log")
    assert values(found, "latency", "perf-futex-wake", threads=4) == [
        0.262, 0.119, 0.123, 0.123, 0.128, 0.124, 0.117, 4.148, 0.129, 0.128,
    ]  # fmt: skip
    assert values(found, "operations", "perf-futex-hash") == [2067456.0]
    assert values(found, "operations", "perf-epoll-ctl", operation="mod") == [203296.0]


def test_both_formats_of_perf_bench_mem_are_one_unit() -> None:
    assert values(read("perf-bench-mem.log"), "throughput", "perf-mem-memcpy", function="default") == [23.251488]
    # Bytes a second in the simple format: 22310127659.574467 / 2**30.
    simple = values(read("perf-bench-mem-simple.log"), "throughput", "perf-mem-memcpy", function="default")
    assert simple == pytest.approx([22310127659.574467 / 2**30])


def test_the_simple_format_of_perf_bench_is_seconds() -> None:
    found = read("perf-bench-simple.log")
    assert values(found, "time", "perf-sched-messaging") == [0.630]
    assert values(found, "time", "perf-sched-pipe") == [24.832]


def test_perf_stat_tells_what_was_counted_and_names_what_was_not() -> None:
    for name in ("perf-stat.csv", "perf-stat.json"):
        found = read(name)
        assert {one.metric for one in found.series} == {
            "task-clock",
            "context-switches",
            "cpu-migrations",
            "page-faults",
        }
        assert any("never counted: cycles, instructions" in note for note in found.notes)
    assert values(read("perf-stat.csv"), "task-clock") == [1.69]
    assert values(read("perf-stat.json"), "task-clock") == [0.714132]


def test_intervals_of_perf_stat_are_samples_and_missing_ones_are_no_zeros() -> None:
    found = read("perf-stat-interval.csv")
    assert values(found, "task-clock") == [0.73, 0.06]
    assert any("task-clock: 2 counts are missing" in note for note in found.notes)


def test_perf_stat_of_single_cpus_keeps_them_apart() -> None:
    assert values(read("perf-stat-per-cpu.csv"), "context-switches", place="CPU1") == [37.0]
    assert values(read("perf-stat-per-cpu.json"), "context-switches", place="CPU1") == [24.0]
    assert values(read("perf-stat-per-core.tsv"), "context-switches", place="S0-D0-C1") == [26.0, 15.0, 10.0]


def test_repeated_runs_of_perf_stat_are_a_table_with_their_errors() -> None:
    (table,) = read("perf-stat-repeat.csv").tables
    cells = {one.operation: one.cells[0] for one in table.rows}
    assert (cells["task-clock"].value, cells["task-clock"].spread_percent) == (0.75, 1.81)
    assert cells["task-clock"].spread_kind == "standard error"
    # duration_time is perf's own clock, in nanoseconds.
    assert cells["elapsed"].value == pytest.approx(0.021274348)
    assert cells["cycles"].value is None
    assert table.columns == ("perf-stat-repeat",)


def test_netperf_tells_its_tests_apart() -> None:
    assert values(read("netperf-tcp-stream.log"), "throughput", "netperf-tcp-stream", size=1024) == [
        7005.68,
        5646.28,
        6954.74,
    ]
    udp = read("netperf-udp-stream.log")
    assert (values(udp, "sent", size=1024), values(udp, "received")) == ([1738.28], [768.78])
    unix = read("netperf-unix.log")
    assert values(unix, "throughput", "netperf-stream-stream") == [3799.06]
    assert values(unix, "transactions", "netperf-dg-rr", request=1, reply=1) == [17847.00]


def test_netperf_without_headings_is_told_by_its_shape() -> None:
    assert values(read("netperf-bare-stream.log"), "throughput", size=16384) == [23181.15, 23480.45]
    assert values(read("netperf-bare-rr.log"), "transactions") == [17217.73, 31741.56]
    udp = read("netperf-bare-udp.log")
    assert (values(udp, "sent"), values(udp, "received")) == ([62462.85], [29358.59])
    assert any("no units" in note for note in udp.notes)


def test_netperf_tells_interim_results_cpu_and_a_confidence_it_did_not_reach() -> None:
    demo = read("netperf-demo.log")
    assert values(demo, "transactions") == [17309.50]
    assert values(demo, "transactions-interim") == [18066.58, 17005.62, 16291.44, 17424.60, 17810.00]
    cpu = read("netperf-cpu.log")
    assert values(cpu, "cpu-remote", "netperf-tcp-rr") == [42.18]
    assert values(cpu, "demand-local", "netperf-tcp-stream") == [0.542]
    assert any("did not reach its confidence" in note for note in read("netperf-confidence.log").notes)


def test_the_omni_output_is_read_in_its_three_forms() -> None:
    assert values(read("netperf-omni.log"), "throughput") == [23759.37]
    keys = read("netperf-omni-keys.log")
    assert (values(keys, "transactions"), values(keys, "latency-p99")) == ([16883.73], [98.0])
    separated = read("netperf-omni.csv")
    assert (values(separated, "transactions"), values(separated, "latency")) == ([16368.37], [61.02])
    # -1.00 says that it was not measured.
    assert not [one for one in separated.series if one.metric == "cpu-local"]


def test_iperf3_tells_both_ends_and_its_intervals() -> None:
    found = read("iperf3-tcp.json")
    # bits_per_second / 10**6 of end.sum_received and end.sum_sent
    assert values(found, "received") == pytest.approx([20839.3928005242])
    assert len(values(found, "rate-interim")) == 3
    udp = read("iperf3-udp.json")
    assert values(udp, "lost", streams=2) == pytest.approx([64.94413044890534])


def test_hyperfine_alone_has_a_column_for_each_command_and_a_sample_for_each_run() -> None:
    found = read("hyperfine.json")
    assert found.columns == ("sleep 0.01", "sleep 0.012")
    assert values(found, "time", column="sleep 0.01")[0] == 0.011118109000000001
    assert len(values(found, "time", column="sleep 0.012")) == 6
    assert read("hyperfine-parameters.json").columns == ("ms=10", "ms=11", "ms=12")
    assert any("failed" in note for note in read("hyperfine-one.json").notes)


def test_the_last_report_of_schbench_counts_and_every_interval_of_requests() -> None:
    found = read("schbench.log")
    assert (values(found, "wakeup-p99"), values(found, "request-p99.9"), values(found, "requests")) == (
        [58.0],
        [9808.0],
        [391.67],
    )
    assert values(found, "requests-interim") == [377.39, 396.88, 397.92]


def test_cyclictest_tells_threads_together() -> None:
    found = read("cyclictest.log")
    # (995 × 71 + 667 × 63) / (995 + 667)
    assert values(found, "latency-mean", threads=2, interval=1000) == pytest.approx([67.78941])
    assert (values(found, "latency-max"), values(found, "latency-min")) == ([2228.0], [26.0])
    assert values(read("cyclictest-verbose.log"), "latency")[:4] == [22.0, 74.0, 67.0, 70.0]
    histogram = read("cyclictest-histogram.log")
    assert (values(histogram, "latency-mean"), values(histogram, "latency-max")) == ([66.0], [1739.0])


def test_cyclictest_json_agrees_with_what_it_holds() -> None:
    found = read("cyclictest.json")
    assert values(found, "latency-min") == [26.0]
    assert values(found, "latency-max") == [2259.0]


def test_summaries_of_hyperfine_are_a_table_in_seconds() -> None:
    (table,) = read("hyperfine.csv").tables
    assert {one.unit for one in table.rows} == {"s"}
    mean = next(one for one in table.rows if one.operation == "mean")
    assert (mean.parameters, mean.cells[0].value) == ({"benchmark": "sleep 0.01"}, 0.012921453666666666)
    # stddev / mean = 0.001849809735664689 / 0.012921453666666666
    assert mean.cells[0].spread_percent == pytest.approx(14.315802, abs=1e-5)


def test_tests_of_iperf3_appended_to_one_file_are_samples(tmp_path: Path) -> None:
    path = tmp_path / "iperf3.json"
    path.write_text(text("iperf3-tcp.json") + text("iperf3-tcp.json").replace('"retransmits":\t3', '"retransmits":\t5'))
    assert values(detect.read(path), "retransmits") == [3.0, 5.0]


def test_older_tools_told_less() -> None:
    old = reading("dbench", "   4     62477   1000.50 MB/sec  execute   1 sec\nThroughput 1002.26 MB/sec 4 procs\n")
    told = {one.metric.name: list(one.values) for one in old.samples}
    assert told == {"throughput": [1002.26], "throughput-so-far": [1000.5]}
    assert old.samples[0].parameters == {"clients": 4}
    summary = (
        "transaction type: SELECT only\nscaling factor: 1\nquery mode: simple\nnumber of clients: 4\n"
        "tps = 9000.5 (including connections establishing)\ntps = 9001.5 (excluding connections establishing)\n"
    )
    old = reading("pgbench", summary)
    assert [(one.metric.name, list(one.values)) for one in old.samples] == [("tps", [9001.5])]
    assert old.samples[0].parameters["mode"] == "ro"
    old = reading("schbench", "Latency percentiles (usec)\n\t50.0000th: 9\n\t*99.0000th: 21\n\tmin=0, max=52\n")
    assert {one.metric.name: list(one.values) for one in old.samples} == {"wakeup-p50": [9.0], "wakeup-p99": [21.0]}
    old = reading("hackbench", "Running with 10*40 (== 400) tasks.\nTime: 1.250\n")
    assert old.samples[0].parameters == {"groups": 10, "fds": 20}


def test_perf_stat_of_control_groups_keeps_them_apart() -> None:
    found = reading("perf-stat", "5,,context-switches,a,100,100.00,,\n7,,context-switches,b,100,100.00,,\n")
    assert [(dict(one.parameters), list(one.values)) for one in found.samples] == [
        ({"place": "a"}, [5.0]),
        ({"place": "b"}, [7.0]),
    ]


@pytest.mark.parametrize("between", [",", ";", "\t", "|", ":", "@@", "!"])
def test_any_separator_of_perf_stat_is_found(between: str, tmp_path: Path) -> None:
    path = tmp_path / "perf"
    path.write_text(text("perf-stat.csv").replace(",", between))
    found = detect.read(path)
    assert (found.format, values(found, "task-clock"), values(found, "page-faults")) == ("perf-stat", [1.69], [140.0])
