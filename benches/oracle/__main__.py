"""The simulator against the kernel of this machine: the same rt-app files on both, alternately.

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
import math
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benches.oracle.compare import COUNT, SHARE, Row, rows
from benches.oracle.rt_app import Hung, by_rt_app, unknown_events
from benches.oracle.trials import KERNEL, NAMES, SCHEDLOAD, Seen, by_schedload, by_simulator, machine
from benches.oracle.trials import written as copy_of

from schedlab.analysis.paired import estimate, log_ratios

BY = {"schedload": by_schedload, "rt-app": by_rt_app}


class NeverQuiet(Exception):
    """Every allowed try was disturbed. The text is the reason of the last one."""


def undisturbed(trial: Callable[[], Seen], tries: int) -> tuple[Seen, int]:
    """Return an undisturbed trial, and the number of disturbed trials before it."""
    for disturbed in range(tries):
        seen = trial()
        if seen.disturbed is None:
            return seen, disturbed
    raise NeverQuiet(seen.disturbed)


def left_out(name: str, rt_app: Path) -> bool:
    """Return whether the installed rt-app lacks events of a file, which it would silently ignore, and print them."""
    unknown = unknown_events(name, rt_app)
    if unknown:
        print(f"{name} not by rt-app: the one that is installed does not know {', '.join(unknown)}")
    return bool(unknown)


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
    """Print one program's table; return whether all its figures are within their limits."""
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
    rt_app = shutil.which("rt-app")
    if rt_app is None:
        print("without rt-app, which is not installed (apt-get install rt-app)")
    files = {"schedload": list(arguments.files)}
    simulated: dict[str, list[Seen]] = {name: [] for name in arguments.files}
    disturbed = 0
    with tempfile.TemporaryDirectory(prefix="oracle-") as scratch:
        folder = Path(scratch)
        on = arguments.machine or machine(folder)
        if rt_app is not None:
            files["rt-app"] = [name for name in arguments.files if not left_out(name, Path(rt_app))]
        real: dict[str, dict[str, list[Seen]]] = {program: {name: [] for name in own} for program, own in files.items()}
        try:
            for block in range(arguments.blocks):
                order = [(program, name) for program, own in files.items() for name in own]
                random.Random(block).shuffle(order)
                for program, name in order:
                    file = copy_of(name, arguments.seconds, folder)

                    def trial(by: Callable[[Path], Seen] = BY[program], file: Path = file) -> Seen:
                        return by(file)

                    try:
                        seen, lost = undisturbed(trial, arguments.tries)
                    except Hung as hung:
                        print(f"{name} not by {program}: {hung}")
                        files[program].remove(name)
                        del real[program][name]
                        continue
                    disturbed += lost
                    real[program][name].append(seen)
                for name in arguments.files:
                    simulated[name].append(by_simulator(copy_of(name, arguments.seconds, folder), on, block))
        except NeverQuiet as never:
            print(f"never quiet in {arguments.tries} tries: {never}", file=sys.stderr)
            return 4
    print(f"{arguments.blocks} blocks of {arguments.seconds} s, {disturbed} trials repeated; simulated: {KERNEL}")
    print(f"limits: {SHARE:.0%} for shares, {COUNT:.0%} for switches and wake-ups")
    good = [table(f"by {program}", real[program], simulated) for program in files]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
