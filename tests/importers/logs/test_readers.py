"""Readers return the figures that a tool printed, with its units and the right direction.

The samples contain the expected figures; a comment gives the factor where the unit differs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.results.imported import ImportProblem
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
    imported = {(series.metric, series.unit, series.direction) for series in read(name).series}
    assert {(metric, *scale) for metric, scale in DIRECTIONS[name].items()} <= imported


def test_runs_of_hackbench_in_one_log_are_samples_of_one_row() -> None:
    imported = read("hackbench.log")
    assert values(imported, "time") == [0.288, 0.261, 0.264]
    # hackbench prints 40 descriptors for the two ends of 20.
    assert row(imported, "time").parameters == {"mode": "process", "groups": 2, "fds": 20, "loops": 200, "size": 100}
    threads = row(read("hackbench-threads-pipes.log"), "time")
    assert (threads.parameters["mode"], threads.values.tolist()) == ("thread", [0.023, 0.040])


def test_tbench_has_throughput_latencies_and_every_second() -> None:
    imported = read("tbench.log")
    assert values(imported, "throughput", clients=2) == [623.18]
    # Milliseconds in the log.
    assert values(imported, "latency-writex") == [20.0]
    assert values(imported, "latency-max") == [3746.0]
    assert values(imported, "throughput-so-far") == [654.56, 632.74, 623.18]
    assert values(imported, "latency-max-interim") == [3746.0, 2457.0, 716.0]
    assert {series.workload for series in imported.series} == {"tbench"}
    assert {series.workload for series in read("dbench.log").series} == {"dbench"}


def test_pgbench_has_its_summary_and_its_progress() -> None:
    imported = read("pgbench-progress.log")
    assert values(imported, "tps", mode="ro", clients=2, scale=1) == [29292.187215]
    assert values(imported, "latency") == [65.0]
    assert values(imported, "tps-interim") == [29851.4, 31460.6, 26484.9]
    assert values(imported, "latency-interim") == [63.0, 60.0, 73.0]
    assert values(read("pgbench-rate.log"), "schedule-lag") == [119.0]
    written = read("pgbench-rw.log")
    assert values(written, "tps", mode="rw") == [2522.386177]
    assert any("single statements" in note for note in written.notes)


def test_pgbench_9_5_writes_its_latency_with_a_colon() -> None:
    imported = read("pgbench-9.5.log")
    assert (values(imported, "tps", mode="rw"), values(imported, "latency")) == ([1000.5], [4000.0])
    newer = text("pgbench-9.5.log").replace("latency average: 4.000 ms", "latency average = 4.000 ms")
    assert [list(samples.values) for samples in reading("pgbench", newer).samples] == [[1000.5], [4000.0]]


def test_a_mix_of_pgbench_scripts_is_a_row_of_its_own() -> None:
    imported = read("pgbench-scripts.log")
    assert values(imported, "tps", script="select only@3, simple update@1") == [9753.491152]
    assert values(imported, "latency") == [205.0]
    # Two runs in one log: the scripts below a summary belong to the run above them.
    two = reading(
        "pgbench", text("pgbench-scripts.log") + text("pgbench-scripts.log").replace("weight: 3", "weight: 9")
    )
    mixes = [samples.parameters["script"] for samples in two.samples if samples.metric.name == "tps"]
    assert mixes == ["select only@3, simple update@1", "select only@9, simple update@1"]


def test_pgbench_at_a_limited_rate_or_with_new_connections_is_a_row_of_its_own() -> None:
    assert row(read("pgbench-rate.log"), "tps").parameters["rate"] == "limited"
    again = text("pgbench-9.5.log").replace("excluding connections establishing", "including reconnection times")
    assert reading("pgbench", again).samples[0].parameters["reconnect"] == 1
    assert "reconnect" not in row(read("pgbench-9.5.log"), "tps").parameters


def test_a_note_says_how_many_transactions_were_late() -> None:
    line = "number of transactions above the 0.2 ms latency limit: {} (77.734%)\n"
    before, tps = text("pgbench-9.5.log").split("tps = 1000.0")
    late = reading("pgbench", before + line.format("398/512") + "tps = 1000.0" + tps)
    assert list(late.notes) == ["log: number of transactions above the 0.2 ms latency limit: 398/512 (77.734%)"]
    assert not reading("pgbench", before + line.format("0/512") + "tps = 1000.0" + tps).notes


def test_transactions_of_pgbench_are_samples_and_give_the_rate() -> None:
    imported = read("pgbench-transactions.7140")
    latencies = values(imported, "latency")
    assert (len(latencies), latencies[:3]) == (120, [571.0, 75.0, 55.0])
    (rate,) = values(imported, "tps")
    lines = [line.split() for line in (SAMPLES / "pgbench-transactions.7140").read_text().splitlines()]
    ends = [int(line[4]) * 1_000_000 + int(line[5]) for line in lines]
    starts = [end - int(line[2]) for end, line in zip(ends, lines, strict=True)]
    assert rate == pytest.approx(120 / (max(ends) - min(starts)) * 1e6)


def test_a_note_counts_skipped_transactions() -> None:
    imported = read("pgbench-skipped.log")
    assert len(values(imported, "latency")) == 10
    assert any("52 transactions skipped" in note for note in imported.notes)


def test_intervals_of_pgbench_become_their_means_and_rates() -> None:
    imported = read("pgbench-aggregate.7149")
    # 462968 us over 800 transactions, and so on; the first interval had begun before its first transaction.
    assert values(imported, "latency") == pytest.approx([578.71, 715.802, 732.7527, 752.6472], abs=1e-3)
    assert values(imported, "tps") == [2778.0, 2722.0, 2653.0]


def test_logs_of_pgbench_threads_are_one_run() -> None:
    imported = read("pgbench-threads")
    assert imported.columns == ("pgbench_log.7144",)
    assert len(values(imported, "latency")) == 60
    assert row(imported, "latency").block == 1


def test_perf_bench_distinguishes_benchmarks_and_parameters() -> None:
    imported = read("perf-bench-sched.log")
    assert values(imported, "time", "perf-sched-messaging", groups=1, mode="process") == [0.038, 0.036]
    assert values(imported, "time", "perf-sched-messaging", groups=2, mode="thread") == [0.021]
    assert values(imported, "latency", "perf-sched-pipe", loops=5000) == [27.873, 38.9012]
    assert values(imported, "latency", "perf-syscall-basic") == [0.16961]


def test_perf_bench_has_single_runs_where_it_prints_them() -> None:
    imported = read("perf-bench-futex-epoll.log")
    assert values(imported, "latency", "perf-futex-wake", threads=4) == [
        0.262, 0.119, 0.123, 0.123, 0.128, 0.124, 0.117, 4.148, 0.129, 0.128,
    ]  # fmt: skip
    assert values(imported, "operations", "perf-futex-hash") == [2067456.0]
    assert values(imported, "operations", "perf-epoll-ctl", operation="mod") == [203296.0]


def test_both_formats_of_perf_bench_mem_have_one_unit() -> None:
    assert values(read("perf-bench-mem.log"), "throughput", "perf-mem-memcpy", function="default") == [23.251488]
    # Bytes a second in the simple format: 22310127659.574467 / 2**30.
    simple = values(read("perf-bench-mem-simple.log"), "throughput", "perf-mem-memcpy", function="default")
    assert simple == pytest.approx([22310127659.574467 / 2**30])


def test_the_simple_format_of_perf_bench_is_in_seconds() -> None:
    imported = read("perf-bench-simple.log")
    assert values(imported, "time", "perf-sched-messaging") == [0.630]
    assert values(imported, "time", "perf-sched-pipe") == [24.832]


def test_perf_stat_has_counted_events_and_names_other_events() -> None:
    for name in ("perf-stat.csv", "perf-stat.json"):
        imported = read(name)
        assert {series.metric for series in imported.series} == {
            "task-clock",
            "context-switches",
            "cpu-migrations",
            "page-faults",
        }
        assert any("never counted: cycles, instructions" in note for note in imported.notes)
    assert values(read("perf-stat.csv"), "task-clock") == [1.69]
    assert values(read("perf-stat.json"), "task-clock") == [0.714132]


def test_intervals_of_perf_stat_are_samples_and_missing_counts_are_not_zero() -> None:
    imported = read("perf-stat-interval.csv")
    assert values(imported, "task-clock") == [0.73, 0.06]
    assert any("task-clock: 2 counts are missing" in note for note in imported.notes)


def test_perf_stat_with_counts_by_cpu_has_a_row_for_each_cpu() -> None:
    assert values(read("perf-stat-per-cpu.csv"), "context-switches", place="CPU1") == [37.0]
    assert values(read("perf-stat-per-cpu.json"), "context-switches", place="CPU1") == [24.0]
    assert values(read("perf-stat-per-core.tsv"), "context-switches", place="S0-D0-C1") == [26.0, 15.0, 10.0]


def test_repeated_runs_of_perf_stat_are_a_table_with_their_errors() -> None:
    (table,) = read("perf-stat-repeat.csv").tables
    cells = {line.operation: line.cells[0] for line in table.rows}
    assert (cells["task-clock"].value, cells["task-clock"].spread_percent) == (0.75, 1.81)
    assert cells["task-clock"].spread_kind == "standard error"
    # duration_time is the time of perf's clock, in nanoseconds.
    assert cells["elapsed"].value == pytest.approx(0.021274348)
    assert cells["cycles"].value is None
    assert table.columns == ("perf-stat-repeat",)


def test_netperf_distinguishes_its_tests() -> None:
    assert values(read("netperf-tcp-stream.log"), "throughput", "netperf", protocol="tcp", size=1024) == [
        7005.68,
        5646.28,
        6954.74,
    ]
    udp = read("netperf-udp-stream.log")
    assert (values(udp, "sent", size=1024), values(udp, "received")) == ([1738.28], [768.78])
    unix = read("netperf-unix.log")
    assert values(unix, "throughput", "netperf-stream-stream") == [3799.06]
    assert values(unix, "transactions", "netperf-dg-rr", request=1, reply=1) == [17847.00]


def test_netperf_without_headings_is_recognised_by_its_shape() -> None:
    assert values(read("netperf-bare-stream.log"), "throughput", size=16384) == [23181.15, 23480.45]
    assert values(read("netperf-bare-rr.log"), "transactions") == [17217.73, 31741.56]
    udp = read("netperf-bare-udp.log")
    assert (values(udp, "sent"), values(udp, "received")) == ([62462.85], [29358.59])
    assert any("headings with the units are missing" in note for note in udp.notes)


def test_netperf_has_interim_results_cpu_figures_and_a_note_on_missed_confidence() -> None:
    demo = read("netperf-demo.log")
    assert values(demo, "transactions") == [17309.50]
    assert values(demo, "transactions-interim") == [18066.58, 17005.62, 16291.44, 17424.60, 17810.00]
    cpu = read("netperf-cpu.log")
    assert values(cpu, "cpu-remote", "netperf-rr", protocol="tcp") == [42.18]
    assert values(cpu, "demand-local", "netperf", protocol="tcp") == [0.542]
    assert any("did not reach its confidence" in note for note in read("netperf-confidence.log").notes)


def test_omni_output_is_read_in_its_three_forms() -> None:
    assert values(read("netperf-omni.log"), "throughput") == [23759.37]
    keys = read("netperf-omni-keys.log")
    assert (values(keys, "transactions"), values(keys, "latency-p99")) == ([16883.73], [98.0])
    separated = read("netperf-omni.csv")
    assert (values(separated, "transactions"), values(separated, "latency")) == ([16368.37], [61.02])
    # netperf prints -1.00 for a figure without a measurement.
    assert not [series for series in separated.series if series.metric == "cpu-local"]


def test_iperf3_has_both_ends_and_its_intervals() -> None:
    imported = read("iperf3-tcp.json")
    # bits_per_second / 10**6 of end.sum_received and end.sum_sent
    assert values(imported, "received") == pytest.approx([20839.3928005242])
    assert len(values(imported, "rate-interim")) == 3
    udp = read("iperf3-udp.json")
    assert values(udp, "lost", streams=2) == pytest.approx([64.94413044890534])


def test_both_directions_of_iperf3_have_rows_of_their_own() -> None:
    imported = read("iperf3-bidir.json")
    # bits_per_second / 10**6 of end.sum_received and end.sum_received_bidir_reverse
    assert values(imported, "received", bidir="forward") == pytest.approx([11803.80094648904])
    assert values(imported, "received", bidir="reverse") == pytest.approx([4490.773653606597])
    assert values(imported, "sent", bidir="reverse") == pytest.approx([4523.356993469803])
    assert values(imported, "retransmits", bidir="reverse") == [42.0]
    assert len(values(imported, "rate-interim", bidir="reverse")) == 2
    assert values(imported, "cpu-local", bidir="both") == pytest.approx([70.60755090861743])
    assert all("bidir" in series.parameters for series in imported.series)


def test_iperf3_before_3_10_has_the_sent_total_of_udp_alone() -> None:
    imported = read("iperf3-udp-sum-only.json")
    assert (values(imported, "sent", size=1448), values(imported, "jitter"), values(imported, "lost")) == (
        [10.0],
        [0.01],
        [0.06],
    )
    assert "received" not in {series.metric for series in imported.series}


def test_a_limited_rate_of_iperf3_is_a_row_of_its_own() -> None:
    limited = text("iperf3-tcp.json").replace('"target_bitrate":\t0\n', '"target_bitrate":\t10000000\n')
    assert {samples.parameters["bitrate"] for samples in reading("iperf3", limited).samples} == {10_000_000}


@pytest.mark.parametrize("name", ["iperf3-bidir.json", "iperf3-udp-sum-only.json", "iperf3-tcp.json"])
def test_iperf3_without_a_total_is_refused_with_its_name(name: str) -> None:
    lost = "sum_sent_bidir_reverse" if "bidir" in name else "sum" if "only" in name else "sum_received"
    with pytest.raises(ImportProblem, match=f"no {lost} in its end"):
        reading("iperf3", text(name).replace(f'"{lost}":', '"other":'))


def test_hyperfine_alone_has_a_column_for_each_command_and_a_sample_for_each_run() -> None:
    imported = read("hyperfine.json")
    assert imported.columns == ("sleep 0.01", "sleep 0.012")
    assert values(imported, "time", column="sleep 0.01")[0] == 0.011118109000000001
    assert len(values(imported, "time", column="sleep 0.012")) == 6
    assert read("hyperfine-parameters.json").columns == ("ms=10", "ms=11", "ms=12")
    assert any("failed" in note for note in read("hyperfine-one.json").notes)


def test_schbench_has_its_last_report_and_every_interval_of_requests() -> None:
    imported = read("schbench.log")
    assert (values(imported, "wakeup-p99"), values(imported, "request-p99.9"), values(imported, "requests")) == (
        [58.0],
        [9808.0],
        [391.67],
    )
    assert values(imported, "requests-interim") == [377.39, 396.88, 397.92]


def test_cyclictest_combines_its_threads() -> None:
    imported = read("cyclictest.log")
    # (995 × 71 + 667 × 63) / (995 + 667)
    assert values(imported, "latency-mean", threads=2, interval=1000) == pytest.approx([67.78941])
    assert (values(imported, "latency-max"), values(imported, "latency-min")) == ([2228.0], [26.0])
    assert values(read("cyclictest-verbose.log"), "latency")[:4] == [22.0, 74.0, 67.0, 70.0]
    histogram = read("cyclictest-histogram.log")
    assert (values(histogram, "latency-mean"), values(histogram, "latency-max")) == ([66.0], [1739.0])


def test_cyclictest_json_has_the_extremes_of_its_threads() -> None:
    imported = read("cyclictest.json")
    assert values(imported, "latency-min") == [26.0]
    assert values(imported, "latency-max") == [2259.0]


def test_summaries_of_hyperfine_are_a_table_in_seconds() -> None:
    (table,) = read("hyperfine.csv").tables
    assert {line.unit for line in table.rows} == {"s"}
    mean = next(line for line in table.rows if line.operation == "mean")
    assert (mean.parameters, mean.cells[0].value) == ({"benchmark": "sleep 0.01"}, 0.012921453666666666)
    # stddev / mean = 0.001849809735664689 / 0.012921453666666666
    assert mean.cells[0].spread_percent == pytest.approx(14.315802, abs=1e-5)


def test_tests_of_iperf3_appended_to_one_file_are_samples(tmp_path: Path) -> None:
    path = tmp_path / "iperf3.json"
    path.write_text(text("iperf3-tcp.json") + text("iperf3-tcp.json").replace('"retransmits":\t3', '"retransmits":\t5'))
    assert values(detect.read(path), "retransmits") == [3.0, 5.0]


def test_older_versions_of_tools_print_less() -> None:
    old = reading("dbench", "   4     62477   1000.50 MB/sec  execute   1 sec\nThroughput 1002.26 MB/sec 4 procs\n")
    printed = {samples.metric.name: list(samples.values) for samples in old.samples}
    assert printed == {"throughput": [1002.26], "throughput-so-far": [1000.5]}
    assert old.samples[0].parameters == {"clients": 4}
    summary = (
        "transaction type: SELECT only\nscaling factor: 1\nquery mode: simple\nnumber of clients: 4\n"
        "tps = 9000.5 (including connections establishing)\ntps = 9001.5 (excluding connections establishing)\n"
    )
    old = reading("pgbench", summary)
    assert [(samples.metric.name, list(samples.values)) for samples in old.samples] == [("tps", [9001.5])]
    assert old.samples[0].parameters["mode"] == "ro"
    old = reading("schbench", "Latency percentiles (usec)\n\t50.0000th: 9\n\t*99.0000th: 21\n\tmin=0, max=52\n")
    assert {samples.metric.name: list(samples.values) for samples in old.samples} == {
        "wakeup-p50": [9.0],
        "wakeup-p99": [21.0],
        "wakeup-min": [0.0],
        "wakeup-max": [52.0],
    }
    old = reading("hackbench", "Running with 10*40 (== 400) tasks.\nTime: 1.250\n")
    assert old.samples[0].parameters == {"groups": 10, "fds": 20}


def test_perf_stat_with_counts_by_control_group_has_a_row_for_each_group() -> None:
    imported = reading("perf-stat", "5,,context-switches,a,100,100.00,,\n7,,context-switches,b,100,100.00,,\n")
    assert [(dict(samples.parameters), list(samples.values)) for samples in imported.samples] == [
        ({"place": "a"}, [5.0]),
        ({"place": "b"}, [7.0]),
    ]


@pytest.mark.parametrize("between", [",", ";", "\t", "|", ":", "@@", "!"])
def test_any_separator_of_perf_stat_is_found(between: str, tmp_path: Path) -> None:
    path = tmp_path / "perf"
    path.write_text(text("perf-stat.csv").replace(",", between))
    imported = detect.read(path)
    assert (imported.format, values(imported, "task-clock"), values(imported, "page-faults")) == (
        "perf-stat",
        [1.69],
        [140.0],
    )
