"""Measure the overhead of Ray in a sweep: cells in two plain loops, and in tasks of Ray with a store, alternated.

    .venv/bin/python -m benches.sweep_ray [--cells 5000] [--rounds 10] [--jobs 2]

The sweep is migration cost × clients × machine under ten seeds (tbench-native, some tens of milliseconds a cell). In
each round, every plain loop simulates its part of the round's cells in a process of its own and stores nothing; Ray
gets the same cells in chunks as 'schedlab sweep --ray local' does, and this process stores them. The order alternates.
The start of Ray is measured separately. The CPU time is that of this process and all its descendants: on a machine with
other work it is more exact than the elapsed time, but it does not contain the time in which a worker waits.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from math import exp, log, sqrt
from multiprocessing import get_context
from pathlib import Path

from scipy.stats import t as student

from schedlab.execution import workers
from schedlab.execution.cells import measured
from schedlab.execution.sweep import Chunks
from schedlab.experiment.load import parse
from schedlab.experiment.sweep import sweep
from schedlab.store import reader, writer
from schedlab.store.design import Purpose
from schedlab.store.file import open_store

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
        purpose = Purpose(sweep=True)
        new = writer.NewRun(whole.plan, "sim", "simulated", False, EXPERIMENT, "bench", {}, "bench", purpose)
        run_id = writer.begin(engine, new)
        work = partial(measured, EXPERIMENT, SEED, run_id)

        def plain(cells: Sequence[int]) -> None:
            list(pool.map(work, [cells[start::jobs] for start in range(jobs)]))

        def tasks(cells: Sequence[int]) -> None:
            chunks = Chunks.of(cells)
            for chunk, results in workers.ray_tasks(ray, work, chunks.next):
                assert results is not None
                writer.record_all(engine, run_id, zip((trials[index] for index in chunk), results, strict=True))
                chunks.add(results)

        began = time.perf_counter()
        warm_up = range(arguments.cells, min(arguments.cells + 2 * jobs, len(whole.plan.trials)))
        list(workers.ray_tasks(ray, work, Chunks.of(warm_up or rounds[0][:2]).next))
        workers_started = time.perf_counter() - began
        plain(rounds[0][: 2 * jobs])
        rounds_spent = []
        for number, cells in enumerate(rounds):
            order = (plain, tasks) if number % 2 else (tasks, plain)
            spent = {function: _spent(function, cells) for function in order}
            rounds_spent.append((spent[plain], spent[tasks]))
            (plain_s, plain_cpu), (ray_s, ray_cpu) = spent[plain], spent[tasks]
            print(f"round {number + 1}: {len(cells)} cells, plain {plain_s:.2f} s ({plain_cpu:.2f} s of CPU time), "
                  f"Ray {ray_s:.2f} s ({ray_cpu:.2f})", flush=True)  # fmt: skip
        assert len(reader.run(engine, run_id).notes) == 0
        assert writer.done(engine, run_id) == set(range(len(trials)))
    ray.shutdown()
    _print(rounds_spent, len(trials), jobs)
    print(f"start of Ray: {started:.1f} s, and of its processes {workers_started:.1f} s")


def _spent(function: Callable[[Sequence[int]], None], cells: Sequence[int]) -> tuple[float, float]:
    """Return the elapsed seconds, and the seconds of CPU time of this process and its descendants."""
    began, cpu = time.perf_counter(), _cpu_seconds()
    function(cells)
    return time.perf_counter() - began, _cpu_seconds() - cpu


def _cpu_seconds() -> float:
    """Return the CPU time of this process and its descendants, dead and alive (proc_pid_stat(5))."""
    ticks, parents = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            parents[int(folder.name)] = int(fields[1])
            ticks[int(folder.name)] = sum(map(int, fields[11:15]))
    family, added = {os.getpid()}, {os.getpid()}
    while added:
        added = {pid for pid, parent in parents.items() if parent in added} - family
        family |= added
    return sum(ticks.get(pid, 0) for pid in family) / os.sysconf("SC_CLK_TCK")


def _print(rounds: Sequence[tuple[tuple[float, float], tuple[float, float]]], cells: int, jobs: int) -> None:
    each = 1000 * sum(plain[1] for plain, _ in rounds) / cells
    print(f"{cells:,} cells of {each:.1f} ms in {jobs} processes: Ray with a store takes, "
          "of plain loops without a store,")  # fmt: skip
    for place, name in enumerate(("elapsed time", "CPU time")):
        print(f"  {name} {_change([(plain[place], tasks[place]) for plain, tasks in rounds])}")


def _change(pairs: Sequence[tuple[float, float]]) -> str:
    """Return the mean change with its interval of 95 % (Student's t of the log-ratios)."""
    logs = [log(tasks / plain) for plain, tasks in pairs]
    mean, error = statistics.fmean(logs), statistics.stdev(logs) / sqrt(len(logs)) if len(logs) > 1 else 0.0
    half = float(student.ppf(0.975, max(len(logs) - 1, 1))) * error
    low, middle, high = (100 * (exp(value) - 1) for value in (mean - half, mean, mean + half))
    return f"{middle:+.1f} % [{low:+.1f}, {high:+.1f}]"


if __name__ == "__main__":
    main()
