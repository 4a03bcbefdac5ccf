"""From an MMTests tree to its comparison: seconds of whole processes, ours and, in turn, MMTests' own script.

    .venv/bin/python benches/mmtests_view.py [--runs 7] [--samples 240 24000] [--mmtests PATH/bin/compare-mmtests.pl]

Two runs of SAMPLES each: a quarter hackbench, will-it-scale and tbench (many samples a log), a quarter netperf (a log
a sample). MMTests' script is asked once for each of the four benchmarks, as its compare-kernels.sh does.
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

OURS = """
import sys
from pathlib import Path
from schedlab.analysis.mmtests import view
from schedlab.importers.columns import to_columns
from schedlab.importers.mmtests import read
from schedlab.report.mmtests import view_text
sys.stdout.write(view_text(view(to_columns([read(Path(sys.argv[1]))]))))
"""
COUNTS = (1, 2, 4, 8, 16, 32)


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
    """Write the runs ``base`` and ``new`` with this many samples each."""
    chance = random.Random(samples)
    for run in ("base", "new"):
        for benchmark, (fill, *_) in BENCHMARKS.items():
            logs = folder / run / "iter-0" / benchmark / "logs"
            logs.mkdir(parents=True)
            fill(logs, lambda level: level * (1 + 0.1 * chance.random()), samples // len(BENCHMARKS) // len(COUNTS))
    return folder


def seconds(commands: Sequence[Sequence[str | Path]]) -> tuple[float, float]:
    """Wall and CPU time of the commands, one after the other."""
    started, before = time.perf_counter(), os.times()
    for command in commands:
        done = subprocess.run(command, capture_output=True, check=True)
        if done.stdout.count(b"%)") < 10:
            raise SystemExit(f"{command[0]} printed no comparison: {done.stderr.decode()[-500:]}")
    after = os.times()
    cpu = after.children_user - before.children_user + after.children_system - before.children_system
    return time.perf_counter() - started, cpu


def main() -> None:
    """Print a line for each size and script."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=7)
    options.add_argument("--samples", type=int, nargs="+", default=[240, 24_000])
    options.add_argument("--mmtests", type=Path, help="compare-mmtests.pl to compare with")
    chosen = options.parse_args()
    print(f"{'samples a run':>13}  {'':<8} {'wall s: median (range)':>24} {'CPU s: median':>14}")
    for samples in chosen.samples:
        with tempfile.TemporaryDirectory() as folder:
            tree = make_tree(Path(folder), samples)
            scripts = {"schedlab": [[sys.executable, "-c", OURS, tree]]}
            if chosen.mmtests:
                theirs = ["perl", chosen.mmtests, "-d", tree, "-n", "base,new", "-b"]
                scripts["MMTests"] = [[*theirs, name, *part] for name, (_, *part) in BENCHMARKS.items()]
            taken: dict[str, list[tuple[float, float]]] = {name: [] for name in scripts}
            for _ in range(chosen.runs):
                for name, commands in scripts.items():
                    taken[name].append(seconds(commands))
        for name, figures in taken.items():
            walls, cpus = zip(*figures, strict=True)
            spread = f"{statistics.median(walls):.2f} ({min(walls):.2f} … {max(walls):.2f})"
            print(f"{samples:>13}  {name:<8} {spread:>24} {statistics.median(cpus):>14.2f}")


if __name__ == "__main__":
    main()
