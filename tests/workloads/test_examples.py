"""The experiments that repeat reports 000 to 004: each loads, can reach a verdict, and has a quick form."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.execution.design_size import quick
from schedlab.execution.estimate import estimate
from schedlab.experiment.load import load
from schedlab.experiment.plan import plan
from schedlab.workloads.registry import adapter

NAMES = ("schedstats", "settings-stack", "vmstat", "migration-cost-pgbench-tbench", "numa-slow-start")
"""One example for each report, in the order of the reports."""
EXAMPLES = [Path(__file__).parents[2] / "examples" / f"{name}.toml" for name in NAMES]
QUICK_SECONDS = 330
"""Limit of a quick run: about five minutes on two CPUs."""


def test_there_is_one_example_for_each_report() -> None:
    assert all(path.is_file() for path in EXAMPLES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_whole_experiment_can_reach_a_verdict(path: Path) -> None:
    experiment, _ = load(path)
    planned = plan(experiment, 1)
    assert planned.experiment.experiment.question.endswith("?")
    assert experiment.design.blocks >= quick(experiment).design.blocks
    for row in planned.rows:
        workload = adapter(row.use)
        assert workload.seconds(workload.parameters.model_validate(row.parameters)) < row.timeout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_quick_experiment_takes_about_five_minutes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})
    experiment, _ = load(path)
    planned = plan(quick(experiment), 1, quick=True)
    assert estimate(planned, None).seconds < QUICK_SECONDS
    assert len(planned.rows) < 10
