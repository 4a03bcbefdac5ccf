"""Compare the simulator with the kernel of this machine: both run the same rt-app files, alternately.

    .venv/bin/python -m benches.oracle [-n 10] [--seconds 4] [--files weights mixed] [--machine FILE]

In each block, `schedload`, Debian's rt-app (if installed) and the simulator run every file once. The simulated machine
is a model of this host. The block's number is the random seed of the simulation and of the order of the real trials. A
disturbed trial is repeated; disturbance.py defines disturbances. The output is the table of docs/simulator.md: means of
each figure, their relative difference, and the 95 % interval of the mean of the blocks' ratios, as in reports.

Exit status: 0 if every figure is within its limit, 1 if not, 3 if schedload is not built, 4 if the machine was too
busy.
"""

from __future__ import annotations

import argparse
import math
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benches.oracle.compare import COUNT, SHARE, Row, rows
from benches.oracle.rt_app import Hung, run_rt_app, unknown_events
from benches.oracle.trials import KERNEL, NAMES, SCHEDLOAD, Rates, run_schedload, simulate, write_copy, write_machine

from schedlab.analysis.paired import estimate, log_ratios

RUN = {"schedload": run_schedload, "rt-app": run_rt_app}


class Disturbed(Exception):
    """All allowed tries of a trial were disturbed. The text is the reason of the last try."""


def undisturbed(trial: Callable[[], Rates], tries: int) -> tuple[Rates, int]:
    """Return the rates of the first undisturbed trial, and the number of disturbed trials before it.

    Raises Disturbed if all ``tries`` trials were disturbed.
    """
    for disturbed in range(tries):
        rates = trial()
        if rates.disturbed is None:
            return rates, disturbed
    raise Disturbed(rates.disturbed)


def supported(name: str, rt_app: Path) -> bool:
    """Return whether the installed rt-app supports all events of a file. Print unknown events, because rt-app
    ignores unknown events."""
    unknown = unknown_events(name, rt_app)
    if unknown:
        print(f"{name} is not run by rt-app: the installed version does not support {', '.join(unknown)}")
    return not unknown


def table_row(name: str, row: Row) -> str:
    """Format a row of the table."""
    real, simulated = (sum(values) / len(values) for values in (row.real, row.simulated))
    pairs = [pair for pair in zip(row.real, row.simulated, strict=True) if min(pair) > 0]
    interval = "-"
    if len(pairs) > 1:
        ratio = estimate(log_ratios(*(dict(enumerate(values)) for values in zip(*pairs, strict=True))), 0.95)
        if math.isfinite(ratio.low):
            interval = f"{ratio.low - 1:+.1%} … {ratio.high - 1:+.1%}"
    limit = "-" if row.limit is None else f"{row.limit:.0%}"
    difference = f"{row.difference:+.1%}" + ("" if row.within else " **exceeds its limit**")
    return f"| `{name}` | {row.figure} | {real:.4g} | {simulated:.4g} | {difference} | {interval} | {limit} |"


def print_table(title: str, real: dict[str, list[Rates]], simulated: dict[str, list[Rates]]) -> bool:
    """Print the table of one program; return whether all its figures are within their limits."""
    print(f"\n{title}\n")
    print("| file | figure | real kernel | simulated | difference | 95 % interval | limit |")
    print("|---|---|---:|---:|---:|---:|---:|")
    within = True
    for name, rates in real.items():
        for row in rows(rates, simulated[name]):
            print(table_row(name, row))
            within &= row.within
    return within


def parse_arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument(
        "-n", "--blocks", type=int, default=10, help="undisturbed trials of each file (default %(default)s)"
    )
    parser.add_argument("--seconds", type=int, default=4, help="duration of a trial in seconds (default %(default)s)")
    parser.add_argument(
        "--tries", type=int, default=20, help="maximum number of tries of a trial (default %(default)s)"
    )
    parser.add_argument("--files", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument(
        "--machine", type=Path, help="machine file of the simulated machine (default: a model of this host)"
    )
    return parser.parse_args(words)


def main() -> int:
    """Run the trials and simulations, and print the tables."""
    arguments = parse_arguments()
    if not SCHEDLOAD.exists():
        print(f"{SCHEDLOAD} is not built: make build", file=sys.stderr)
        return 3
    rt_app = shutil.which("rt-app")
    if rt_app is None:
        print("rt-app is left out, because rt-app is not installed (apt-get install rt-app)")
    files = {"schedload": list(arguments.files)}
    simulated: dict[str, list[Rates]] = {name: [] for name in arguments.files}
    disturbed = 0
    with tempfile.TemporaryDirectory(prefix="oracle-") as scratch:
        folder = Path(scratch)
        machine = arguments.machine or write_machine(folder)
        if rt_app is not None:
            files["rt-app"] = [name for name in arguments.files if supported(name, Path(rt_app))]
        real: dict[str, dict[str, list[Rates]]] = {
            program: {name: [] for name in names} for program, names in files.items()
        }
        try:
            for block in range(arguments.blocks):
                order = [(program, name) for program, names in files.items() for name in names]
                random.Random(block).shuffle(order)
                for program, name in order:
                    file = write_copy(name, arguments.seconds, folder)
                    try:
                        rates, repeated = undisturbed(partial(RUN[program], file), arguments.tries)
                    except Hung as hung:
                        print(f"{name} is not run by {program} any more: {hung}")
                        files[program].remove(name)
                        del real[program][name]
                        continue
                    disturbed += repeated
                    real[program][name].append(rates)
                for name in arguments.files:
                    file = write_copy(name, arguments.seconds, folder)
                    simulated[name].append(simulate(file, machine, block))
        except Disturbed as reason:
            print(f"all {arguments.tries} tries of a trial were disturbed: {reason}", file=sys.stderr)
            return 4
    print(f"{arguments.blocks} blocks of {arguments.seconds} s, {disturbed} trials repeated; simulated: {KERNEL}")
    print(f"limits: {SHARE:.0%} for shares, {COUNT:.0%} for switches and wake-ups")
    within = [print_table(f"run by {program}", real[program], simulated) for program in files]
    return 0 if all(within) else 1


if __name__ == "__main__":
    sys.exit(main())
