"""Time and memory of a report over a million samples, as whole processes, for each format.

    .venv/bin/python benches/report_speed.py [--runs 3] [--iterations 1000] [--formats text mmtests json]

One measured run of 20 rows × 5 variants (the control among them) × 10 blocks × ITERATIONS, log-normal figures,
written to a store with plain SQL; and a run of a tenth of that size.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from schedlab.experiment.load import parse
from schedlab.experiment.plan import Trial, plan
from schedlab.store import writing
from schedlab.store.columns import pack
from schedlab.store.file import open_store

EXPERIMENT = """
[experiment]
name = "million"
[design]
blocks = 10
iterations = {iterations}
warmup = 0
[[variant]]
name = "base"
[[variant]]
name = "batch"
nice = 1
[[variant]]
name = "slice"
nice = 2
[[variant]]
name = "one-cpu"
nice = 3
[[workload]]
use = "hackbench"
groups = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]
"""
FORMATS = (
    "text", "mmtests", "mmtests --stars none", "json", "markdown", "changelog", "csv", "csv --samples", "parquet",
    "html",
)  # fmt: skip
FILES_ONLY = ("parquet",)
COUNTERS = json.dumps({"context-switches": 1000.0, "cpu-migrations": 10.0, "forks": 40.0})
CELL = "INSERT INTO cell VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)"
TRIAL = (
    "INSERT INTO trial (id, cell_id, position, iteration, state, reason, started, elapsed, counters) "
    "VALUES (?, ?, ?, ?, 'ok', '', ?, 1.0, ?)"
)


def make_store(path: Path, iterations: int) -> int:
    """Write a store with one complete run; return the number of its samples."""
    text = EXPERIMENT.format(iterations=iterations)
    made = plan(parse(text, "million"), seed=1)
    new = writing.NewRun(made, "scripted", "scripted", False, text, "million", {}, "bench")
    run_id = writing.begin(open_store(path, create=True), new)
    draw = random.Random(1)
    with sqlite3.connect(path) as store:
        store.execute("PRAGMA synchronous = OFF")
        store.executemany(CELL, (_cell(run_id, trial, iterations) for trial in made.trials if not trial.iteration))
        store.executemany(TRIAL, (_trial(trial, iterations) for trial in made.trials))
        for cell in range(1, len(made.trials) // iterations + 1):
            data = pack(draw.lognormvariate(0, 0.02) for _ in range(iterations))
            store.execute("INSERT INTO metric VALUES (?, 'time', 's', 'lower', ?)", (cell, data))
        store.execute("UPDATE run SET state = 'complete', finished = started + 1")
    return len(made.trials)


def _cell(run_id: int, trial: Trial, iterations: int) -> tuple[object, ...]:
    place = (trial.index // iterations + 1, run_id, trial.index, trial.phase, trial.block)
    return (*place, trial.variant.name, trial.row.label, trial.row.parameters_json)


def _trial(trial: Trial, iterations: int) -> tuple[object, ...]:
    cell = trial.index // iterations + 1
    return (trial.index + 1, cell, trial.index, trial.iteration, 1.7e9 + trial.index, COUNTERS)


def timed(argv: list[str]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and the largest resident size in MiB of one process."""
    began = time.perf_counter()
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    if status:
        raise SystemExit(f"{' '.join(argv)} ended with {os.waitstatus_to_exitcode(status)}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    """Make the stores, time each format in turn, and print the figures."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--iterations", type=int, default=1000)
    options.add_argument("--formats", nargs="*", default=FORMATS)
    given = options.parse_args()
    schedlab = str(Path(sys.executable).parent / "schedlab")
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        for iterations in (given.iterations, max(given.iterations // 10, 1)):
            store = Path(folder) / f"{iterations}.sqlite"
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as aside:
                # A process starts with the size of the one that starts it, so that this one stays small.
                samples = aside.submit(make_store, store, iterations).result()
            for form in given.formats:
                argv = [schedlab, "report", "--store", str(store), "--format", *form.split()]
                if form in FILES_ONLY:
                    argv += ["--output", str(Path(folder) / "out")]
                figures = [timed(argv) for _ in range(given.runs)]
                wall, cpu, size = zip(*figures, strict=True)
                print(
                    f"{samples} samples, {form}: wall median {statistics.median(wall):.2f} s "
                    f"({min(wall):.2f} to {max(wall):.2f}), CPU {statistics.median(cpu):.2f} s, {max(size):.0f} MiB",
                    flush=True,
                )


if __name__ == "__main__":
    main()
