"""Answers of searches, made by the real pipeline from scripted trials."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from math import inf, log1p
from pathlib import Path

import numpy as np
from sqlalchemy import Engine

from schedlab.execution.bisection import Bisection, Times, bisection, times
from schedlab.execution.campaign import measure_blocks
from schedlab.execution.loop import execute
from schedlab.execution.search import Budget, search
from schedlab.execution.tuning import Confirmed, SearchedPoint, Tuning
from schedlab.experiment.candidates import propose
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Plan, Trial, of_one_row, plan, rows, variants
from schedlab.experiment.states import of_file
from schedlab.experiment.sweep import sweep
from schedlab.experiment.sweep_table import Factor
from schedlab.findings.campaign import Standing, standing
from schedlab.findings.run import findings
from schedlab.findings.sweep import SweepFindings, sweep_findings
from schedlab.report.answer import Answer
from schedlab.report.answers import bisect as of_bisection
from schedlab.report.answers import judge as of_campaign
from schedlab.report.answers import sweep as of_sweep
from schedlab.report.answers import tune as of_tune
from schedlab.results.measurement import Measurement
from schedlab.store import campaigns, reader, writer
from schedlab.store.design import Purpose
from schedlab.store.file import open_store
from schedlab.targets.scripted import Script, Scripted
from tests.conftest import TWO_VARIANTS

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
    new = writer.NewRun(whole.plan, "sim", "simulated", False, SWEEP, "sweep.toml", {}, "scripted", Purpose(sweep=True))
    run = writer.begin(engine, new)
    execute(whole.plan, Scripted(script or by_groups), engine, run, lambda trial, measured: None)
    return sweep_findings(engine, run)


def by_groups(trial: Trial) -> float | Measurement:
    """The number of groups in seconds, with noise of 1 %."""
    groups = trial.row.parameters["groups"]
    assert isinstance(groups, int)
    return groups * random.Random(trial.index).lognormvariate(0, 0.01)


BISECTION = """
[experiment]
name = "slower"
question = "Which state is slower?"
[design]
warmup = 0
[[workload]]
use = "hackbench"
groups = 1
""" + "".join(
    f'[[variant]]\nname = "s{index}"\nnice = {index}\ndescription = "change {index}"\n' for index in range(12)
)


def bisection_answer(folder: Path, blocks: int = 200) -> Answer:
    """Answer of a bisection of twelve states, the eighth of which is slower; undecided after few blocks."""
    result, times = bisection_found(folder, blocks)
    return of_bisection.compose(result, times)


def bisection_found(folder: Path, blocks: int = 200, script: Script | None = None) -> tuple[Bisection, Times]:
    """Result of a bisection, by default of :func:`slower_from_7`, and its times."""
    experiment, text = of_file(BISECTION, "states.toml", None, None)
    trials = Plan(experiment, 3, variants(experiment), rows(experiment), ())
    engine = open_store(folder / "bisection.sqlite", create=True)
    new = writer.NewRun(
        trials, "scripted", "scripted", False, text, "states.toml", {}, "scripted", Purpose(bisection=True)
    )
    run = writer.begin(engine, new)
    search(trials, Scripted(script or slower_from_7), engine, run, Budget(blocks, inf), lambda *_: None, lambda _: "")
    result = bisection(engine, run)
    return result, times(engine, result.run)


def slower_from_7(trial: Trial) -> float | Measurement:
    """10 % more from the state s7 on, with noise of 1 %."""
    changed = int(trial.variant.name.removeprefix("s")) >= 7
    return random.Random(trial.index).lognormvariate(0, 0.01) * (1.1 if changed else 1.0)


CAMPAIGN = TWO_VARIANTS.replace('[[variant]]\nname = "changed"\nnice = 1\n', "").replace("[1, 4]", "1")
CHANGES = {"b": 0.8, "w": 1.3, "o": 1.0}
"""Time of each candidate of a campaign, as a part of the baseline's."""


def campaign_found(folder: Path, blocks: int = 12) -> tuple[Engine, Standing]:
    """A campaign with a better and a worse candidate, and a candidate that has too few blocks."""
    engine = open_store(folder / "campaign.sqlite", create=True)
    opened = campaigns.Campaign("c", 0.05, 0.01, blocks, CAMPAIGN, "base.toml")
    campaign = campaigns.campaign(engine, campaigns.open_campaign(engine, opened))
    for nice, name in enumerate(CHANGES, 1):
        text = f'name = "{name}"\nnice = {nice}'
        proposal = propose(campaign.experiment_file, text, name, name, campaign.alpha, campaign.delta)
        candidate = campaigns.candidate(engine, campaign.id, proposal.content, proposal.name)
        trials = of_one_row(proposal.experiment, 3)
        content = proposal.content
        new = writer.NewRun(
            trials, "scripted", "scripted", False, proposal.text, "f", {}, "", Purpose(candidate=content)
        )
        candidate = replace(candidate, run_id=writer.begin(engine, new))
        campaigns.set_run(engine, candidate.id, candidate.run_id, "run_id")
        most = blocks if name != "o" else 3
        measure_blocks(trials, Scripted(by_candidate), engine, campaign, candidate, most, lambda trial, measured: None)
    return engine, standing(engine, campaign)


def campaign_answer(folder: Path) -> Answer:
    """Answer on all candidates of :func:`campaign_found`."""
    return of_campaign.compose_status(campaign_found(folder)[1])


def by_candidate(trial: Trial) -> float | Measurement:
    """The change of the candidate, with noise of 1 %."""
    return random.Random(trial.index).lognormvariate(0, 0.01) * CHANGES.get(trial.variant.name, 1.0)


TUNING = TWO_VARIANTS.replace("changed", "winner").replace("nice = 1", "").replace("[1, 4]", "1")
COST = Factor("sched.migration_cost_ns", (), 1_000, 5_000_000, log=True)
GAINS = (0.1, 0.2, -0.05)
"""Gain of each point of a search, a log-ratio."""


def tune_answer(folder: Path) -> Answer:
    """Answer of a search whose winner is confirmed."""
    found = tune_found(folder)
    return of_tune.compose(found, tune_confirmed(folder, 0.9), ())


def tune_found(folder: Path, gains: Sequence[float] = GAINS, limit: float | None = None) -> Tuning:
    """A search with a point for each gain in time, in two blocks each; ``limit`` is the gain of all points in a
    constraint."""
    engine = open_store(folder / "tune.sqlite", create=True)
    new = writer.NewRun(plan(parse(TUNING, "tune.toml"), 3), "sim", "simulated", False, TUNING, "tune.toml", {}, "",
                        Purpose(tuning="random"))  # fmt: skip
    run = reader.run(engine, writer.begin(engine, new))
    time = run.design.questions[0]
    latency = replace(time, metric="latency", unit="ms")
    points = tuple(
        SearchedPoint(
            {COST.name: 1_234 * 3**place},
            {time.metric: np.full(2, gain), **({} if limit is None else {"latency": np.full(2, limit)})},
        )
        for place, gain in enumerate(gains)
    )
    constraints = () if limit is None else (latency,)
    return Tuning(run, {COST.name: COST}, (time,), constraints, log1p(run.design.delta), points, 2)


def tune_confirmed(folder: Path, factor: float) -> Confirmed:
    """The confirmation of a winner whose time is this part of the default's."""

    def script(trial: Trial) -> float:
        return random.Random(trial.index).lognormvariate(0, 0.01) * (factor if trial.variant.name == "winner" else 1)

    engine = open_store(folder / "confirmation.sqlite", create=True)
    trials = plan(parse(TUNING, "tune.toml"), 5)
    run = writer.begin(engine, writer.NewRun(trials, "scripted", "scripted", False, TUNING, "tune.toml", {}, ""))
    execute(trials, Scripted(script), engine, run, lambda trial, measured: None)
    verdicts = [verdict for verdict in findings(engine, run).verdicts if not verdict.control]
    return Confirmed(2, 1, 0.04, [verdicts])
