"""A scripted target in the real pipeline: order, failures, resume, and each trial stored exactly once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from schedlab.errors import CannotRunHere
from schedlab.execution.loop import execute, pause_of, require_runnable
from schedlab.experiment.load import parse
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import Plan, Trial, plan
from schedlab.findings.run import findings
from schedlab.results.measurement import PARAMETERS, Measurement
from schedlab.store import reader, writer
from schedlab.store.file import open_store
from schedlab.targets.protocol import Download, MissingRequirement
from schedlab.targets.scripted import Scripted
from tests.conftest import TWO_VARIANTS, begin

RunScript = Callable[..., tuple[int, Scripted]]


def noisy(trial: Trial) -> float:
    """A value near 1 s that differs from trial to trial."""
    return 1.0 + 0.001 * ((trial.index * 7919) % 13)


def test_trials_run_in_the_plan_s_order_each_under_its_variant(run_script: RunScript, experiment: Experiment) -> None:
    _, target = run_script(noisy, seed=4)
    trials = [entry for entry in target.log if isinstance(entry, Trial)]
    assert trials == list(plan(experiment, 4).trials)
    for before, after in zip(target.log[::2], target.log[1::2], strict=True):
        assert isinstance(after, Trial)
        assert before == after.variant.name


@pytest.mark.slow
def test_a_scripted_regression_is_worse_and_the_control_is_not(run_script: RunScript, engine: Engine) -> None:
    run_id, _ = run_script(lambda t: noisy(t) * (1.05 if t.variant.name == "changed" else 1.0))
    words = {(v.variant, v.question.parameters): v.word for v in findings(engine, run_id).verdicts}
    assert words[("changed", '{"groups":1}')] == "worse"
    assert words[("changed", '{"groups":4}')] == "worse"
    assert "worse" not in {words[("control", '{"groups":1}')], words[("control", '{"groups":4}')]}


def test_a_failed_trial_is_recorded_and_the_run_continues(run_script: RunScript, engine: Engine) -> None:
    def script(trial: Trial) -> float | Measurement:
        if trial.index == 20:
            return Measurement("failed", 0.0, 1.0, reason="no more processes", stderr="fork: EAGAIN")
        return noisy(trial)

    run_id, _ = run_script(script)
    assert len(writer.done(engine, run_id)) == 54
    assert reader.failures(engine, run_id).row(0, named=True)["reason"] == "no more processes"
    assert "fork: EAGAIN" in next(reader.failed_outputs(engine, run_id))
    assert "failed-trials" in {str(w.kind) for w in findings(engine, run_id).warnings}


def test_a_value_that_is_not_finite_fails_its_trial_by_name(run_script: RunScript, engine: Engine) -> None:
    run_id, _ = run_script(lambda trial: float("inf") if trial.index == 14 else 1.0)
    (failure,) = reader.failures(engine, run_id).iter_rows(named=True)
    assert (failure["position"], failure["state"]) == (14, "failed")
    assert "time of trial 14 (" in failure["reason"]
    assert "is not a finite number: inf" in failure["reason"]


def test_an_interrupt_ends_the_session_and_resume_repeats_warm_up_and_torn_block(
    engine: Engine, experiment: Experiment
) -> None:
    run_plan = plan(experiment, 1)

    def script(trial: Trial) -> float:
        if trial.index == 20:
            raise KeyboardInterrupt
        return 1.0

    target, run_id = Scripted(script), begin(engine, run_plan)
    with pytest.raises(KeyboardInterrupt):
        execute(run_plan, target, engine, run_id, lambda trial, measurement: None)
    assert target.closed
    assert reader.run(engine, run_id).state == "interrupted"
    assert writer.done(engine, run_id) == set(range(20))
    again = Scripted(noisy)
    execute(run_plan, again, engine, run_id, lambda trial, measurement: None)
    # Trials 0 to 5 are the warm-up, trials 18 to 23 the interrupted block.
    assert [entry.index for entry in again.log if isinstance(entry, Trial)] == [*range(6), *range(18, 54)]
    run = reader.run(engine, run_id)
    assert (run.state, run.recorded) == ("complete", 54)
    assert run.notes == ["interrupted after 20 trials; the warm-up and block 3 had to be measured again"]
    with engine.connect() as connection:
        counts = connection.exec_driver_sql(
            "SELECT count(*), sum(superseded) FROM trial JOIN cell ON cell.id = cell_id"
        ).one()
    assert tuple(counts) == (62, 8)


@pytest.mark.slow
def test_a_warm_up_of_a_target_that_does_not_cool_down_is_repeated_only_when_torn(
    engine: Engine, experiment: Experiment
) -> None:
    def resumed(torn_at: int) -> tuple[list[int], list[str]]:
        run_plan = plan(experiment, 1)

        def script(trial: Trial) -> float:
            if trial.index == torn_at:
                raise KeyboardInterrupt
            return 1.0

        run_id = begin(engine, run_plan)
        with pytest.raises(KeyboardInterrupt):
            execute(run_plan, Scripted(script), engine, run_id, lambda trial, measurement: None)
        again = Scripted(noisy)
        again.warms = False
        execute(run_plan, again, engine, run_id, lambda trial, measurement: None)
        return [entry.index for entry in again.log if isinstance(entry, Trial)], reader.run(engine, run_id).notes

    # Trials 0 to 5 are the warm-up, 18 to 23 a block.
    assert resumed(20) == ([*range(18, 54)], ["interrupted after 20 trials; block 3 had to be measured again"])
    assert resumed(3) == ([*range(54)], ["interrupted after 3 trials; the warm-up had to be measured again"])
    assert resumed(18) == ([*range(18, 54)], [])


def test_a_complete_run_has_nothing_to_resume(run_script: RunScript, engine: Engine, experiment: Experiment) -> None:
    run_id, _ = run_script(noisy)
    again = Scripted(noisy)
    execute(plan(experiment, 1), again, engine, run_id, lambda trial, measurement: None)
    assert again.log == []


def test_each_trial_is_committed_before_the_next_begins(engine: Engine, experiment: Experiment) -> None:
    run_plan = plan(experiment, 1)
    run_id = begin(engine, run_plan)
    stored: list[int] = []

    def script(trial: Trial) -> float:
        stored.append(len(writer.done(engine, run_id)))
        return 1.0

    execute(run_plan, Scripted(script), engine, run_id, lambda trial, measurement: None)
    assert stored == list(range(54))


@pytest.mark.slow
def test_kill_9_loses_at_most_the_running_trial(tmp_path: Path) -> None:
    """A process killed in its tenth trial leaves the nine earlier trials in the store."""
    program = textwrap.dedent("""
        import os, signal, sys
        from pathlib import Path
        from schedlab.execution.loop import execute
        from schedlab.experiment.load import parse
        from schedlab.experiment.plan import plan
        from schedlab.store.file import open_store
        from schedlab.targets.scripted import Scripted
        from tests.conftest import TWO_VARIANTS, begin

        def script(trial):
            if trial.index == 9:
                os.kill(os.getpid(), signal.SIGKILL)
            return 1.0

        engine = open_store(Path(sys.argv[1]), create=True)
        made = plan(parse(TWO_VARIANTS, "f"), 1)
        execute(made, Scripted(script), engine, begin(engine, made), lambda trial, measurement: None)
    """)
    store = tmp_path / "store.sqlite"
    root = Path(__file__).parents[2]
    killed = subprocess.run(
        [sys.executable, "-c", program, str(store)],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root)},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    engine = open_store(store, create=False)
    assert writer.done(engine, 1) == set(range(9))
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT state FROM run").scalar_one() == "running"
    assert reader.run(engine, 1).state == "interrupted"


def test_a_plan_that_cannot_run_is_refused_with_every_reason_before_the_first_trial(experiment: Experiment) -> None:
    target = Scripted(
        noisy,
        [MissingRequirement("tunable 'a'", "locked down", "use a VM"), MissingRequirement("workload 'b'", "no tool")],
    )
    with pytest.raises(CannotRunHere) as caught:
        require_runnable(plan(experiment, 1), target)
    assert all(words in str(caught.value) for words in ("locked down", "use a VM", "no tool"))
    assert caught.value.exit_code == 3
    assert target.log == []


class Lacking(Scripted):
    """A target that needs a download. The target reports its ``hidden`` requirements only after the download."""

    hidden: Sequence[MissingRequirement] = ()

    def downloads(self) -> Sequence[Download]:
        return [] if "fetched" in self.log else [Download("a kernel of 34 MB", lambda: self.log.append("fetched"))]

    def missing_requirements(self, plan: Plan) -> Sequence[MissingRequirement]:
        return self.hidden if "fetched" in self.log else self._missing


def test_a_download_is_announced_and_requirements_are_checked_again_after_it(experiment: Experiment) -> None:
    target, announced = Lacking(noisy), list[str]()
    require_runnable(plan(experiment, 1), target, announced.append)
    assert (announced, target.log) == (["a kernel of 34 MB"], ["fetched"])
    target = Lacking(noisy)
    target.hidden = [MissingRequirement("variant 'b'", "its kernel has no such tunable")]
    with pytest.raises(CannotRunHere, match="no such tunable"):
        require_runnable(plan(experiment, 1), target)


def test_nothing_is_downloaded_when_another_requirement_is_missing(experiment: Experiment) -> None:
    target = Lacking(noisy, [MissingRequirement("QEMU", "is not installed")])
    with pytest.raises(CannotRunHere, match="is not installed"):
        require_runnable(plan(experiment, 1), target)
    assert target.log == []


def test_doubtful_boot_parameters_are_warnings_of_the_report(engine: Engine, experiment: Experiment) -> None:
    run_plan, target = plan(experiment, 1), Scripted(noisy)
    target.notes = [f"{PARAMETERS}variant 'changed': not checked: a.b=1", "schedstats are off"]
    run_id = begin(engine, run_plan)
    execute(run_plan, target, engine, run_id, lambda trial, measurement: None)
    (warning,) = [each for each in findings(engine, run_id).warnings if each.kind == "boot-parameters"]
    assert warning.seen == "variant 'changed': not checked: a.b=1"
    assert "kernel-parameters.txt" in warning.todo


def test_the_pause_follows_the_setup_of_a_variant_and_precedes_its_trial(
    engine: Engine, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = experiment.design.model_copy(update={"pause": 11.0, "blocks": 2})
    run_plan = plan(experiment.model_copy(update={"design": design}), seed=3)
    target = Scripted(lambda trial: 1.0)
    monkeypatch.setattr(time, "sleep", lambda seconds: target.log.append(f"slept {seconds:g} s"))
    run_id = begin(engine, run_plan)
    execute(run_plan, target, engine, run_id, lambda trial, measurement: None)
    assert target.log == [step for trial in run_plan.trials for step in (trial.variant.name, "slept 11 s", trial)]


def test_a_machine_that_is_lost_ends_the_run_with_its_own_error(engine: Engine, experiment: Experiment) -> None:
    class Lost(Scripted):
        def changes(self, fingerprint: Mapping[str, Any]) -> Sequence[str]:
            raise CannotRunHere("no answer in 60 s")

    def lose(trial: Trial) -> float:
        raise CannotRunHere("the connection is lost")

    run_plan = plan(experiment, 1)
    run_id = begin(engine, run_plan)
    with pytest.raises(CannotRunHere, match="the connection is lost"):
        execute(run_plan, Lost(lose), engine, run_id, lambda trial, measurement: None)
    run = reader.run(engine, run_id)
    assert run.state == "interrupted"
    assert "whether the machine changed during the run is not known: no answer in 60 s" in run.notes


def test_only_trials_on_a_real_machine_have_pauses() -> None:
    run_plan = plan(parse(TWO_VARIANTS.replace("blocks = 8", 'blocks = 8\npause = "2s"'), "f"), 1)
    target = Scripted(lambda trial: 1.0)
    assert pause_of(run_plan, target) == 2.0
    target.virtual = True
    assert pause_of(run_plan, target) == 0.0
