"""Measure time and memory of ``schedlab report`` on a million samples, in complete processes, for each format.

    .venv/bin/python benches/report_speed.py [--runs 3] [--iterations 1000] [--formats text mmtests json]

The run has 20 rows × 5 variants (including the control) × 10 blocks × ITERATIONS log-normal samples, a million by
default. The formats are also measured on a run of a tenth of that size.

Exit status: 0 if the formats with limits are within them on the run of a million samples, 1 if not.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import insert

from schedlab.experiment.load import parse
from schedlab.experiment.plan import Trial, plan
from schedlab.store import schema, writer
from schedlab.store.cells import StoredCell, pack
from schedlab.store.checksums import sealed
from schedlab.store.file import open_store
from schedlab.store.tables import CONDITIONS

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
"""Formats that cannot be written to the terminal."""
MILLION = 1_000_000
LIMITS = {"mmtests": (5.0, 1024.0), "html": (6.0, float("inf"))}
"""Limits of a report on a million samples, by format: the median wall time in seconds, and the memory in MiB."""
COUNTERS = json.dumps({"context-switches": 1000.0, "cpu-migrations": 10.0, "forks": 40.0})


def make_store(path: Path, iterations: int) -> int:
    """Write a store with one complete run; return the number of its samples."""
    text = EXPERIMENT.format(iterations=iterations)
    run_plan = plan(parse(text, "million"), seed=1)
    new = writer.NewRun(run_plan, "scripted", "scripted", False, text, "million", {}, "bench")
    engine, rng = open_store(path, create=True), random.Random(1)
    run_id = writer.begin(engine, new)
    cells, trials, metrics = [], [], []
    for first in range(0, len(run_plan.trials), iterations):
        trial, number = run_plan.trials[first], first // iterations + 1
        key = (run_id, trial.phase, trial.block, trial.variant.name, trial.row.label, trial.row.parameters_json)
        cell = StoredCell(number, *key, position=first, conditions=np.full((iterations, len(CONDITIONS)), np.nan))
        cell.conditions[:, 0] = 1.0
        values = np.array([rng.lognormvariate(0, 0.02) for _ in range(iterations)])
        cell.metrics["time", "s", "lower"] = values
        cells.append({"id": number} | cell.row())
        metrics.append({"cell_id": number, "name": "time", "unit": "s", "direction": "lower", "data": pack(values)})
        trials += [_trial(number, each) for each in run_plan.trials[first : first + iterations]]
    with engine.begin() as connection:
        for table, rows in ((schema.cell, cells), (schema.trial, trials), (schema.metric, metrics)):
            connection.execute(insert(table), rows)
    writer.end(engine, run_id, "complete")
    return len(run_plan.trials)


def _trial(cell: int, trial: Trial) -> dict[str, Any]:
    values = {"cell_id": cell, "position": trial.index, "iteration": trial.iteration, "state": "ok", "reason": ""}
    return sealed("trial", values | {"started": 1.7e9 + trial.index, "counters": COUNTERS})


def timed(argv: list[str]) -> tuple[float, float, float]:
    """Run a command; return its wall time and CPU time in seconds, and its largest resident size in MiB."""
    began = time.perf_counter()
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    if status:
        raise SystemExit(f"{' '.join(argv)} ended with {os.waitstatus_to_exitcode(status)}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> int:
    """Write the stores, measure each format, and print the figures."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--runs", type=int, default=3, help="runs of each format (default 3)")
    options.add_argument("--iterations", type=int, default=1000, help="samples of a cell of the larger run")
    options.add_argument("--formats", nargs="*", default=FORMATS)
    arguments = options.parse_args()
    schedlab = str(Path(sys.executable).parent / "schedlab")
    missed = 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        for iterations in (arguments.iterations, max(arguments.iterations // 10, 1)):
            store = Path(folder) / f"{iterations}.sqlite"
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as writer_process:
                # A child process begins with the size of this process. Another process writes the store, so that this
                # process stays small.
                samples = writer_process.submit(make_store, store, iterations).result()
            for form in arguments.formats:
                argv = [schedlab, "report", "--store", str(store), "--format", *form.split()]
                if form in FILES_ONLY:
                    argv += ["--output", str(Path(folder) / "out")]
                figures = [timed(argv) for _ in range(arguments.runs)]
                wall, cpu, size = zip(*figures, strict=True)
                text = (
                    f"{samples} samples, {form}: wall median {statistics.median(wall):.2f} s "
                    f"({min(wall):.2f} to {max(wall):.2f}), CPU {statistics.median(cpu):.2f} s, {max(size):.0f} MiB"
                )
                if samples == MILLION and form in LIMITS:
                    seconds, mib = LIMITS[form]
                    within = statistics.median(wall) <= seconds and max(size) <= mib
                    memory = f" and {mib:.0f} MiB" if mib < float("inf") else ""
                    text += f"; limit {seconds:.0f} s{memory}: {'kept' if within else 'exceeded'}"
                    if not within and statistics.median(cpu) <= seconds:
                        text += " (the CPU time is within the limit: repeat on an idle machine)"
                    missed += not within
                print(text, flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
