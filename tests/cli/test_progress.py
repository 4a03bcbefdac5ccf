"""The progress of a run without a terminal."""

from __future__ import annotations

import io
import re

import pytest

from schedlab.cli.appearance import appearance
from schedlab.cli.console import Console
from schedlab.cli.progress import shown
from schedlab.execution.estimate import Estimate, estimate
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import Trial, plan
from schedlab.notation.units import format_time
from schedlab.results.measurement import Measurement
from schedlab.results.metrics import Metric, MetricSpec


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


def test_the_time_of_a_simulation_is_not_guessed_before_its_first_trial(experiment: Experiment) -> None:
    run_plan, out = plan(experiment, 1), io.StringIO()
    console = Console(file=out, width=200, force_terminal=False)
    for virtual in (True, False):
        with shown(console, run_plan, estimate(run_plan, None, virtual=virtual)):
            pass
    simulated, real = out.getvalue().splitlines()
    assert simulated.endswith("not known before the first trials")
    assert "about" in real


def test_verbose_progress_names_workload_variant_and_the_change_so_far(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(appearance, "verbose", True)
    run_plan, out = plan(experiment, 1), io.StringIO()
    with shown(Console(file=out, width=100, force_terminal=False), run_plan, Estimate(1, "a guess")) as on_trial:
        for trial in run_plan.trials:
            on_trial(trial, None)
            on_trial(trial, measured(trial))
    lines = out.getvalue().splitlines()
    assert f"  {run_plan.rows[0]}  changed  time +50.0 %" in lines
    assert f"  {run_plan.rows[0]}  base" in lines


@pytest.mark.parametrize("width", [80, 120])
def test_the_bar_uses_the_width_of_the_terminal(experiment: Experiment, width: int) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out, run_plan = Terminal(), plan(experiment, 1)
    console = Console(file=out, width=width, force_terminal=True, color_system=None, markup=False, highlight=False)
    with shown(console, run_plan, Estimate(1, "a guess")) as on_trial:
        for trial in run_plan.trials:
            on_trial(trial, None)
            on_trial(trial, measured(trial))
    drawn = [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line).strip("\r\n") for line in re.split(r"[\r\n]", out.getvalue())]
    bars = [line for line in drawn if "block 8/8" in line]
    assert {len(line) for line in bars} == {width}
    assert any(line.startswith("block 8/8 · changed · time +50.0 %") and line.endswith("left") for line in bars), bars
    assert any(str(run_plan.rows[1]) in line for line in bars)


def measured(trial: Trial) -> Measurement:
    spec = MetricSpec("time", "s", "lower")
    value = 1.5 if trial.variant.name == "changed" else 1.0
    return Measurement("ok", 0.0, 1.0, [Metric(spec, value * (1 + trial.block / 100))])
