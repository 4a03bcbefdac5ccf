"""The words of runs that failed in part or were interrupted."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from schedlab.experiment.load import parse
from schedlab.experiment.plan import Trial, plan
from schedlab.findings.run import Findings, findings
from schedlab.results.measurement import Measurement
from schedlab.results.metrics import Metric, MetricSpec
from schedlab.store import writer
from tests.conftest import TWO_VARIANTS, begin

pytestmark = pytest.mark.slow

TEXT = TWO_VARIANTS.replace("blocks = 8", "blocks = 12\niterations = 2") + '[analysis]\ncorrection = "holm"\n'
PLAN = plan(parse(TEXT, "f"), 1)
TIME = MetricSpec("time", "s", "lower")

Script = Callable[[Trial], float | None]
"""Value of a trial; None for a failed trial."""


def noise(trial: Trial) -> float:
    return 1.0 + 0.0005 * ((trial.index * 7919) % 13)


def slower(trial: Trial) -> float:
    """A change of 10 %, far beyond the noise."""
    return noise(trial) * (1.1 if trial.variant.name == "changed" else 1.0)


def failing(count: int) -> Script:
    """``slower``, but the variant's first trials of the first row fail."""
    trials = [t for t in PLAN.trials if t.phase == "measure" and t.variant.name == "changed"]
    row = trials[0].row.parameters_json
    failed = {t.index for t in [t for t in trials if t.row.parameters_json == row][:count]}
    return lambda trial: None if trial.index in failed else slower(trial)


def report(engine: Engine, script: Script, last: int = 12) -> Findings:
    """Write a run up to the middle of block ``last`` + 1, and judge the run."""
    run = begin(engine, PLAN, TEXT)
    cut = [trial.index for trial in PLAN.trials if trial.block == last + 1]
    for trial in PLAN.trials[: cut[len(cut) // 2] if cut else None]:
        value = script(trial)
        metrics = [] if value is None else [Metric(TIME, value)]
        writer.record(engine, run, trial, Measurement("ok" if metrics else "failed", 1.0, 0.5, metrics))
    writer.end(engine, run, "complete" if last == 12 else "interrupted")
    return findings(engine, run)


def words(result: Findings) -> list[str]:
    return [str(verdict.word) for verdict in result.verdicts if verdict.variant == "changed"]


@pytest.mark.parametrize(
    ("script", "last", "expected", "reason"),
    [
        (slower, 12, ["worse", "worse"], ""),
        (noise, 12, ["equivalent", "equivalent"], ""),
        # One failed trial of 24 is tolerated: with the worst value in its place, the word would be the same.
        (failing(1), 12, ["worse", "worse"], ""),
        # Three failed trials of 24 are too many: no figure of the other trials can give a verdict.
        (failing(3), 12, ["inconclusive", "worse"], "3 of 24 trials of changed failed or lack time"),
        # An interrupted run spends α as at an interim analysis.
        (slower, 6, ["inconclusive", "inconclusive"], "at the interim analysis after block 6"),
        (slower, 9, ["worse", "worse"], ""),
        # Equal values show no step of the metric.
        (lambda trial: 100 / 3, 12, ["inconclusive", "inconclusive"], "the steps of time are unknown"),
    ],
    ids=["clear", "unchanged", "failed", "failed-often", "interrupted-early", "interrupted-late", "equal"],
)
def test_a_partial_run_has_these_words(
    engine: Engine, script: Script, last: int, expected: list[str], reason: str
) -> None:
    result = report(engine, script, last)
    assert words(result) == expected
    assert {verdict.n for verdict in result.verdicts} <= {last, last - 1}
    reasons = [verdict.reason for verdict in result.verdicts if verdict.variant == "changed" and verdict.reason]
    assert bool(reasons) == bool(reason)
    assert not reasons or reason in reasons[0]
