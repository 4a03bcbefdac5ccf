"""Answers of the simulator's commands, made by the real pipeline from simulated and scripted trials."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from schedlab.execution.loop import execute
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Trial, plan
from schedlab.findings import twin
from schedlab.findings.prediction import Backtest, predictions
from schedlab.findings.run import findings
from schedlab.report.answer import Answer
from schedlab.report.answers import prediction, reproduction, simulation
from schedlab.report.answers import twin as of_twin
from schedlab.reproduction.published import report
from schedlab.reproduction.result import Reproduction, Reproductions
from schedlab.reproduction.simulated import Figures, Simulated
from schedlab.simulation import models
from schedlab.simulation.programs import program
from schedlab.simulation.run import Simulation
from schedlab.simulation.settings import Settings
from schedlab.simulation.summary import summary
from schedlab.store import reader, writer
from schedlab.store.file import open_store
from schedlab.targets.scripted import Scripted
from schedlab.targets.selection import choose

FILE = """
[experiment]
name = "pinning"
[design]
blocks = 6
seed = 7
control = false
warmup = 0
[[variant]]
name = "base"
[[variant]]
name = "pinned"
cpus = "0"
[[variant]]
name = "batch"
policy = "batch"
[[workload]]
use = "pipetest"
loops = [100, 200, 300, 400, 500]
"""


def pair_of_runs(folder: Path) -> Path:
    """Return a store with two runs of one file: run 1 simulated, run 2 scripted in place of a machine."""
    path, store = folder / "e.toml", folder / "s.sqlite"
    path.write_text(FILE)
    engine = open_store(store, create=True)
    experiment = parse(FILE, "f")
    trials = plan(experiment, 7)
    model = choose("sim:laptop-4/linux-6.12", experiment)
    where = (model.name, model.kind, False, FILE, str(path), model.fingerprint())
    number = writer.begin(engine, writer.NewRun(trials, *where, model.fingerprint_hash(model.fingerprint())))
    execute(trials, model, engine, number, lambda trial, measurement: None)
    levels = _means(store)

    def measured(trial: Trial) -> float:
        noise = 1 + 0.001 * ((trial.index * 7919) % 13)
        return levels[trial.variant.name, trial.row.parameters_json] * noise * 1.25

    number = writer.begin(
        engine,
        writer.NewRun(trials, "host", "real", False, FILE, str(path), {"kernel": {"release": "6.12.1"}}, "machine"),
    )
    execute(trials, Scripted(measured), engine, number, lambda trial, measurement: None)
    return store


def _means(store: Path) -> dict[tuple[str, str], float]:
    values = findings(open_store(store, create=False), 1).values.filter(pl.col("metric") == "latency-p50")
    groups = values.group_by("variant", "parameters").agg(pl.col("value").mean())
    return {(row["variant"], row["parameters"]): row["value"] for row in groups.iter_rows(named=True)}


def reproduced(name: str, factor: float = 1.0, error: float = 0.01, blocks: int = 4) -> Reproduction:
    """Return a reproduction whose simulated gains are the published gains times a factor."""
    effects = [
        replace(each, simulated=Simulated(each.published.gain * factor, error, 1.0, blocks))
        for each in Figures({}).comparisons(report(name))
    ]
    return Reproduction(name, report(name), (), effects, [])


def answers(folder: Path) -> list[Answer]:
    """Return an answer of each kind; ``folder`` is empty."""
    engine = open_store(pair_of_runs(folder), create=False)
    compared = twin.of_runs(engine, reader.run(engine, 2), reader.run(engine, 1))
    predicted = predictions(findings(engine, 1), Backtest.of([compared]))
    machine, kernel = models.machine("laptop-4"), models.kernel(models.DEFAULT_KERNEL)
    simulated = Simulation(machine, kernel, program("pipetest", {"loops": 100}, machine.cpus), Settings())
    return [
        of_twin.compose(compared, []),
        prediction.compose(predicted, "laptop-4", []),
        reproduction.compose(Reproductions([reproduced("schedstats"), reproduced("vmstat", 0.5)]), []),
        simulation.compose(summary(simulated, simulated.run())),
    ]
