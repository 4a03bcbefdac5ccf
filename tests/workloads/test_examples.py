"""The ready experiments: each loads, whole and quick, and needs nothing that the documentation does not name."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.execution.estimate import estimate
from schedlab.experiment.load import load
from schedlab.experiment.plan import plan
from schedlab.experiment.size import quick
from schedlab.workloads.registry import adapter

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("seed-*.toml"))
QUICK_SECONDS = 330
"""About five minutes on two CPUs."""


def test_there_is_one_for_each_report() -> None:
    assert [path.name[5:8] for path in EXAMPLES] == ["000", "001", "002", "003", "004"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_whole_experiment_can_reach_a_verdict(path: Path) -> None:
    experiment, _ = load(path)
    made = plan(experiment, 1)
    assert made.experiment.experiment.question.endswith("?")
    assert experiment.design.blocks >= quick(experiment).design.blocks
    for row in made.rows:
        found = adapter(row.use)
        assert found.seconds(found.parameters.model_validate(row.parameters)) < row.timeout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_quick_one_takes_about_five_minutes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})
    experiment, _ = load(path)
    made = plan(quick(experiment), 1, quick=True)
    assert estimate(made, None).seconds < QUICK_SECONDS
    assert len(made.rows) < 10
