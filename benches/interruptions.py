"""Compare ``schedload noise`` with rt-tests' ``oslat``, and with itself without the trace, on one CPU of this machine.

    .venv/bin/python -m benches.interruptions [--rounds 12] [--seconds 3] [--cpu N]

Each round runs the three programs once in random order, as root, under SCHED_FIFO 1. ``oslat`` counts turns of its loop
by their length in microseconds, rounded up: its gaps of at least 10 µs are the counts from 11 on. The ratios are
geometric means over rounds, with the interval that the sign-flip test does not reject.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from math import log
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from schedlab.analysis.signflip import interval
from schedlab.workloads.tools import SCHEDLOAD, need

LENGTHS_US = (2, 5, 10, 20, 50, 100)
"""Least lengths of the gaps that are counted."""

BUCKETS = 1024
"""Largest length in µs that ``oslat`` tells apart."""

Figures = Mapping[str, float]


def oslat(cpu: int, seconds: int) -> Figures:
    """Return the figures of ``oslat``, whose main thread runs on another CPU."""
    other = min(os.sched_getaffinity(0) - {cpu})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "oslat.json"
        words = ["-c", cpu, "-C", other, "-f", 1, "-D", seconds, "-b", BUCKETS, "-q"]
        command = ["oslat", *map(str, words), f"--json={file}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        thread = json.loads(file.read_text())["thread"]["0"]
    counts = {int(us): number for us, number in thread["histogram"].items()}
    measured = thread["duration"]
    rates = {f"gaps of at least {us} µs, 1/s": sum(n for at, n in counts.items() if at > us) for us in LENGTHS_US}
    return {
        **{name: number / measured for name, number in rates.items()},
        "mean turn, ns": 1e9 * measured / sum(counts.values()),
        "longest gap, µs": thread["max"],
    }


def noise(cpu: int, seconds: int, *words: str) -> Figures:
    """Return the figures of ``schedload noise``."""
    options = ["--cpus", str(cpu), "--for", f"{seconds}s", "--fifo", "1", "--threshold", "1000", "--parts", *words]
    document: dict[str, Any] = json.loads(subprocess.check_output([need(SCHEDLOAD), "noise", *options]))
    (of_cpu,) = document["cpus"]
    lengths = np.array([gap["length_ns"] for gap in document["gaps"]])
    ticks = [
        gap["length_ns"]
        for gap in document["gaps"]
        if {document["causes"][part[0]]["name"] for part in gap["parts"]} == {"tick"}
    ]
    return {
        **{f"gaps of at least {us} µs, 1/s": np.sum(lengths >= 1000 * us) / of_cpu["seconds"] for us in LENGTHS_US},
        "mean turn, ns": 1e9 * of_cpu["seconds"] / of_cpu["turns"],
        "least turn, ns": of_cpu["minimum_ns"],
        "longest gap, µs": of_cpu["worst_ns"] / 1e3,
        "median gap, µs": float(np.median(lengths)) / 1e3,
        "mean gap, µs": float(np.mean(lengths)) / 1e3,
        **({"median gap of a bare tick, µs": median(ticks) / 1e3} if ticks else {}),
    }


def number(value: float) -> str:
    """Return a figure with four digits, and thousands in full."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def row(name: str, rounds: list[dict[str, Figures]], programs: list[str], seed: int) -> str:
    """Return a row of the table: medians, and ratios to ``noise --no-trace`` with their intervals."""
    texts = []
    for program in programs:
        values = [each[program][name] for each in rounds if name in each[program]]
        texts.append(number(median(values)) if values else "")
    for program in (programs[0], programs[2]):
        pairs = [(each[program].get(name, 0), each[programs[1]].get(name, 0)) for each in rounds]
        logs = np.array([log(one / other) for one, other in pairs if one > 0 and other > 0])
        bounds = interval(logs, 0.95, seed) if len(logs) == len(rounds) else None
        low, high = np.exp(bounds) if bounds else (np.nan, np.nan)
        texts.append("" if bounds is None else f"{np.exp(logs.mean()):.3f} ({low:.3f} … {high:.3f})")
    return f"| {name} | {' | '.join(texts)} |"


def main() -> None:
    """Run the rounds, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if shutil.which("oslat") is None:
        parser.error("oslat is missing: apt-get install rt-tests")
    programs: dict[str, Callable[[int, int], Figures]] = {
        "oslat": oslat,
        "noise --no-trace": lambda cpu, seconds: noise(cpu, seconds, "--untraced"),
        "noise": noise,
    }
    rng, rounds = random.Random(options.seed), []
    for _ in range(options.rounds):
        order = rng.sample(list(programs), len(programs))
        rounds.append({program: programs[program](options.cpu, options.seconds) for program in order})
    names = list(dict.fromkeys(name for each in rounds for figures in each.values() for name in figures))
    print(f"| | {' | '.join(programs)} | oslat / no trace | trace / no trace |")
    print("|---|---:|---:|---:|---:|---:|")
    for name in names:
        print(row(name, rounds, list(programs), options.seed), flush=True)


if __name__ == "__main__":
    main()
