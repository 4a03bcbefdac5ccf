#!/usr/bin/env python3
"""Compare `schedload hackbench` with rt-tests' `hackbench`: same parameters, run alternately.

    .venv/bin/python benches/hackbench_fidelity.py [-n 10] [--repeats 5] [--modes thread-pipe]

Each block runs three programs `--repeats` times each, in an order drawn from the random seed: the reference (rt-tests),
the native program, and the reference again as A/A control. The time of a program in a block is the median of its runs
in that block: over pipes, single runs of one program vary by 10 % on two CPUs, which is more than the limit. The first
block of each mode is a warm-up and does not count. For each mode the output contains the medians, the ratio of the
medians, and the geometric mean of the blocks' ratios with its 95 % interval, as in reports.

If other processes or the hypervisor take more than `--quiet` of the CPU time during a block, the block is repeated. The
output contains the number of repeated blocks. The measured times do not influence which blocks are repeated.

Exit status: 0 if all ratios of medians are within the limit; 1 if not, if a program failed or if too many blocks were
disturbed; 3 if a program is not installed.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from schedlab.analysis.paired import estimate, log_ratios

MODES = {
    "process-socket": [],
    "process-pipe": ["-p"],
    "thread-socket": ["-T"],
    "thread-pipe": ["-T", "-p"],
}
MOST_DISTURBED = 20
"""Largest number of disturbed blocks for each counted block."""
TIME_LINE = re.compile(r"^Time: ([0-9.]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Comparison:
    """Two series of times in seconds, paired by block."""

    label: str
    reference: list[float]
    other: list[float]

    def median_ratio(self) -> float:
        """Return the median of the other times divided by the median of the reference's times."""
        return statistics.median(self.other) / statistics.median(self.reference)

    def paired_interval(self) -> tuple[float, float, float]:
        """Return the geometric mean of the blocks' ratios, and the bounds of its 95 % interval."""
        blocks = (dict(enumerate(self.reference)), dict(enumerate(self.other)))
        ratio = estimate(log_ratios(*blocks), 0.95)
        return ratio.ratio, ratio.low, ratio.high


def busy_seconds() -> float:
    """Return the busy time of all CPUs in seconds: all fields of proc_stat(5) except idle and iowait."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", maxsplit=1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def children_seconds() -> float:
    """Return the CPU time of ended children in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Disturbance:
    """Share of the machine's CPU time that other processes used since the object's creation."""

    def __init__(self) -> None:
        """Begin the period."""
        self.busy, self.children, self.start = busy_seconds(), children_seconds(), time.monotonic()

    def share(self) -> float:
        """Return the share so far. One clock tick for each CPU is subtracted, because the kernel counts whole ticks."""
        others = (busy_seconds() - self.busy) - (children_seconds() - self.children)
        cpus = os.cpu_count() or 1
        ticks = cpus / os.sysconf("SC_CLK_TCK")
        return max(0.0, others - ticks) / ((time.monotonic() - self.start) * cpus)


def run_once(command: list[str]) -> float:
    """Run one hackbench and return the printed time in seconds."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    time_line = TIME_LINE.search(done.stdout)
    if done.returncode != 0 or not time_line:
        sys.exit(f"{' '.join(command)} failed with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return float(time_line[1])


def run_block(commands: dict[str, list[str]], repeats: int, order: random.Random) -> dict[str, float]:
    """Run each command `repeats` times, in random order; return the median time of each command in seconds."""
    names = list(commands) * repeats
    order.shuffle(names)
    times: dict[str, list[float]] = {name: [] for name in commands}
    for name in names:
        times[name].append(run_once(commands[name]))
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def measure(
    commands: dict[str, list[str]], blocks: int, repeats: int, order: random.Random, quiet: float
) -> tuple[dict[str, list[float]], int]:
    """Run a warm-up block and `blocks` undisturbed blocks.

    Return the times in seconds by command, and the number of disturbed blocks.
    """
    run_block(commands, repeats, order)
    times: dict[str, list[float]] = {name: [] for name in commands}
    disturbed = 0
    while len(times["reference"]) < blocks:
        disturbance = Disturbance()
        block = run_block(commands, repeats, order)
        if disturbance.share() > quiet:
            disturbed += 1
            if disturbed > MOST_DISTURBED * blocks:
                sys.exit(f"{disturbed} blocks were disturbed by other load\n  end other processes, or raise --quiet")
            continue
        for name, seconds in block.items():
            times[name].append(seconds)
    return times, disturbed


def table_row(mode: str, comparison: Comparison) -> str:
    """Format a row of the table."""
    mean, low, high = comparison.paired_interval()
    medians = f"{statistics.median(comparison.reference):9.3f} {statistics.median(comparison.other):9.3f}"
    ratio = comparison.median_ratio()
    return f"{mode:<16} {comparison.label:<8} {medians} {ratio:9.4f} {mean:9.4f} [{low:.4f}, {high:.4f}]"


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    default = Path(sys.executable).with_name("schedload")
    parser.add_argument("--schedload", type=Path, default=default, help="native program (default %(default)s)")
    parser.add_argument("--reference", default="hackbench", help="rt-tests' program (default %(default)s)")
    parser.add_argument("--modes", nargs="+", choices=sorted(MODES), default=list(MODES))
    parser.add_argument("-g", "--groups", type=int, default=5)
    parser.add_argument("-f", "--fds", type=int, default=20)
    parser.add_argument("-l", "--loops", type=int, default=500)
    parser.add_argument("-s", "--datasize", type=int, default=100)
    parser.add_argument(
        "-n", "--blocks", type=int, default=10, help="counted blocks for each mode (default %(default)s)"
    )
    parser.add_argument("--repeats", type=int, default=5, help="runs of each program in a block (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="random seed of the order in blocks (default %(default)s)")
    parser.add_argument(
        "--nice",
        type=int,
        default=0,
        help="nice value of all programs; below 0, other processes disturb less (needs root)",
    )
    parser.add_argument(
        "--quiet",
        type=float,
        default=0.05,
        help="largest share of CPU time of other processes in a block (default %(default)s)",
    )
    parser.add_argument(
        "--limit", type=float, default=0.03, help="limit of |ratio of medians - 1| (default %(default)s)"
    )
    arguments = parser.parse_args()
    if arguments.blocks < 2:
        parser.error("--blocks must be at least 2")
    return arguments


def main() -> int:
    """Measure the chosen modes and print the table."""
    arguments = parse_arguments()
    for program in (arguments.reference, str(arguments.schedload)):
        if shutil.which(program) is None:
            print(
                f"{program} is not installed: apt-get install rt-tests for hackbench, make build for schedload",
                file=sys.stderr,
            )
            return 3
    sizes = ["-g", arguments.groups, "-f", arguments.fds, "-l", arguments.loops, "-s", arguments.datasize]
    options = [str(option) for option in sizes]
    design = f"{arguments.blocks} blocks of {arguments.repeats} runs, seed {arguments.seed}, nice {arguments.nice}"
    print(f"hackbench {' '.join(options)}, {design}")
    print(
        "times: medians in s; medians: ratio of the medians, other / reference; "
        "paired: mean of the blocks' ratios with its 95 % interval, as in reports"
    )
    print(f"{'mode':<16} {'':<8} {'reference':>9} {'other':>9} {'medians':>9} {'paired':>9} 95 % interval")
    order = random.Random(arguments.seed)
    worst = 0.0
    for mode in arguments.modes:
        prefix = ["nice", "-n", str(arguments.nice)] if arguments.nice else []
        reference = [*prefix, arguments.reference, *MODES[mode], *options]
        native = [*prefix, str(arguments.schedload), "hackbench", *MODES[mode], *options]
        commands = {"reference": reference, "native": native, "control": reference}
        times, disturbed = measure(commands, arguments.blocks, arguments.repeats, order, arguments.quiet)
        comparison = Comparison("native", times["reference"], times["native"])
        control = Comparison("A/A", times["reference"], times["control"])
        print(table_row(mode, comparison), flush=True)
        print(f"{table_row(mode, control)} ({disturbed} blocks repeated)", flush=True)
        worst = max(worst, abs(comparison.median_ratio() - 1))
    print(f"largest deviation of a ratio of medians: {worst:.1%} (limit {arguments.limit:.0%})")
    return 0 if worst <= arguments.limit else 1


if __name__ == "__main__":
    sys.exit(main())
