#!/usr/bin/env python3
"""Compare `schedload hackbench` with rt-tests' `hackbench`: same parameters, run alternately.

Each block runs three programs once, in an order drawn from the seed: the reference (rt-tests), the native program, and
the reference once more as A/A control. The first block of each mode is a warm-up and is thrown away. Printed per mode
are the medians, the ratio of the medians, and the geometric mean of the paired ratios with its 95 % interval (Student's
t on the log-ratios of the blocks: reference and native of one block see about the same state of the machine).

Exit status: 0 when all ratios of medians lie within the limit, 1 when one does not, 3 when a program is missing.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

MODES = {
    "process-socket": [],
    "process-pipe": ["-p"],
    "thread-socket": ["-T"],
    "thread-pipe": ["-T", "-p"],
}
TIME_LINE = re.compile(r"^Time: ([0-9.]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Comparison:
    """Two series of times in seconds, paired by block."""

    label: str
    reference: list[float]
    other: list[float]

    def median_ratio(self) -> float:
        """Ratio of the medians, other to reference."""
        return statistics.median(self.other) / statistics.median(self.reference)

    def paired_interval(self) -> tuple[float, float, float]:
        """Geometric mean of the paired ratios and its 95 % interval."""
        logs = [math.log(b / a) for a, b in zip(self.reference, self.other, strict=True)]
        mean = statistics.fmean(logs)
        half = student_quantile(0.975, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
        return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def student_density(x: float, freedom: int) -> float:
    """Density of Student's t distribution."""
    log = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - 0.5 * math.log(freedom * math.pi)
    return math.exp(log - (freedom + 1) / 2 * math.log1p(x * x / freedom))


def student_quantile(p: float, freedom: int) -> float:
    """Quantile of Student's t distribution for p > 0.5, by Simpson's rule and bisection (error below 1e-6)."""

    def upper_half(x: float, steps: int = 2000) -> float:
        h = x / steps
        inner = sum((4 if i % 2 else 2) * student_density(i * h, freedom) for i in range(1, steps))
        return h / 3 * (student_density(0, freedom) + inner + student_density(x, freedom))

    low, high = 0.0, 200.0
    while high - low > 1e-7:
        middle = (low + high) / 2
        low, high = (middle, high) if upper_half(middle) < p - 0.5 else (low, middle)
    return low


def run_once(command: list[str]) -> float:
    """Run one hackbench and return the time that it prints, in seconds."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = TIME_LINE.search(done.stdout)
    if done.returncode != 0 or not found:
        sys.exit(f"{' '.join(command)} failed with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return float(found.group(1))


def measure(
    reference: list[str], native: list[str], blocks: int, order: random.Random
) -> tuple[Comparison, Comparison]:
    """Run a warm-up block and `blocks` measured ones; native against reference, and the A/A control."""
    commands = {"reference": reference, "native": native, "control": reference}
    times: dict[str, list[float]] = {name: [] for name in commands}
    for block in range(blocks + 1):
        names = list(commands)
        order.shuffle(names)
        for name in names:
            seconds = run_once(commands[name])
            if block > 0:
                times[name].append(seconds)
    return (
        Comparison("native", times["reference"], times["native"]),
        Comparison("A/A", times["reference"], times["control"]),
    )


def show(mode: str, comparison: Comparison) -> str:
    """Format one line of the table."""
    mean, low, high = comparison.paired_interval()
    medians = f"{statistics.median(comparison.reference):9.3f} {statistics.median(comparison.other):9.3f}"
    ratio = comparison.median_ratio()
    return f"{mode:<16} {comparison.label:<8} {medians} {ratio:9.4f} {mean:9.4f} [{low:.4f}, {high:.4f}]"


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    default = Path(__file__).resolve().parent.parent / "target" / "release" / "schedload"
    parser.add_argument("--schedload", type=Path, default=default, help="native program (%(default)s)")
    parser.add_argument("--reference", default="hackbench", help="rt-tests' program (%(default)s)")
    parser.add_argument("--modes", nargs="+", choices=sorted(MODES), default=list(MODES))
    parser.add_argument("-g", "--groups", type=int, default=10)
    parser.add_argument("-f", "--fds", type=int, default=20)
    parser.add_argument("-l", "--loops", type=int, default=200)
    parser.add_argument("-s", "--datasize", type=int, default=100)
    parser.add_argument("-n", "--pairs", type=int, default=10, help="measured blocks per mode (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the order within blocks (%(default)s)")
    parser.add_argument("--limit", type=float, default=0.03, help="for |ratio of medians - 1| (%(default)s)")
    arguments = parser.parse_args()
    if arguments.pairs < 2:
        parser.error("--pairs must be at least 2")
    return arguments


def main() -> int:
    """Measure all modes and print the table."""
    arguments = parse_arguments()
    for program in (arguments.reference, str(arguments.schedload)):
        if shutil.which(program) is None:
            print(f"{program} is not installed (Debian: rt-tests; native: cargo build --release)", file=sys.stderr)
            return 3
    sizes = ["-g", arguments.groups, "-f", arguments.fds, "-l", arguments.loops, "-s", arguments.datasize]
    options = [str(option) for option in sizes]
    print(f"hackbench {' '.join(options)}, {arguments.pairs} pairs, seed {arguments.seed}")
    print("times in s; ratios native/reference; 95 % interval: Student's t on paired log-ratios")
    print(f"{'mode':<16} {'':<8} {'reference':>9} {'other':>9} {'medians':>9} {'paired':>9} 95 % interval")
    order = random.Random(arguments.seed)
    worst = 0.0
    for mode in arguments.modes:
        reference = [arguments.reference, *MODES[mode], *options]
        native = [str(arguments.schedload), "hackbench", *MODES[mode], *options]
        for comparison in measure(reference, native, arguments.pairs, order):
            print(show(mode, comparison), flush=True)
            if comparison.label == "native":
                worst = max(worst, abs(comparison.median_ratio() - 1))
    print(f"largest deviation of a ratio of medians: {worst:.1%} (limit {arguments.limit:.0%})")
    return 0 if worst <= arguments.limit else 1


if __name__ == "__main__":
    sys.exit(main())
