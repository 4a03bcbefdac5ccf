"""Measure a store in PostgreSQL with several controllers at once: trials per second, losses, and times of reports.

    .venv/bin/python -m benches.shared_store [--controllers 10] [--blocks 10]

Each controller is a process that executes its own run of a scripted target, 1,000 trials a block, each trial in one
transaction that is synchronous on the disk. One controller is killed by SIGKILL in the middle, and its run is resumed.
Afterwards every trial that a controller had stored must be in the store, no trial may be there twice, and every
checksum must be right. The server is private and reached by a Unix socket.

Exit status: 1 if a trial is lost, double or damaged.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benches.report_speed import timed
from sqlalchemy import func, select
from tests.postgres_server import server

from schedlab.execution.loop import execute
from schedlab.experiment.load import parse
from schedlab.experiment.plan import plan
from schedlab.store import reader, schema, writer
from schedlab.store.checking import check
from schedlab.store.file import open_store
from schedlab.store.location import location
from schedlab.targets.scripted import Scripted

EXPERIMENT = """
[experiment]
name = "controller-{number}"
[design]
blocks = {blocks}
iterations = 10
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


def control(url: str, number: int, blocks: int, folder: Path) -> None:
    """Execute a run, or resume the run of this name. The number of each stored trial is appended to a file."""
    text = EXPERIMENT.format(number=number, blocks=blocks)
    run_plan, engine = plan(parse(text, "e"), seed=number), open_store(location(url), create=True)
    begun = [run.id for run in reader.runs(engine) if run.name == f"controller-{number}"]
    new = writer.NewRun(run_plan, "scripted", "scripted", False, text, "e", {}, "bench")
    run_id = begun[0] if begun else writer.begin(engine, new)
    with (folder / str(number)).open("a") as stored:

        def note(trial: object, measurement: object) -> None:
            if measurement is not None:
                stored.write(f"{trial.index}\n")  # type: ignore[attr-defined]
                stored.flush()

        target = Scripted(lambda trial: 1.0 + (trial.index * 7 % 100) / 1000)
        execute(run_plan, target, engine, run_id, note)


def main() -> int:
    """Run the controllers, verify the store, and print the figures."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--controllers", type=int, default=10)
    options.add_argument("--blocks", type=int, default=10, help="blocks of each run, of 1,000 trials each")
    arguments = options.parse_args()
    with server() as running, tempfile.TemporaryDirectory() as name:
        return measure(running.new(), arguments.controllers, arguments.blocks, Path(name))


def measure(url: str, controllers: int, blocks: int, folder: Path) -> int:
    """Run the controllers on a store, and verify it."""
    spawn = multiprocessing.get_context("spawn")
    began = time.perf_counter()
    processes = [spawn.Process(target=control, args=(url, number, blocks, folder)) for number in range(controllers)]
    for process in processes:
        process.start()
    victim = folder / "0"
    while not victim.exists() or len(victim.read_bytes().splitlines()) < blocks * 500:
        time.sleep(0.2)
    os.kill(processes[0].pid or 0, signal.SIGKILL)
    processes[0].join()
    print(f"killed controller 0 after {len(victim.read_bytes().splitlines()):,} trials; its run is resumed", flush=True)
    processes[0] = spawn.Process(target=control, args=(url, 0, blocks, folder))
    processes[0].start()
    for process in processes:
        process.join()
    seconds = time.perf_counter() - began
    engine = open_store(location(url), create=False)
    runs, c, t = reader.runs(engine), schema.cell.c, schema.trial.c
    lost = double = 0
    with engine.connect() as connection:
        for run in runs:
            of_run = select(t.position).select_from(schema.trial.join(schema.cell)).where(c.run_id == run.id)
            every = set(connection.execute(of_run).scalars())
            current = connection.execute(of_run.where(schema.current)).scalars().all()
            noted = {int(line) for line in (folder / run.name.rpartition("-")[2]).read_text().split()}
            lost += len((noted | set(range(run.planned))) - every) + run.planned - len(set(current))
            double += len(current) - len(set(current))
        trials = connection.execute(select(func.count()).select_from(schema.trial)).scalar_one()
    complete = sum(run.state == "complete" for run in runs)
    print(f"{controllers} controllers: {trials:,} trials in {seconds:.0f} s, {trials / seconds:.0f} trials/s")
    print(f"{complete} of {controllers} runs complete; lost {lost}, double {double}")
    faults, check_seconds = _timed(lambda: check(engine).faults)
    print(f"store check: {len(faults)} faults, {check_seconds:.1f} s")
    schedlab = str(Path(sys.executable).parent / "schedlab")
    for words in (["report", "1"], ["report", "1", "--format", "json"], ["store", "list"]):
        wall, cpu, _ = timed([schedlab, *words, "--store", url])
        print(f"schedlab {' '.join(words)}: {wall:.2f} s, {cpu:.2f} s of CPU time")
    return 1 if lost or double or faults or complete < controllers else 0


def _timed(function: Callable[[], list[tuple[int, str]]]) -> tuple[list[tuple[int, str]], float]:
    began = time.perf_counter()
    return function(), time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
