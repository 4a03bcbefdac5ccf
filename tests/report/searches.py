"""Answers of searches, made by the real pipeline from scripted trials."""

from __future__ import annotations

import random
from pathlib import Path

from schedlab.execution.loop import execute
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Trial
from schedlab.experiment.sweep import sweep
from schedlab.findings.sweep import SweepFindings, sweep_findings
from schedlab.report.answer import Answer
from schedlab.report.answers import sweep as of_sweep
from schedlab.results.measurement import Measurement
from schedlab.store import writer
from schedlab.store.file import open_store
from schedlab.targets.scripted import Script, Scripted

SWEEP = """
[experiment]
name = "where"
question = "Does the migration cost matter?"
[target]
kind = "sim"
machine = "laptop-4"
[design]
blocks = 3
warmup = 0
[sweep.factors]
"sched.migration_cost_ns" = ["0.1ms", "2ms"]
"workload.groups" = [1, 2, 4]
[[variant]]
name = "default"
[[workload]]
use = "hackbench"
loops = 5
"""
"""Two factors; the number of groups decides."""


def sweep_answer(folder: Path) -> Answer:
    """Answer of a sweep."""
    return of_sweep.compose(sweep_found(folder))


def sweep_found(folder: Path, script: Script | None = None) -> SweepFindings:
    """Findings of a sweep, by default of :func:`by_groups`."""
    whole = sweep(parse(SWEEP, "sweep.toml"), 3)
    engine = open_store(folder / "sweep.sqlite", create=True)
    new = writer.NewRun(whole.plan, "sim", "simulated", False, SWEEP, "sweep.toml", {}, "scripted", sweep=True)
    run = writer.begin(engine, new)
    execute(whole.plan, Scripted(script or by_groups), engine, run, lambda trial, measured: None)
    return sweep_findings(engine, run)


def by_groups(trial: Trial) -> float | Measurement:
    """The number of groups in seconds, with noise of 1 %."""
    groups = trial.row.parameters["groups"]
    assert isinstance(groups, int)
    return groups * random.Random(trial.index).lognormvariate(0, 0.01)
