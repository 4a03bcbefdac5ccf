"""Small result trees in the formats of MMTests' logs, generated from random seeds and equal on every machine.

``python -m tests.importers.mmtests.trees FOLDER`` writes ``FOLDER/now``, ``FOLDER/2019`` and ``FOLDER/2016``, so that
MMTests of those years can run on the trees. The output of MMTests is in ``tests/analysis/mmtests_printed``.
"""

from __future__ import annotations

import gzip
import lzma
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

RUNS = ("6.1-rc3-vanilla", "6.1-rc3-patched", "6.2-next")
"""Names of runs. The third run measures fewer groups or clients than the other runs."""

_SPEED = {RUNS[0]: 1.0, RUNS[1]: 0.93, RUNS[2]: 1.04}


class Noise:
    """Samples around a level. The speed of a run shortens times and raises throughputs."""

    def __init__(self, run: str, key: str) -> None:
        self.random = Random(f"{run}/{key}")
        self.speed = _SPEED[run]

    def time(self, level: float) -> float:
        return level * self.speed * (1 + 0.05 * self.random.random())

    def rate(self, level: float) -> float:
        return level / self.speed * (1 + 0.05 * self.random.random())


def _counts(run: str) -> tuple[int, ...]:
    return (1, 4) if run == RUNS[2] else (1, 4, 12)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    path.write_bytes({".gz": _gzip, ".xz": lzma.compress}.get(path.suffix, bytes)(data))


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def perf_messaging(groups: int, seconds: float) -> str:
    return (
        "# Running 'sched/messaging' benchmark:\n# 20 sender and receiver processes per group\n"
        f"# {groups} groups == {40 * groups} processes run\n\n     Total time: {seconds:.3f} [sec]\n"
    )


def rt_tests(groups: int, seconds: float) -> str:
    return (
        f"Running in process mode with {groups} groups using 40 file descriptors each (== {40 * groups} tasks)\n"
        f"Each sender will pass 1000 messages of 100 bytes\nTime: {seconds:.3f}\n"
    )


def hackbench(logs: Path, run: str, noise: Noise) -> None:
    for groups in _counts(run):
        write(
            logs / f"hackbench-{groups}", "".join(perf_messaging(groups, noise.time(0.3 * groups)) for _ in range(10))
        )


def perf_pipe(noise: Noise) -> str:
    usecs = noise.time(4.2)
    return (
        "# Running 'sched/pipe' benchmark:\n# Executed 500000 pipe operations between two processes\n\n"
        f"     Total time: {usecs / 2:.3f} [sec]\n\n{usecs:14.6f} usecs/op\n{1e6 / usecs:14.0f} ops/sec\n"
    )


def perfpipe(logs: Path, run: str, noise: Noise) -> None:
    for number in range(1, 13):
        write(logs / f"benchlog-_-_-{number}", perf_pipe(noise))


def _completed(clients: int, noise: Noise) -> str:
    return "".join(
        f"{second % clients:4d} completed in {noise.time(40):.0f} ms at time {1000 + 10 * second} ms\n"
        for second in range(40)
    )


def _executing(clients: int, noise: Noise) -> str:
    return "".join(
        f"{clients:4d} {1000 * second:9d} {noise.rate(500 * clients):8.2f} MB/sec  execute {second:3d} sec"
        f"  latency {noise.time(1.5):.3f} ms\n"
        for second in range(1, 16)
    )


def _operations(noise: Noise) -> str:
    return "".join(
        f" {name:<12} {123456:10d} {noise.time(0.2):9.3f} {noise.time(1.4):9.3f}\n"
        for name in ("NTCreateX", "Close", "ReadX")
    )


def tbench(logs: Path, run: str, noise: Noise) -> None:
    for clients in _counts(run):
        write(logs / f"benchlog-loadfile-{clients}.xz", _completed(clients, noise))
        write(logs / f"benchlog-tput-{clients}.xz", _executing(clients, noise))
        write(logs / f"benchlog-op-{clients}.xz", _operations(noise))


def tbench_unsplit(clients: int, noise: Noise) -> str:
    return (
        "dbench version 4.00 - Copyright Andrew Tridgell 1999-2004\n\n"
        "Running for 15 seconds with load 'client-tiny.txt' and minimum warmup 3 secs\n"
        f"{clients} of {clients} processes prepared for launch   0 sec\nreleasing clients\n"
        f"{_executing(clients, noise)}{clients:4d}  cleanup  16 sec\n   0  cleanup  16 sec\n\n"
        f" Operation      Count    AvgLat    MaxLat\n {'-' * 40}\n{_operations(noise)}\n"
        f"Throughput {noise.rate(500 * clients):.3f} MB/sec  {clients} clients  {clients} procs  max_latency=5.3 ms\n"
    )


def netperf(protocol: str, sizes: tuple[int, ...]) -> Callable[[Path, str, Noise], None]:
    def fill(logs: Path, run: str, noise: Noise) -> None:
        write(logs / "protocols", f"{protocol}\n")
        for size in sizes[: len(_counts(run))]:
            for number in range(1, 6):
                write(logs / f"{protocol}-{size}.{number}", _netperf(protocol, size, noise))

    return fill


def _netperf(protocol: str, size: int, noise: Noise) -> str:
    head = f"MIGRATED {protocol.replace('_', ' ')} TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () : demo\n"
    rate = noise.rate(200 * size**0.5)
    if protocol == "UDP_STREAM":
        return (
            f"{head}Socket  Message  Elapsed      Messages                \n"
            "Size    Size     Time         Okay Errors   Throughput\n"
            "bytes   bytes    secs            #      #   10^6bits/sec\n\n"
            f"212992 {size:7d}   10.00      123456      0 {rate:10.2f}\n"
            f"212992           10.00      123000      {0.97 * rate:10.2f}\n\n"
        )
    if protocol.endswith("_RR"):
        return (
            f"{head}Local /Remote\nSocket Size   Request  Resp.   Elapsed  Trans.\n"
            "Send   Recv   Size     Size    Time     Rate         \n"
            "bytes  Bytes  bytes    bytes   secs.    per sec   \n\n"
            f"16384  131072 {size}        {size}       10.00    {200 * rate:.2f}   \n16384  131072\n"
        )
    return (
        f"{head}!!! WARNING\n!!! Desired confidence was not achieved within the specified iterations.\n"
        "!!! Confidence intervals: Throughput      : 5.211%\n"
        "Recv   Send    Send                          \nSocket Socket  Message  Elapsed              \n"
        "Size   Size    Size     Time     Throughput  \nbytes  bytes   bytes    secs.    10^6bits/sec  \n\n"
        f" 87380  16384 {size:6d}    10.00    {rate:.2f}   \n"
    )


def gnu_time(noise: Noise, elapsed: float) -> str:
    minutes, seconds = divmod(noise.time(elapsed), 60)
    clock = f"{minutes:.0f}:{seconds:05.2f}" if minutes < 60 else f"{minutes // 60:.0f}:{minutes % 60:02.0f}:00"
    return (
        f"{noise.time(900):.2f}user {noise.time(88):.2f}system {clock}elapsed 399%CPU "
        "(0avgtext+0avgdata 253000maxresident)k\n0inputs+0outputs (0major+9000minor)pagefaults 0swaps\n"
    )


def by_second(clients: int, noise: Noise) -> str:
    return "".join(
        f"{1717200000 + second} {noise.rate(5000 * clients):.0f} 1000000 60000000 30 900\n" for second in range(50)
    )


def pgbench(logs: Path, run: str, noise: Noise) -> None:
    for clients in _counts(run):
        write(logs / f"pgbench-{clients}.log", "transaction type: <builtin: select only>\ntps = 20000.0 (without)\n")
        write(logs / f"pgbench-transactions-{clients}.log.gz", by_second(clients, noise))
        write(logs / f"time-{clients}-1", gnu_time(noise, 180))


def kernbench(logs: Path, run: str, noise: Noise) -> None:
    for jobs in _counts(run):
        for number in range(1, 4):
            write(logs / f"time-{jobs}-{number}", gnu_time(noise, 4000 / jobs))


def schbench(logs: Path, run: str, noise: Noise) -> None:
    def percentiles(head: str, level: float) -> str:
        shares = ((" ", "20.0", 0.5), (" ", "50.0", 1), (" ", "90.0", 1.6), ("*", "99.0", 2.2), (" ", "99.9", 4))
        return f"{head} (1000 total samples)\n" + "".join(
            f"\t{mark} {share}th: {noise.time(level * factor):<10.0f} (10 samples)\n" for mark, share, factor in shares
        )

    def report(seconds: int) -> str:
        return (
            percentiles(f"Wakeup Latencies percentiles (usec) runtime {seconds} (s)", 80)
            + "\t  min=1, max=72\n"
            + percentiles(f"Request Latencies percentiles (usec) runtime {seconds} (s)", 5000)
            + "\t  min=1, max=45000\n"
            + percentiles(f"RPS percentiles (requests) runtime {seconds} (s)", 2000)
            + "\t  min=1, max=1800\n"
        )

    for workers in _counts(run):
        reports = "".join(f"{report(10 * number)}current rps: 201.00\n" for number in range(1, 7))
        write(logs / f"schbench-{workers}.log", f"{reports}{report(60)}average rps: 202.10\n")


def will_it_scale(logs: Path, run: str, noise: Noise) -> None:
    for model in ("processes", "threads"):
        for tasks in _counts(run):
            lines = (f"min:9002863 max:9864824 total:{noise.rate(1e7 * tasks):.0f}\n" for _ in range(10))
            write(logs / f"benchlog-sched_yield_{model}-{tasks}", "".join(lines))


def stressng(logs: Path, run: str, noise: Noise) -> None:
    mark = "stress-ng: info:  [1]"
    for instances in _counts(run):
        for number in range(1, 4):
            rate = noise.rate(10000 * instances)
            write(
                logs / f"stressng-{instances}-{number}.log",
                f"stress-ng: info:  [1] dispatching hogs: {instances} context\n"
                f"{mark} stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s\n"
                f"{mark}                           (secs)    (secs)    (secs)   (real time) (usr+sys time)\n"
                f"{mark} context       {30 * rate:10.0f}     30.00     20.00     10.00 {rate:13.2f}"
                f" {rate * 0.98:14.2f}\n",
            )


NOW: dict[str, Callable[[Path, str, Noise], None]] = {
    **{f"hackbench-{task}-{pipe}": hackbench for task in ("process", "thread") for pipe in ("pipes", "sockets")},
    "perfpipe": perfpipe,
    "tbench": tbench,
    "netperf-ipv4-tcp": netperf("TCP_STREAM", (64, 1024, 16384)),
    "netperf-ipv4-tcp-rr": netperf("TCP_RR", (1,)),
    "netperf-ipv4-udp": netperf("UDP_STREAM", (64, 1024, 16384)),
    "netperf-unix": netperf("STREAM_STREAM", (64, 1024, 16384)),
    "pgbench": pgbench,
    "kernbench": kernbench,
    "schbench": schbench,
    "wis-sched": will_it_scale,
    "stressng": stressng,
}


def old_hackbench(logs: Path, run: str, noise: Noise) -> None:
    for groups in _counts(run):
        for number in range(1, 11):
            write(logs / f"hackbench-{groups}-{number}", perf_messaging(groups, noise.time(0.3 * groups)))


def older_hackbench(logs: Path, run: str, noise: Noise) -> None:
    for groups in _counts(run):
        for number in range(1, 11):
            write(logs / f"hackbench-{groups}-{number}", rt_tests(groups, noise.time(0.3 * groups)))


def old_perfpipe(logs: Path, run: str, noise: Noise) -> None:
    for number in range(1, 31):
        write(logs / f"pipe-{number}.log", perf_pipe(noise))


def old_tbench(suffix: str) -> Callable[[Path, str, Noise], None]:
    def fill(logs: Path, run: str, noise: Noise) -> None:
        for clients in _counts(run):
            write(logs / f"tbench-{clients}.log{suffix}", tbench_unsplit(clients, noise))

    return fill


def pipetest(logs: Path, run: str, noise: Noise) -> None:
    write(logs / "pipetest.log", "".join(f"{noise.time(4.2):4.2f} usecs/loop.\n" for _ in range(45)))


def old_kernbench(logs: Path, run: str, noise: Noise) -> None:
    for jobs in _counts(run):
        for number in range(1, 4):
            write(logs / f"kernbench-{jobs}-{number}.time", gnu_time(noise, 900 / jobs))


def old_will_it_scale(logs: Path, run: str, noise: Noise) -> None:
    write(logs / "workloads", "sched_yield\n")
    write(logs / "models", "processes,threads\n")
    for model in ("processes", "threads"):
        for tasks in _counts(run):
            lines = (f"min:9002863 max:9864824 total:{noise.rate(1e7 * tasks):.0f}\n" for _ in range(10))
            write(logs / f"wis-sched_yield-{model}-{tasks}.log", "".join(lines))


def old_schbench(logs: Path, run: str, noise: Noise) -> None:
    for workers in _counts(run):
        lines = "".join(
            f"\t{mark}{share}00th: {noise.time(level):.0f}\n"
            for mark, share, level in (("", "50.00", 80), ("", "75.00", 95), ("*", "99.00", 180), ("", "99.90", 310))
        )
        write(logs / f"schbench-{workers}.log", f"Latency percentiles (usec)\n{lines}\tmin=0, max=2345\n")


OLD: dict[str, Callable[[Path, str, Noise], None]] = {
    "hackbench-process-pipes": old_hackbench,
    "perfpipe": old_perfpipe,
    "pipetest": pipetest,
    "tbench4": old_tbench(".gz"),
    "netperf-tcp": netperf("TCP_STREAM", (64, 1024, 16384)),
    "netperf-udp": netperf("UDP_STREAM", (64, 1024, 16384)),
    "kernbench": old_kernbench,
    "schbench": old_schbench,
    "wis-sched": old_will_it_scale,
    "stressng": stressng,
}

OLDER: dict[str, Callable[[Path, str, Noise], None]] = {
    "hackbench-pipes": older_hackbench,
    "pipetest": pipetest,
    "tbench4": old_tbench(""),
    "netperf-tcp": netperf("TCP_STREAM", (64, 1024, 16384)),
    "kernbench": old_kernbench,
    "wis-sched": old_will_it_scale,
}


def write_now(log: Path) -> Path:
    """Write trees in the layout of 2026, with two iterations of the first two runs."""
    for start, run in enumerate(RUNS):
        for iteration in range(1 if run == RUNS[2] else 2):
            folder = log / run / f"iter-{iteration}"
            write(folder / "tests-timestamp", f"start :: {1_700_000_000 + 86_400 * start + 3600 * iteration}\n")
            _fill(NOW, lambda benchmark, folder=folder: folder / benchmark / "logs", run, str(iteration))
    return log


def write_old(log: Path) -> Path:
    """Write trees in the layout of 2019, with one iteration and without time stamps."""
    for run in RUNS:
        _fill(OLD, lambda benchmark, run=run: log / run / "iter-0" / benchmark / "logs", run, "old")
    return log


def write_older(log: Path) -> Path:
    """Write trees in the layout of 2016: one folder for benchmark and run.

    MMTests of that time matched rows by number, so every run has all rows.
    """
    for start, run in enumerate(RUNS[:2]):
        write(log / f"tests-timestamp-{run}", f"start :: {1_450_000_000 + start}\narch :: x86_64\n")
        _fill(OLDER, lambda benchmark, run=run: log / f"{benchmark}-{run}" / "noprofile", run, "older")
    return log


def _fill(
    benchmarks: dict[str, Callable[[Path, str, Noise], None]], place: Callable[[str], Path], run: str, key: str
) -> None:
    for benchmark, fill in benchmarks.items():
        fill(place(benchmark), run, Noise(run, f"{benchmark}/{key}"))


def _main() -> Iterator[Path]:
    folder = Path(sys.argv[1])
    yield write_now(folder / "now")
    yield write_old(folder / "2019")
    yield write_older(folder / "2016")


if __name__ == "__main__":
    for tree in _main():
        print(tree)
