"""Cost of a report over a million samples: seconds and memory of whole processes, for each format.

    .venv/bin/python benches/report_speed.py [--runs 3] [--iterations 1000] [--formats text mmtests json]

One measured run of 20 rows × 5 variants (the control among them) × 10 blocks × ITERATIONS, log-normal figures,
written to a store with plain SQL; and the 100,000 samples that are a tenth of it.
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
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from schedlab.experiment.load import parse
from schedlab.experiment.plan import Plan, plan
from schedlab.store import writing
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
TRIAL = (
    "id", "run_id", "position", "phase", "block", "variant", "workload", "parameters", "iteration", "state", "reason",
    "started", "elapsed", "counters", "superseded",
)  # fmt: skip
COUNTERS = json.dumps({"context-switches": 1000.0, "cpu-migrations": 10.0, "forks": 40.0})


def make_store(path: Path, iterations: int) -> int:
    """Make a store with one complete run; return its number of samples."""
    text = EXPERIMENT.format(iterations=iterations)
    made = plan(parse(text, "million"), seed=1)
    new = writing.NewRun(made, "scripted", "scripted", False, text, "million", {}, "bench")
    run_id = writing.begin(open_store(path, create=True), new)
    with sqlite3.connect(path) as store:
        store.execute("PRAGMA synchronous = OFF")
        places = ", ".join("?" * len(TRIAL))
        store.executemany(f"INSERT INTO trial ({', '.join(TRIAL)}) VALUES ({places})", _trials(made, run_id))
        store.executemany("INSERT INTO metric VALUES (?, 'time', 's', 'lower', ?)", _values(len(made.trials)))
        store.execute("UPDATE run SET state = 'complete', finished = started + 1")
    return len(made.trials)


def _trials(made: Plan, run_id: int) -> Iterator[tuple[object, ...]]:
    for trial in made.trials:
        row = trial.row
        yield (
            trial.index + 1, run_id, trial.index, trial.phase, trial.block, trial.variant.name, row.label,
            row.parameters_json, trial.iteration, "ok", "", 1.7e9 + trial.index, 1.0, COUNTERS, 0,
        )  # fmt: skip


def _values(count: int) -> Iterator[tuple[int, float]]:
    draw = random.Random(1)
    return ((index + 1, draw.lognormvariate(0, 0.02)) for index in range(count))


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
                # A child process starts with the size of its parent, so this process must stay small.
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
