"""The progress of a run without a terminal."""

from __future__ import annotations

import io

import pytest

from schedlab.cli.console import Console
from schedlab.cli.progress import shown
from schedlab.execution.estimate import Estimate
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import plan
from schedlab.notation.units import format_time
from schedlab.results.measurement import Measurement


def test_from_the_second_stage_on_the_time_left_comes_from_the_trials(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    run_plan, out = plan(experiment, 1), io.StringIO()
    guess = Estimate(7200, "a guess")
    with shown(Console(file=out, width=100, force_terminal=False), run_plan, guess) as on_trial:
        for trial in run_plan.trials:
            on_trial(trial, None)
            clock[0] += 3
            on_trial(trial, Measurement("failed", clock[0], 3.0, reason="no\nuse"))
    lines = [line for line in out.getvalue().splitlines() if not line.startswith("failed:")]
    first = next(trial for trial in run_plan.trials if trial.phase != "warmup")
    left = 3 * (len(run_plan.trials) - first.index)
    assert lines[0].endswith("about 2 h 0 min (a guess)"), lines
    assert lines[1] == "warm-up"
    assert lines[2] == f"block {first.block}, about {format_time(left)} left"
    assert sum(line.startswith("failed:") for line in out.getvalue().splitlines()) == len(run_plan.trials)
