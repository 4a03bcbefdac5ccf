"""Write a store of synthetic runs: nightly measurements of three machines, with noise and planted changes of level.

    .venv/bin/python benches/synthetic_store.py STORE [RUNS]

The figures are drawn from random numbers with a fixed seed, and the runs are of kind 'synthetic'.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import select, update

from schedlab.experiment.load import parse
from schedlab.experiment.plan import Plan, Trial, plan
from schedlab.results.measurement import Measurement
from schedlab.results.metrics import Metric, MetricSpec
from schedlab.store import schema, writer
from schedlab.store.checksums import sealed
from schedlab.store.file import open_store

TEXT = """
[experiment]
name = "nightly"
question = "Has anything changed since yesterday?"

[design]
blocks = 6

[[variant]]
name = "default"

[[variant]]
name = "batch"
policy = "batch"

[[workload]]
use = "hackbench"
groups = [1, 4]
"""
TIME = MetricSpec("time", "s", "lower")
MACHINES = ("rack-1", "rack-2", "laptop")
FIRST = 1_600_000_000.0
"""Start of the first run: 2020-09-13."""
DAY = 86_400.0
CHANGES = {"rack-1": {0.5: 0.08}, "rack-2": {0.3: -0.05, 0.7: 0.04}, "laptop": {}}
"""Machine → place in the series → change of the logarithm of the level."""


def write(path: Path, runs: int) -> None:
    """Write a new store with this many runs."""
    engine = open_store(path, create=True)
    random = np.random.default_rng(1)
    each = max(runs // len(MACHINES), 1)
    for number in range(runs):
        machine, index = MACHINES[number % len(MACHINES)], number // len(MACHINES)
        shift = sum(size for place, size in CHANGES[machine].items() if index >= place * each)
        run_plan = plan(parse(TEXT, "nightly.toml"), number)
        facts: dict[str, Any] = {
            "cpu": {"model": "synthetic"}, "topology": {"cpus": 8}, "memory_kib": 16 << 20,
            "kernel": {"release": f"6.{number * 12 // runs}.{index % 20}", "hostname": machine},
        }  # fmt: skip
        new = writer.NewRun(run_plan, "host", "synthetic", False, TEXT, "nightly.toml", facts, machine)
        run_id = writer.begin(engine, new)
        began = FIRST + DAY * index
        writer.record_all(engine, run_id, _trials(run_plan, shift, began, random))
        writer.end(engine, run_id, "complete")
        with engine.begin() as connection:
            r = schema.run.c
            row = connection.execute(select(schema.run).where(r.id == run_id)).mappings().one()
            values = sealed("run", {**row, "started": began, "finished": began + 60})
            connection.execute(update(schema.run).where(r.id == run_id).values(values))


def _trials(
    run_plan: Plan, shift: float, began: float, random: np.random.Generator
) -> Iterator[tuple[Trial, Measurement]]:
    of_run = random.normal(0, 0.01)
    for trial in run_plan.trials:
        level = 0.2 * trial.row.parameters["groups"] * exp(shift + of_run + random.normal(0, 0.02))
        yield trial, Measurement("ok", began + trial.index, 1.0, [Metric(TIME, level)])


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10_000)
