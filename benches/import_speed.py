"""Measure the CPU time of ``schedlab import`` on a folder of many small logs, in complete processes.

    .venv/bin/python benches/import_speed.py [--logs 10000]

Two layouts of the same logs of hackbench, pgbench and schbench: all logs in one folder, where each log is a column, and
``KERNEL/ITERATION/BENCHMARK.log``, where a kernel is a column and an iteration a block. Each is read without a store
(``--dry-run``) and recorded in a new store.

Exit status: 0 if each command is within its limit for 10,000 logs, 1 if not.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT = 20.0
"""CPU seconds, user and system, of an import of 10,000 logs."""

KERNELS = ("6.12", "6.18")

HACKBENCH = """\
Running in process mode with 2 groups using 40 file descriptors each (== 80 tasks)
Each sender will pass 200 messages of 100 bytes
Time: {time:.3f}
"""
PGBENCH = """\
pgbench (15.18 (Debian 15.18-0+deb12u1))
transaction type: <builtin: select only>
scaling factor: 1
query mode: simple
number of clients: 2
number of threads: 1
maximum number of tries: 1
duration: 3 s
number of transactions actually processed: {transactions}
number of failed transactions: 0 (0.000%)
latency average = {time:.3f} ms
initial connection time = 5.800 ms
tps = {rate:.6f} (without initial connection time)
"""
SCHBENCH = """\
Wakeup Latencies percentiles (usec) runtime 3 (s) (1175 total samples)
\t  50.0th: {p50:<10} (341 samples)
\t  90.0th: {p90:<10} (484 samples)
\t* 99.0th: {p99:<10} (89 samples)
\t  99.9th: {p999:<10} (10 samples)
\t  min=2, max={p999}
Request Latencies percentiles (usec) runtime 3 (s) (1173 total samples)
\t  50.0th: 4968       (359 samples)
\t  90.0th: 5128       (404 samples)
\t* 99.0th: 6664       (106 samples)
\t  99.9th: 9808       (10 samples)
\t  min=4797, max=16232
RPS percentiles (requests) runtime 3 (s) (4 total samples)
\t  20.0th: 0          (1 samples)
\t* 50.0th: 377        (1 samples)
\t  90.0th: 397        (2 samples)
\t  min=377, max=397
sched delay: message 21 (usec) worker 20 (usec)
current rps: 397.92
"""
BENCHMARKS = {"hackbench": HACKBENCH, "pgbench": PGBENCH, "schbench": SCHBENCH}


def write_logs(folder: Path, logs: int, *, nested: bool) -> None:
    """Write logs of the benchmarks in turn into a folder."""
    rng = random.Random(1)
    names = [
        (kernel, f"iter-{iteration}", benchmark)
        for iteration in range(logs // (len(KERNELS) * len(BENCHMARKS)) + 1)
        for kernel in KERNELS
        for benchmark in BENCHMARKS
    ]
    for kernel, iteration, benchmark in names[:logs]:
        seconds, p50 = rng.uniform(0.2, 0.3), rng.randint(5, 9)
        text = BENCHMARKS[benchmark].format(
            time=seconds, transactions=int(3e5 * seconds), rate=1e5 * seconds,
            p50=p50, p90=4 * p50, p99=9 * p50, p999=90 * p50,
        )  # fmt: skip
        place = folder / kernel / iteration if nested else folder
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{benchmark if nested else f'{benchmark}-{kernel}-{iteration}'}.log").write_text(text)


def seconds_of(*words: str) -> float:
    """Run a command of schedlab; return its CPU seconds, user and system."""
    process = subprocess.Popen([sys.executable, "-m", "schedlab", *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"schedlab {' '.join(words)}: exit code {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    """Print a line for each layout and command; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=10_000)
    logs = parser.parse_args().logs
    is_within = True
    with tempfile.TemporaryDirectory() as folder:
        for layout in ("flat", "nested"):
            write_logs(Path(folder) / layout, logs, nested=layout == "nested")
            for name, *words in (("dry run", "--dry-run"), ("import", "--to", f"{folder}/{layout}.db")):
                seconds = seconds_of("import", f"{folder}/{layout}", *words)
                is_within &= seconds <= LIMIT * max(1, logs / 10_000)
                print(f"{layout:>6} {name:<8} {logs:,} logs: {seconds:.1f} s of CPU time", flush=True)
    return 0 if is_within else 1


if __name__ == "__main__":
    sys.exit(main())
