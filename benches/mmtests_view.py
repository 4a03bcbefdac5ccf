"""Time the comparison of the runs in an MMTests tree, by schedlab and by MMTests' script, in complete processes.

    .venv/bin/python benches/mmtests_view.py [--runs 7] [--samples 240 24000] [--mmtests PATH/bin/compare-mmtests.pl]

The tree has two runs, each of SAMPLES samples. A quarter of the samples belongs to each of hackbench, will-it-scale and
tbench, whose logs contain many samples, and to netperf, whose logs contain one sample. MMTests' script is started once
for each benchmark, as compare-kernels.sh does. The two programs are run alternately.
"""

from __future__ import annotations

import argparse
import lzma
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

COUNTS = (1, 2, 4, 8, 16, 32)
"""Groups, tasks, clients or sizes of each benchmark."""


def hackbench(logs: Path, noise: Callable[[float], float], repeats: int) -> None:
    for groups in COUNTS:
        times = "".join(f"     Total time: {noise(0.2 * groups):.3f} [sec]\n" for _ in range(repeats))
        (logs / f"hackbench-{groups}").write_text(times)


def will_it_scale(logs: Path, noise: Callable[[float], float], repeats: int) -> None:
    for tasks in COUNTS:
        lines = (f"min:1 max:2 total:{noise(1e7 * tasks):.0f}\n" for _ in range(repeats))
        (logs / f"benchlog-sched_yield_threads-{tasks}").write_text("".join(lines))


def tbench(logs: Path, noise: Callable[[float], float], repeats: int) -> None:
    for clients in COUNTS:
        lines = (
            f"{clients:4d} {number:9d} {noise(500 * clients):8.2f} MB/sec  execute {number:3d} sec  latency 1.5 ms\n"
            for number in range(1, repeats + 1)
        )
        (logs / f"benchlog-tput-{clients}.xz").write_bytes(lzma.compress("".join(lines).encode()))


def netperf(logs: Path, noise: Callable[[float], float], repeats: int) -> None:
    (logs / "protocols").write_text("TCP_STREAM\n")
    for size in COUNTS:
        for number in range(1, repeats + 1):
            log = (
                f"bytes  bytes   bytes    secs.    10^6bits/sec\n\n 87380  16384 {size}    10.00    {noise(size):.2f}\n"
            )
            (logs / f"TCP_STREAM-{size}.{number}").write_text(log)


BENCHMARKS = {
    "hackbench-process-pipes": (hackbench,),
    "wis-sched": (will_it_scale,),
    "tbench": (tbench, "--sub-heading", "tput"),
    "netperf-ipv4-tcp": (netperf,),
}


def make_tree(folder: Path, samples: int) -> Path:
    """Write an MMTests tree with the runs ``base`` and ``new``, each of ``samples`` samples. Return the tree's
    folder."""
    rng = random.Random(samples)
    for run in ("base", "new"):
        for benchmark, (fill, *_) in BENCHMARKS.items():
            logs = folder / run / "iter-0" / benchmark / "logs"
            logs.mkdir(parents=True)
            fill(logs, lambda level: level * (1 + 0.1 * rng.random()), samples // len(BENCHMARKS) // len(COUNTS))
    return folder


def seconds(commands: Sequence[Sequence[str | Path]]) -> tuple[float, float]:
    """Run the commands one after the other; return their wall time and CPU time in seconds."""
    started, before = time.perf_counter(), os.times()
    for command in commands:
        done = subprocess.run(command, capture_output=True, check=True)
        if done.stdout.count(b"%)") < 10:
            raise SystemExit(f"{command[0]} printed no comparison:\n{done.stderr.decode()[-500:]}")
    after = os.times()
    cpu = after.children_user - before.children_user + after.children_system - before.children_system
    return time.perf_counter() - started, cpu


def main() -> None:
    """Print a line for each number of samples and each program."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=7, help="runs of each program (default 7)")
    options.add_argument("--samples", type=int, nargs="+", default=[240, 24_000], help="samples of each run")
    options.add_argument("--mmtests", type=Path, help="MMTests' compare-mmtests.pl; without it only schedlab is timed")
    chosen = options.parse_args()
    schedlab = Path(sys.executable).with_name("schedlab")
    print(f"{'samples / run':>13}  {'':<8} {'wall s: median (range)':>24} {'CPU s: median':>14}")
    for samples in chosen.samples:
        with tempfile.TemporaryDirectory() as folder:
            tree = make_tree(Path(folder), samples)
            programs = {"schedlab": [[schedlab, "compare", tree / "base", tree / "new", "--format", "mmtests"]]}
            if chosen.mmtests:
                script = ["perl", chosen.mmtests, "-d", tree, "-n", "base,new", "-b"]
                programs["MMTests"] = [[*script, name, *part] for name, (_, *part) in BENCHMARKS.items()]
            times: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
            for _ in range(chosen.runs):
                for name, commands in programs.items():
                    times[name].append(seconds(commands))
        for name, figures in times.items():
            walls, cpus = zip(*figures, strict=True)
            spread = f"{statistics.median(walls):.2f} ({min(walls):.2f} … {max(walls):.2f})"
            print(f"{samples:>13}  {name:<8} {spread:>24} {statistics.median(cpus):>14.2f}")


if __name__ == "__main__":
    main()
