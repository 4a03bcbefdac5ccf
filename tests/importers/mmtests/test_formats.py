"""Logs of each benchmark: metrics, units, directions and samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.importers.mmtests import read
from schedlab.results.imported import Import, Series
from tests.importers.mmtests.conftest import Run
from tests.importers.mmtests.trees import perf_messaging, rt_tests


def by_label(imported: Import) -> dict[str, Series]:
    return {series.label: series for series in imported.series}


def values(imported: Import) -> dict[str, list[float]]:
    return {series.label: series.values.tolist() for series in imported.series}


def test_directions_and_units_of_every_benchmark(now: Path) -> None:
    kinds = {(s.workload, s.metric, s.unit, s.direction, s.decimals) for s in read(now).series}
    hackbench = {
        (f"hackbench-{task}-{pipe}", "time", "s", "lower", 4)
        for task in ("process", "thread")
        for pipe in ("pipes", "sockets")
    }
    assert kinds == hackbench | {
        ("perfpipe", "latency", "us/op", "lower", 4),
        ("tbench", "loadfile", "ms", "lower", 4),
        ("tbench", "latency", "ms", "lower", 4),
        ("tbench", "throughput", "MB/s", "higher", 4),
        ("netperf-ipv4-tcp", "throughput", "Mbit/s", "higher", 2),
        ("netperf-ipv4-tcp-rr", "transactions", "transactions/s", "higher", 2),
        ("netperf-ipv4-udp", "sent", "Mbit/s", "higher", 2),
        ("netperf-ipv4-udp", "received", "Mbit/s", "higher", 2),
        ("netperf-unix", "throughput", "Mbit/s", "higher", 2),
        ("pgbench", "tps", "transactions/s", "higher", 2),
        ("pgbench", "elapsed", "s", "lower", 2),
        ("pgbench", "system", "s", "lower", 2),
        ("pgbench", "user", "s", "lower", 2),
        ("kernbench", "elapsed", "s", "lower", 2),
        ("kernbench", "system", "s", "lower", 2),
        ("kernbench", "user", "s", "lower", 2),
        ("schbench", "wakeup", "us", "lower", 2),
        ("schbench", "request", "us", "lower", 2),
        ("schbench", "rps", "requests/s", "higher", 2),
        ("wis-sched", "operations", "ops/s", "higher", 2),
        ("stressng", "bogo-ops", "bogo-ops/s", "higher", 2),
    }


def test_every_series_names_its_file(now: Path) -> None:
    for series in read(now).series:
        assert Path(series.source).is_file()
        assert f"/iter-{series.block - 1}/{series.workload}/logs/" in series.source


def test_hackbench_of_perf_keeps_all_repetitions_in_one_file(run: Run) -> None:
    # MMTests repeats a measurement that exceeds the time limit.
    failed = perf_messaging(4, 0.1).partition("\n\n")[0] + "\n"
    log = perf_messaging(4, 0.401) + failed + perf_messaging(4, 0.402)
    imported = read(run("hackbench-thread-sockets", {"hackbench-4": log, "hackbench-16": perf_messaging(16, 1.5)}))
    assert values(imported) == {"time-4": [0.401, 0.402], "time-16": [1.5]}
    assert by_label(imported)["time-16"].parameters == {"groups": 16}


def test_hackbench_of_rt_tests_has_a_file_for_each_repetition_in_their_order(run: Run) -> None:
    logs = {f"hackbench-2-{number}": rt_tests(2, number / 10) for number in (1, 2, 10)}
    assert values(read(run("hackbench-pipes", logs))) == {"time-2": [0.1, 0.2, 1.0]}


def test_perf_pipe_takes_microseconds_an_operation(run: Run) -> None:
    log = "# Executed 100 pipe operations\n\n Total time: 0.515 [sec]\n\n       5.154 usecs/op\n      194035 ops/sec\n"
    logs = {f"benchlog-_-_-{number}": log for number in range(3)}
    assert values(read(run("perfpipe", logs))) == {"usecs-op": [5.154] * 3}


def test_pipetest_keeps_times_as_measured(run: Run) -> None:
    # MMTests rounded to half microseconds for some years.
    imported = read(run("pipetest", {"pipetest.log": "4.13 usecs/loop.\r\n4.38 usecs/loop.\r\n"}))
    assert values(imported) == {"Time": [4.13, 4.38]}


TBENCH = """\
dbench version 4.00 - Copyright Andrew Tridgell 1999-2004

releasing clients
   2    147980   669.49 MB/sec  execute   1 sec  latency 5.348 ms
   0 completed in 12 ms at time 1010 ms
   2    236160   809.07 MB/sec  execute   2 sec  latency 4.034 ms
   2  cleanup   5 sec

 Operation      Count    AvgLat    MaxLat
 ----------------------------------------
 NTCreateX     143560     0.010     4.863
 Flush              4     0.000     0.000

Throughput 880.749 MB/sec  2 clients  2 procs  max_latency=5.348 ms
"""


@pytest.mark.parametrize("name", ["tbench-2.log", "tbench-2.log.gz", "dbench-2.log.xz"])
def test_an_unsplit_tbench_log_contains_throughput_loads_and_operations(run: Run, name: str) -> None:
    imported = read(run("tbench4", {name: TBENCH}))
    assert values(imported) == {
        "loadfile-2": [12],
        "op-Flush-2": [0],
        "op-NTCreateX-2": [0.010],
        "tput-2": [669.49, 809.07],
    }
    assert by_label(imported)["op-Flush-2"].parameters == {"operation": "Flush", "clients": 2}


def test_split_tbench_logs_are_read_and_the_unsplit_log_beside_them_is_not(run: Run) -> None:
    lines = TBENCH.splitlines(keepends=True)
    logs = {
        "benchlog-tput-2.xz": "".join(line for line in lines if "execute" in line),
        "benchlog-loadfile-2.xz": "".join(line for line in lines if "completed" in line),
        "benchlog-op-2.xz": "".join(lines[10:12]),
        "dbench-2.log.xz": TBENCH,
    }
    assert [len(series.values) for series in read(run("tbench", logs)).series] == [1, 1, 1, 2]


UDP = """\
MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0 AF_INET : demo
Interim result: 4980.78 10^6bits/s over 1.000 seconds ending at 1700000000.000
Socket  Message  Elapsed      Messages
Size    Size     Time         Okay Errors   Throughput
bytes   bytes    secs            #      #   10^6bits/sec

212992    1024   10.00      123456      0    4980.78
212992           10.00      123000           4881.16

"""


def test_netperf_distinguishes_sent_from_received(run: Run) -> None:
    imported = read(run("netperf-ipv4-udp", {"protocols": "UDP_STREAM\n", "UDP_STREAM-1024.1": UDP}))
    assert values(imported) == {"udpstream-send-1024": [4980.78], "udpstream-recv-1024": [4881.16]}


def test_netperf_takes_its_test_from_file_names_too(run: Run) -> None:
    log = "bytes  bytes   bytes    secs.    10^6bits/sec\n\n 87380  16384    64    10.00    650.66   \n"
    imported = read(run("netperf-unix", {"STREAM_STREAM-64.1": log, "procnetdev-STREAM_STREAM-64-1.log": "?"}))
    assert values(imported) == {"streamstream-send-64": [650.66]}


def test_pgbench_averages_four_seconds_after_its_warm_up(run: Run) -> None:
    # MMTests skips 7 lines, uses 4 only as the start of the first sample, and needs 4 for a sample, not the last 3.
    counts = [10**6] * 11 + [100, 200, 300, 400] + [8, 8, 8, 8] + [10**6] * 3
    log = "".join(f"{1717200000 + second} {count} 1 2 3 4\n" for second, count in enumerate(counts))
    imported = read(run("pgbench", {"pgbench-transactions-8.log.gz": log}))
    assert values(imported) == {"txn-8": [250.0, 8.0]}


def test_a_pgbench_run_too_short_for_samples_has_its_summary(run: Run) -> None:
    summary = "number of clients: 8\ntps = 34447.847554 (without initial connection time)\n"
    logs = {"pgbench-transactions-8.log": "1717200000 10 1 2 3 4\n" * 12, "pgbench-8.log": summary}
    assert values(read(run("pgbench", logs))) == {"txn-8": [34447.847554]}


def test_times_of_builds_may_have_hours(run: Run) -> None:
    log = "911.30user 88.83system {}elapsed 399%CPU (0avgtext+0avgdata 1maxresident)k\n0inputs+0outputs 0swaps\n"
    imported = read(run("kernbench", {"time-4-1": log.format("4:10.64"), "time-4-2": log.format("1:02:03")}))
    assert values(imported) == {"Elapsed-4": [250.64, 3723], "System-4": [88.83] * 2, "User-4": [911.30] * 2}


SCHBENCH = """\
Wakeup Latencies percentiles (usec) runtime {0} (s) (976 total samples)
\t  50.0th: {1}          (111 samples)
\t* 99.0th: 7          (60 samples)
\t  min=1, max=93
RPS percentiles (requests) runtime {0} (s) (3 total samples)
\t* 50.0th: 485        (1 samples)
\t  min=485, max=487
"""


def test_schbench_takes_the_reports_of_intervals_and_not_the_summary(run: Run) -> None:
    log = "".join(f"{SCHBENCH.format(second, second)}current rps: 201.00\n" for second in (10, 20))
    log += f"{SCHBENCH.format(30, 99)}average rps: 488.00\nsched delay: message 0 (usec) worker 0 (usec)\n"
    imported = read(run("schbench", {"schbench-8.log": log}))
    assert values(imported) == {
        "Wakeup-50.0th-8": [10, 20],
        "Wakeup-99.0th-8": [7, 7],
        "RPS-50.0th-8": [485, 485],
    }
    assert by_label(imported)["Wakeup-99.0th-8"].parameters == {"percentile": 99.0, "workers": 8}


def test_schbench_without_intervals_has_its_summary(run: Run) -> None:
    imported = read(run("schbench", {"schbench-8.log": f"{SCHBENCH.format(30, 4)}average rps: 488.00\n"}))
    assert values(imported)["Wakeup-50.0th-8"] == [4]


def test_the_last_cumulative_latencies_of_old_schbench_count(run: Run) -> None:
    block = "Latency percentiles (usec) runtime {} (s)\n\t50.0000th: {}\n\t*99.0000th: 190\n\tmin=0, max=2345\n"
    imported = read(run("schbench", {"schbench-2.log": block.format(10, 9) + block.format(20, 8)}))
    assert values(imported) == {"50.00th-qrtle-2": [8], "99.00th-qrtle-2": [190]}


@pytest.mark.parametrize("name", ["benchlog-sched_yield_threads-4", "wis-sched_yield-threads-4.log"])
def test_will_it_scale_takes_the_total_of_each_second(run: Run, name: str) -> None:
    log = "measurement\nmin:1 max:9 total:30\nmin:2 max:9 total:31\naverage:30\n"
    imported = read(run("wis-sched", {name: log}))
    assert values(imported) == {"ops-sched_yield_threads-4": [30, 31]}
    assert imported.series[0].parameters == {"case": "sched_yield", "model": "threads", "tasks": 4}


STRESS = """\
stress-ng: info:  [11709] dispatching hogs: 1 context
stress-ng: metrc: [11709] stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s
stress-ng: metrc: [11709]                           (secs)    (secs)    (secs)   (real time) (usr+sys time)
stress-ng: metrc: [11709] context            2173      1.00      0.31      0.31      2167.36        3483.75
stress-ng: metrc: [11709] sock-many           173      1.00      0.31      0.31       167.36         483.75
stress-ng: metrc: [11709] miscellaneous metrics:
stress-ng: metrc: [11709] context          2422037.24 swapcontext calls per sec (geometic mean of 1 instances)
stress-ng: info:  [11709] successful run completed in 1.00s
"""


def test_stress_ng_takes_the_rate_of_real_time_and_ignores_lines_below_its_table(run: Run) -> None:
    imported = read(run("stressng", {"stressng-1-1.log": STRESS, "stressng-1-2.log": STRESS}))
    assert values(imported) == {"bops-context-1": [2167.36] * 2, "bops-sock-many-1": [167.36] * 2}
