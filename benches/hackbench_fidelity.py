#!/usr/bin/env python3
"""Compare `schedload hackbench` with rt-tests' `hackbench`: same parameters, run alternately.

Each block runs three programs once, in an order drawn from the seed: the reference (rt-tests), the native program, and
the reference once more as A/A control. The first block of each mode is a warm-up and is thrown away. Printed per mode
are the medians, the ratio of the medians, and the geometric mean of the paired ratios with its 95 % interval (Student's
t on the log-ratios of the blocks: reference and native of one block see about the same state of the machine).

A block during which other processes (or the hypervisor) took more than `--quiet` of the CPU time is run again; how many
were is printed. The rule looks at the disturbance only, never at the times.

Exit status: 0 when all ratios of medians lie within the limit, 1 when one does not, 3 when a program is missing.
"""

from __future__ import annotations

import argparse
import math
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

MODES = {
    "process-socket": [],
    "process-pipe": ["-p"],
    "thread-socket": ["-T"],
    "thread-pipe": ["-T", "-p"],
}
# How often a block may be run again on average before the machine counts as too busy.
MOST_DISTURBED = 20
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


def busy_seconds() -> float:
    """CPU time that all CPUs have spent on anything but idling, in seconds (proc_stat(5): all but idle and iowait)."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", maxsplit=1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    """CPU time that reaped children have used, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Disturbance:
    """Measures which share of the machine's CPU time others took since its creation."""

    def __init__(self) -> None:
        """Begin."""
        self.busy, self.own, self.start = busy_seconds(), own_seconds(), time.monotonic()

    def share(self) -> float:
        """Others' share so far; a tick of the accounting clock per CPU is forgiven."""
        others = (busy_seconds() - self.busy) - (own_seconds() - self.own)
        cpus = os.cpu_count() or 1
        forgiven = cpus / os.sysconf("SC_CLK_TCK")
        return max(0.0, others - forgiven) / ((time.monotonic() - self.start) * cpus)


def run_once(command: list[str]) -> float:
    """Run one hackbench and return the time that it prints, in seconds."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = TIME_LINE.search(done.stdout)
    if done.returncode != 0 or not found:
        sys.exit(f"{' '.join(command)} failed with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return float(found.group(1))


def run_block(commands: dict[str, list[str]], order: random.Random) -> dict[str, float]:
    """Run each command once in random order; times in seconds."""
    names = list(commands)
    order.shuffle(names)
    return {name: run_once(commands[name]) for name in names}


def measure(
    commands: dict[str, list[str]], blocks: int, order: random.Random, quiet: float
) -> tuple[dict[str, list[float]], int]:
    """Run a warm-up block and `blocks` quiet ones; the times by command, and how many blocks were disturbed."""
    run_block(commands, order)
    times: dict[str, list[float]] = {name: [] for name in commands}
    disturbed = 0
    while len(times["reference"]) < blocks:
        disturbance = Disturbance()
        block = run_block(commands, order)
        if disturbance.share() > quiet:
            disturbed += 1
            if disturbed > MOST_DISTURBED * blocks:
                sys.exit(f"{disturbed} blocks were disturbed: the machine is too busy, or raise --quiet")
            continue
        for name, seconds in block.items():
            times[name].append(seconds)
    return times, disturbed


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
    parser.add_argument("-g", "--groups", type=int, default=5)
    parser.add_argument("-f", "--fds", type=int, default=20)
    parser.add_argument("-l", "--loops", type=int, default=500)
    parser.add_argument("-s", "--datasize", type=int, default=100)
    parser.add_argument("-n", "--pairs", type=int, default=10, help="measured blocks per mode (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the order within blocks (%(default)s)")
    parser.add_argument(
        "--nice", type=int, default=0, help="of both programs; below 0 keeps others off a shared machine (root)"
    )
    parser.add_argument(
        "--quiet", type=float, default=0.05, help="largest share of CPU time for others in a block (%(default)s)"
    )
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
    print(f"hackbench {' '.join(options)}, {arguments.pairs} pairs, seed {arguments.seed}, nice {arguments.nice}")
    print("times in s; ratios native/reference; 95 % interval: Student's t on paired log-ratios")
    print(f"{'mode':<16} {'':<8} {'reference':>9} {'other':>9} {'medians':>9} {'paired':>9} 95 % interval")
    order = random.Random(arguments.seed)
    worst = 0.0
    for mode in arguments.modes:
        prefix = ["nice", "-n", str(arguments.nice)] if arguments.nice else []
        reference = [*prefix, arguments.reference, *MODES[mode], *options]
        native = [*prefix, str(arguments.schedload), "hackbench", *MODES[mode], *options]
        commands = {"reference": reference, "native": native, "control": reference}
        times, disturbed = measure(commands, arguments.pairs, order, arguments.quiet)
        comparison = Comparison("native", times["reference"], times["native"])
        control = Comparison("A/A", times["reference"], times["control"])
        print(show(mode, comparison), flush=True)
        print(f"{show(mode, control)} ({disturbed} blocks repeated)", flush=True)
        worst = max(worst, abs(comparison.median_ratio() - 1))
    print(f"largest deviation of a ratio of medians: {worst:.1%} (limit {arguments.limit:.0%})")
    return 0 if worst <= arguments.limit else 1


if __name__ == "__main__":
    sys.exit(main())
