"""Time ``--version``, ``--help``, ``store list``, a small ``sim run``, and ``report`` on a run of 100,000 samples.

    .venv/bin/python benches/startup.py [--runs 9]

The output contains median and range of the wall time, the median CPU time (user and system) of complete processes, and
the limits of three commands. The commands alternate. A busy machine makes both times longer. The first line is the time
of an interpreter that does nothing, the second line the time to import the library of the store.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from schedlab.execution.loop import execute
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Trial, plan
from schedlab.store import writer
from schedlab.store.file import open_store
from schedlab.targets.scripted import Scripted

EXPERIMENT = """
[experiment]
name = "large"
[design]
blocks = 50
iterations = 50
warmup = 0
[[variant]]
name = "a"
[[variant]]
name = "b"
nice = 1
[[variant]]
name = "c"
nice = 2
[[workload]]
use = "hackbench"
groups = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
"""
"""50 blocks × 4 variants × 10 rows × 50 iterations: 100,000 samples."""


SMALL = EXPERIMENT.replace("blocks = 50", "blocks = 6").replace("iterations = 50", "iterations = 1")
"""240 samples."""


def make_store(path: Path, experiment: str) -> None:
    """Write a scripted run of log-normal samples to a store."""
    rng = random.Random(1)
    run_plan = plan(parse(experiment, "large"), seed=1)
    engine = open_store(path, create=True)
    new = writer.NewRun(run_plan, "scripted", "scripted", False, experiment, "large", {}, "bench")

    def script(trial: Trial) -> float:
        return math.exp(rng.gauss(0, 0.02))

    # The store is temporary, so do not wait for the disk.
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA synchronous = OFF")
    execute(run_plan, Scripted(script), engine, writer.begin(engine, new), lambda trial, measurement: None)


LIMITS = {"schedlab --version": ("wall", 80), "schedlab store list": ("CPU", 250), "schedlab sim run": ("CPU", 150)}
"""Upper limit of the median time of a command in ms, and the clock of the limit."""


def timed(argv: list[str]) -> tuple[float, float]:
    """Run a command; return its wall time and CPU time in seconds."""
    began = time.perf_counter()
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, argv)
    return wall, usage.ru_utime + usage.ru_stime


def main() -> None:
    """Run the commands alternately, and print their times."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--runs", type=int, default=9, help="counted runs of each command (default 9)")
    runs = options.parse_args().runs
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        # Commands read the journals of this machine; an empty folder hides these journals.
        os.environ["SCHEDLAB_STATE"] = folder
        store, few = Path(folder) / "store.sqlite", Path(folder) / "few.sqlite"
        make_store(store, EXPERIMENT)
        for _ in range(3):
            make_store(few, SMALL)
        schedlab = str(Path(sys.executable).parent / "schedlab")
        commands = {
            "python": [sys.executable, "-c", "pass"],
            "import sqlalchemy": [sys.executable, "-c", "import sqlalchemy.dialects.sqlite"],
            "schedlab --version": [schedlab, "--version"],
            "schedlab --help": [schedlab, "--help"],
            "schedlab store list": [schedlab, "store", "list", "--store", str(few)],
            "schedlab sim run": [schedlab, "sim", "run", "pipetest", "--machine", "laptop-4", "loops=100"],
            "schedlab report (100,000 samples)": [schedlab, "report", "--store", str(store)],
        }
        figures: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for _ in range(runs + 1):
            for name, argv in commands.items():
                figures[name].append(timed(argv))
    for name, pairs in figures.items():
        wall = [1000 * w for w, _ in pairs[1:]]
        cpu = [1000 * c for _, c in pairs[1:]]
        clock, most = LIMITS.get(name, ("", 0))
        limit = f" (limit: {clock} {most} ms)" if clock else ""
        print(f"{name}: wall median {statistics.median(wall):.0f} ms ({min(wall):.0f} to {max(wall):.0f}), "
              f"CPU median {statistics.median(cpu):.0f} ms{limit}")  # fmt: skip


if __name__ == "__main__":
    main()
