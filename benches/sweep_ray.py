"""Measure the overhead of Ray in a sweep: cells in two plain loops, and in tasks of Ray with a store, alternated.

    .venv/bin/python -m benches.sweep_ray [--cells 5000] [--rounds 10] [--jobs 2]

The sweep is migration cost × clients × machine under ten seeds (tbench-native, some tens of milliseconds a cell). In
each round, every plain loop simulates its part of the round's cells in a process of its own and stores nothing; Ray
gets the same cells in chunks as 'schedlab sweep --ray local' does, and this process stores them. The order alternates.
The start of Ray is measured separately.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import exp, log, sqrt
from multiprocessing import get_context
from pathlib import Path

from scipy.stats import t as student

from schedlab.execution import workers
from schedlab.execution.sweep import Chunks
from schedlab.experiment.load import parse
from schedlab.experiment.sweep import sweep
from schedlab.store import reader, writer
from schedlab.store.file import open_store
from schedlab.targets.sim.chunks import simulated

EXPERIMENT = """
[experiment]
name = "cost-clients-machine"

[target]
kind = "sim"
machine = "laptop-4"

[design]
blocks = 10
seed = 1

[sweep]
design = "grid"

[sweep.factors]
"sched.migration_cost_ns" = { from = "1us", to = "10ms", count = 25, scale = "log" }
"workload.clients" = [2, 4, 6, 8, 12]
machine = ["laptop-4", "i7-3770", "rpi4b", "xeon-e5-2670v3"]

[[variant]]
name = "default"

[[workload]]
use = "tbench-native"
warmup = "5ms"
duration = "40ms"
"""
SEED = 1


def main() -> None:
    """Measure the rounds, and print the overhead."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--cells", type=int, default=5_000)
    options.add_argument("--rounds", type=int, default=10)
    options.add_argument("--jobs", type=int, default=2)
    arguments = options.parse_args()
    whole = sweep(parse(EXPERIMENT, "bench"), SEED)
    trials = whole.plan.trials[: arguments.cells]
    # Each round has cells of every machine and number of clients.
    rounds = [range(start, len(trials), arguments.rounds) for start in range(arguments.rounds)]
    jobs = arguments.jobs
    began = time.perf_counter()
    ray = workers.connected_ray("local", jobs)
    started = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as name, ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        engine = open_store(Path(name) / "store.sqlite", create=True)
        new = writer.NewRun(whole.plan, "sim", "simulated", False, EXPERIMENT, "bench", {}, "bench", sweep=True)
        run_id = writer.begin(engine, new)

        def plain(cells: Sequence[int]) -> None:
            list(pool.map(partial(simulated, EXPERIMENT, SEED), [cells[start::jobs] for start in range(jobs)]))

        def tasks(cells: Sequence[int]) -> None:
            chunks = Chunks.of(cells)
            for chunk, measured in workers.ray_tasks(ray, partial(simulated, EXPERIMENT, SEED), chunks.next):
                assert measured is not None
                writer.record_all(engine, run_id, zip((trials[index] for index in chunk), measured, strict=True))
                chunks.add(measured)

        began = time.perf_counter()
        warm_up = range(arguments.cells, min(arguments.cells + 2 * jobs, len(whole.plan.trials)))
        list(workers.ray_tasks(ray, partial(simulated, EXPERIMENT, SEED), Chunks.of(warm_up or rounds[0][:2]).next))
        workers_started = time.perf_counter() - began
        plain(rounds[0][: 2 * jobs])
        pairs = []
        for number, cells in enumerate(rounds):
            order = (plain, tasks) if number % 2 else (tasks, plain)
            seconds = {function: _seconds(function, cells) for function in order}
            pairs.append((seconds[plain], seconds[tasks]))
            print(f"round {number + 1}: {len(cells)} cells, plain {seconds[plain]:.2f} s, Ray {seconds[tasks]:.2f} s",
                  flush=True)  # fmt: skip
        assert len(reader.run(engine, run_id).notes) == 0
        assert writer.done(engine, run_id) == set(range(len(trials)))
    ray.shutdown()
    _print(pairs, len(trials), jobs, started, workers_started)


def _seconds(function: object, cells: Sequence[int]) -> float:
    began = time.perf_counter()
    function(cells)  # type: ignore[operator]
    return time.perf_counter() - began


def _print(pairs: Sequence[tuple[float, float]], cells: int, jobs: int, started: float, workers_started: float) -> None:
    logs = [log(tasks / plain) for plain, tasks in pairs]
    mean, error = statistics.fmean(logs), statistics.stdev(logs) / sqrt(len(logs)) if len(logs) > 1 else 0.0
    half = float(student.ppf(0.975, max(len(logs) - 1, 1))) * error
    low, middle, high = (100 * (exp(value) - 1) for value in (mean - half, mean, mean + half))
    each = 1000 * jobs * sum(plain for plain, _ in pairs) / cells
    print(f"{cells:,} cells of {each:.1f} ms in {jobs} processes: Ray with a store takes {middle:+.1f} % "
          f"[{low:+.1f}, {high:+.1f}] of the time of plain loops without a store")  # fmt: skip
    print(f"start of Ray: {started:.1f} s, and of its processes {workers_started:.1f} s")


if __name__ == "__main__":
    main()
