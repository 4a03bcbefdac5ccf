"""The simulator against the kernel of this machine: the same files of rt-app on both, alternately.

    .venv/bin/python -m benches.oracle [-n 10] [--seconds 4] [--files weights mixed] [--machine FILE]

Each block runs every file once by `schedload`, once by Debian's rt-app where it is installed, and once by the simulator
with the block's number as seed, on a machine made from this host; the order in a block is drawn from the same number. A
trial that was disturbed is repeated; what disturbs is in quiet.py. Printed is the table of docs/simulator.md: means,
and the mean of the blocks' ratios with its 95 % interval, as reports have it.

Exit status: 0 when every figure keeps its limit, 1 when one does not, 3 when schedload is missing, 4 when the machine
was never quiet.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benches.oracle.compare import COUNT, SHARE, Row, rows
from benches.oracle.trials import FILES, KERNEL, NAMES, SCHEDLOAD, Seen, by_rt_app, by_schedload, by_simulator, machine
from benches.oracle.trials import written as copy_of

from schedlab.analysis.paired import estimate, log_ratios

_CALIBRATION_NS = 100
"""Nanoseconds a loop that rt-app is told while its speed is measured."""


class NeverQuiet(Exception):
    """No trial went undisturbed in as many tries as were allowed; the text is why the last one did not count."""


def undisturbed(trial: Callable[[], Seen], tries: int) -> tuple[Seen, int]:
    """A trial that had the machine to itself, and how many before it had not."""
    for disturbed in range(tries):
        seen = trial()
        if seen.disturbed is None:
            return seen, disturbed
    raise NeverQuiet(seen.disturbed)


def calibration(folder: Path) -> int:
    """Nanoseconds of a loop of rt-app's: the shortest of 200 runs of 10,000 loops (its log: loops, and µs of them)."""
    task = {"loop": 200, "run": 10_000 * _CALIBRATION_NS // 1000}
    # Without a duration rt-app would wait for a signal after its last thread.
    settings: dict[str, Any] = {"duration": 1, "calibration": _CALIBRATION_NS, "lock_pages": False}
    settings |= {"logdir": str(folder), "log_basename": "speed"}
    file = folder / "speed.json"
    file.write_text(json.dumps({"global": settings, "tasks": {"speed": task}}), encoding="utf-8")
    subprocess.run(["rt-app", str(file)], check=True, capture_output=True, timeout=60)
    lines = (folder / "speed-speed-0.log").read_text(encoding="utf-8").splitlines()
    fields = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    return round(min(int(field[2]) * 1000 / int(field[1]) for field in fields))


def loop_ns(name: str) -> dict[str, int]:
    """Computation in one loop of each thread object of a file."""
    tasks = json.loads((FILES / f"{name}.json").read_text(encoding="utf-8"))["tasks"]
    runs = {task: [value for key, value in events.items() if key.startswith("run")] for task, events in tasks.items()}
    return {task: sum(values) * 1000 for task, values in runs.items()}


def shown(name: str, row: Row) -> str:
    """A line of the table."""
    real, simulated = (sum(values) / len(values) for values in (row.real, row.simulated))
    pairs = [(one, other) for one, other in zip(row.real, row.simulated, strict=True) if one > 0 and other > 0]
    spread = "-"
    if len(pairs) > 1:
        found = estimate(log_ratios(*(dict(enumerate(side)) for side in zip(*pairs, strict=True))), 0.95)
        if math.isfinite(found.low):
            spread = f"{found.low - 1:+.1%} … {found.high - 1:+.1%}"
    limit = "-" if row.limit is None else f"{row.limit:.0%}"
    verdict = "" if row.within else " **off**"
    return f"| `{name}` | {row.what} | {real:.4g} | {simulated:.4g} | {row.off:+.1%}{verdict} | {spread} | {limit} |"


def table(title: str, real: dict[str, list[Seen]], simulated: dict[str, list[Seen]]) -> bool:
    """Print one program's table; whether all its figures keep their limits."""
    print(f"\n{title}\n")
    print("| file | figure | real kernel | simulated | difference | 95 % interval | limit |")
    print("|---|---|---:|---:|---:|---:|---:|")
    good = True
    for name, seen in real.items():
        for row in rows(seen, simulated[name]):
            print(shown(name, row))
            good &= row.within
    return good


def parse_arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("-n", "--blocks", type=int, default=10, help="trials of each file (%(default)s)")
    parser.add_argument("--seconds", type=int, default=4, help="length of a trial (%(default)s)")
    parser.add_argument("--tries", type=int, default=20, help="of a trial before giving up (%(default)s)")
    parser.add_argument("--files", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--machine", type=Path, help="file of the simulated machine; default made from this host")
    return parser.parse_args(words)


def main() -> int:
    """Measure, simulate, print."""
    arguments = parse_arguments()
    if not SCHEDLOAD.exists():
        print(f"{SCHEDLOAD} is not built: make build", file=sys.stderr)
        return 3
    has_rt_app = shutil.which("rt-app") is not None
    if not has_rt_app:
        print("without rt-app, which is not installed (apt-get install rt-app)")
    programs = ["schedload", "rt-app"] if has_rt_app else ["schedload"]
    real: dict[str, dict[str, list[Seen]]] = {program: {name: [] for name in arguments.files} for program in programs}
    simulated: dict[str, list[Seen]] = {name: [] for name in arguments.files}
    disturbed = 0
    with tempfile.TemporaryDirectory(prefix="oracle-") as scratch:
        folder = Path(scratch)
        on = arguments.machine or machine(folder)
        speed = calibration(folder) if has_rt_app else 0
        try:
            for block in range(arguments.blocks):
                order = [(program, name) for program in programs for name in arguments.files]
                random.Random(block).shuffle(order)
                for program, name in order:
                    file = copy_of(name, arguments.seconds, folder)

                    def trial(program: str = program, name: str = name, file: Path = file) -> Seen:
                        return by_schedload(file) if program == "schedload" else by_rt_app(file, loop_ns(name), speed)

                    seen, lost = undisturbed(trial, arguments.tries)
                    disturbed += lost
                    real[program][name].append(seen)
                for name in arguments.files:
                    simulated[name].append(by_simulator(copy_of(name, arguments.seconds, folder), on, block))
        except NeverQuiet as never:
            print(f"never quiet in {arguments.tries} tries: {never}", file=sys.stderr)
            return 4
    print(f"{arguments.blocks} blocks of {arguments.seconds} s, {disturbed} trials repeated; simulated: {KERNEL}")
    print(f"limits: {SHARE:.0%} for shares, {COUNT:.0%} for switches and wake-ups")
    good = [table(f"by {program}", real[program], simulated) for program in programs]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
