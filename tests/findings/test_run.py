"""From experiment file to findings on a scripted target: stacks, factorials, sequential runs, the bootstrap."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
import pytest
from sqlalchemy import Engine

from schedlab.analysis.bootstrap import bca
from schedlab.analysis.sequential import nominal
from schedlab.analysis.warnings import Kind
from schedlab.execution.loop import execute
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Trial, plan
from schedlab.findings.run import counter_changes, findings
from schedlab.results.imported import Import, Series
from schedlab.results.kinds import DETERMINISTIC, REAL, SIMULATED
from schedlab.results.measurement import Measurement
from schedlab.results.metrics import Metric
from schedlab.store import reader
from schedlab.store.columns import sample_table, variants_of
from schedlab.store.imports import record_imports
from schedlab.targets.scripted import Scripted
from tests.conftest import TWO_VARIANTS, begin, edit_run

pytestmark = pytest.mark.slow

RunScript = Callable[..., tuple[int, Scripted]]


def noise(trial: Trial) -> float:
    """A value within 0.6 % of 1 that differs from trial to trial."""
    return 1.0 + 0.0005 * ((trial.index * 7919) % 13)


def interrupted(engine: Engine, text: str, stop: Callable[[Trial], bool]) -> int:
    """Run a script with a clear change until the first trial for which ``stop`` is true; return the run's number."""
    run_plan = plan(parse(text, "f"), 1)

    def script(trial: Trial) -> float:
        if stop(trial):
            raise KeyboardInterrupt
        return noise(trial) * (1.5 if trial.variant.name == "changed" else 1.0)

    run_id = begin(engine, run_plan, text)
    with pytest.raises(KeyboardInterrupt):
        execute(run_plan, Scripted(script), engine, run_id, lambda trial, measurement: None)
    return run_id


TWENTY = TWO_VARIANTS.replace("blocks = 8", "blocks = 20")


def last_of_block(block: int) -> int:
    """Return the index of the block's last trial in the plan of TWENTY."""
    return max(trial.index for trial in plan(parse(TWENTY, "f"), 1).trials if trial.block == block)


SEQUENTIAL = TWO_VARIANTS.replace("blocks = 8", 'blocks = 12\nstopping = "sequential"\nlooks = 3').replace(
    "groups = [1, 4]", "groups = 1"
)


def test_a_stopped_run_is_judged_at_its_interim_analysis_and_is_not_incomplete(
    run_script: RunScript, engine: Engine
) -> None:
    run_id, _ = run_script(lambda t: noise(t) * (1.1 if t.variant.name == "changed" else 1.0), SEQUENTIAL)
    result = findings(engine, run_id)
    assert result.course is not None
    assert (result.course.taken, result.course.blocks, result.course.stopped) == (2, 8, True)
    (changed,) = [verdict for verdict in result.verdicts if not verdict.control]
    assert (changed.word, changed.decided, changed.n) == ("worse", 8, 8)
    # 2 (1 − Φ(2.511)), the second of three interim analyses in the published table.
    assert changed.level == pytest.approx(0.0120, abs=2e-4)
    assert result.notes[0].startswith("stopped after block 8 of 12, at interim analysis 2 of 3")
    assert Kind.INCOMPLETE not in {warning.kind for warning in result.warnings}


def test_an_interrupted_sequential_run_is_judged_by_its_last_interim_analysis(engine: Engine) -> None:
    result = findings(engine, interrupted(engine, SEQUENTIAL, lambda trial: trial.block == 6))
    assert {verdict.n for verdict in result.verdicts} == {4}
    assert "the run goes on" in result.notes[0]
    assert Kind.INCOMPLETE in {warning.kind for warning in result.warnings}


@pytest.mark.parametrize("stopped_in", [9, 11, 16])
def test_trials_of_blocks_that_do_not_count_are_not_lost(engine: Engine, stopped_in: int) -> None:
    """An interrupted run is judged by its complete blocks; the trials of the last block are neither used nor lost."""
    run_id = interrupted(engine, TWENTY, lambda trial: trial.index == last_of_block(stopped_in))
    verdicts = findings(engine, run_id).verdicts
    assert {(verdict.n, verdict.failed) for verdict in verdicts} == {(stopped_in - 1, 0)}
    assert not [verdict.reason for verdict in verdicts if "fair sample" in verdict.reason]
    words = {verdict.word for verdict in verdicts if verdict.variant == "changed"}
    assert words == ({"inconclusive"} if stopped_in == 9 else {"worse"})


def test_a_report_on_an_interrupted_fixed_run_says_how_many_blocks_judge_it(engine: Engine) -> None:
    result = findings(engine, interrupted(engine, TWENTY, lambda trial: trial.index == last_of_block(12)))
    assert result.course is not None
    assert (result.course.planned, result.course.blocks, result.course.looks) == (False, 11, (11, 20))
    (note,) = result.notes
    level = nominal((11, 20), 0.05)[0]
    assert note.startswith("judged by 11 of 20 blocks, as at an interim analysis: the run did not end")
    assert f"nominal level is {level:.2g}" in note
    assert {verdict.level for verdict in result.verdicts} == {level}


def test_counters_of_each_variant_are_compared_with_the_baseline(run_script: RunScript, engine: Engine) -> None:
    forks = {"base": 100.0, "changed": 150.0, "control": 100.0}

    def script(trial: Trial) -> Measurement:
        metrics = [Metric(spec, 1.0) for spec in trial.row.adapter.metrics if spec.name in trial.row.judged]
        count = forks[trial.variant.name] + trial.block
        return Measurement("ok", 0.0, 1.0, metrics, counters={"forks": count, "forks.cpu0": count, "steals": count})

    run_id, _ = run_script(script, TWO_VARIANTS.replace("groups = [1, 4]", "groups = 1"))
    judged = findings(engine, run_id)
    changes = counter_changes(engine, judged, ["fork"])
    assert {(change.counter, change.variant) for change in changes} == {
        (name, variant) for name in ("forks", "forks.cpu0") for variant in ("changed", "control")
    }
    assert {(change.counter, change.difference) for change in changes if change.variant == "changed"} == {
        ("forks", 50.0),
        ("forks.cpu0", 50.0),
    }
    assert {change.counter for change in counter_changes(engine, judged)} == {"forks", "steals"}


def test_a_report_before_the_first_complete_block_has_no_verdicts(engine: Engine) -> None:
    result = findings(engine, interrupted(engine, TWENTY, lambda trial: trial.block == 1))
    assert result.notes == ("no verdicts before the first complete block of 20",)
    assert {verdict.word for verdict in result.verdicts} == {"inconclusive"}


def test_a_run_that_was_killed_after_its_last_trial_is_judged_by_all_blocks(
    run_script: RunScript, engine: Engine
) -> None:
    run_id, _ = run_script(noise)
    whole = findings(engine, run_id)
    edit_run(engine, run_id, state="interrupted")
    result = findings(engine, run_id)
    assert result.verdicts == whole.verdicts
    assert result.course is None


def test_a_finished_run_is_judged_at_full_alpha_whatever_was_reported_before(
    run_script: RunScript, engine: Engine
) -> None:
    run_id, _ = run_script(noise)
    result = findings(engine, run_id)
    assert result.course is None
    assert {verdict.level for verdict in result.verdicts} == {0.05}


def test_a_fixed_run_has_no_interim_analyses(run_script: RunScript, engine: Engine) -> None:
    result = findings(engine, run_script(noise)[0])
    assert (result.course, result.attribution, result.effects, result.notes) == (None, (), (), ())


def test_remarks_that_an_import_recorded_are_notes_of_its_report(engine: Engine) -> None:
    series = Series("base", "tbench", "throughput", "MB/s", "higher", {"clients": 4}, np.array([1.0, 2.5]), "log")
    (run_id,) = record_imports(engine, [Import("dbench", "base.log", ("base",), (series,), notes=("left out: x",))])
    assert findings(engine, run_id).notes == ("left out: x",)


def test_only_simulated_runs_are_said_to_be_equal_by_construction(run_script: RunScript, engine: Engine) -> None:
    run_id, _ = run_script(lambda trial: 1.0 + trial.block)
    assert findings(engine, run_id).notes == ()
    edit_run(engine, run_id, kind="simulated")
    (note,) = findings(engine, run_id).notes
    assert "simulated with the same random seed" in note


@pytest.mark.parametrize("kind", [REAL, SIMULATED, DETERMINISTIC])
def test_only_deterministic_runs_have_exact_verdicts(kind: str, run_script: RunScript, engine: Engine) -> None:
    run_id, _ = run_script(lambda trial: 1.0)
    design = reader.run(engine, run_id).design.model_dump_json().replace('"unit":"s"', '"unit":"instructions"')
    edit_run(engine, run_id, kind=kind, design=design)
    assert {verdict.exact for verdict in findings(engine, run_id).verdicts} == {kind == DETERMINISTIC}


STACK = """
[experiment]
name = "stack"

[design]
blocks = 10

[attribution]
stack = ["base", "02", "03"]

[[variant]]
name = "base"

[[variant]]
name = "02"
nice = 1

[[variant]]
name = "03"
nice = 2

[[workload]]
use = "hackbench"
groups = [1, 4]
"""


def test_steps_of_a_stack_are_attributed_to_the_patch_with_the_effect(run_script: RunScript, engine: Engine) -> None:
    run_id, _ = run_script(lambda t: noise(t) * (0.9 if t.variant.name == "03" else 1.0), STACK)
    for row in findings(engine, run_id).attribution:
        assert [(step.name, step.word) for step in row.steps] == [("02", "equivalent"), ("03", "better")]
        assert prod(step.ratio for step in row.steps) == pytest.approx(row.ratio)


def test_a_prefix_that_crashes_is_merged_with_the_next_step(run_script: RunScript, engine: Engine) -> None:
    def script(trial: Trial) -> float | Measurement:
        if trial.variant.name == "02":
            return Measurement("failed", 0.0, 1.0, reason="oops")
        return noise(trial) * (0.9 if trial.variant.name == "03" else 1.0)

    run_id, _ = run_script(script, STACK)
    (step,) = findings(engine, run_id).attribution[0].steps
    assert (step.name, step.word) == ("02+03", "better")


FACTORIAL = """
[experiment]
name = "switches"

[design]
blocks = 10
control = false

[factorial]
switches = { batch = { policy = "batch" }, slice = { slice = "100ms" } }

[[variant]]
name = "base"

[[workload]]
use = "hackbench"
"""


def test_effects_of_a_factorial_are_attributed_to_the_switch_with_the_effect(
    run_script: RunScript, engine: Engine
) -> None:
    def script(trial: Trial) -> float:
        return noise(trial) * (0.8 if trial.variant.slice else 1.0)

    result = findings(engine, run_script(script, FACTORIAL)[0])
    assert [(effect.name, effect.word) for effect in result.effects] == [
        ("batch", "equivalent"), ("slice", "better"), ("batch × slice", "equivalent"),
    ]  # fmt: skip
    assert result.effects[1].ratio == pytest.approx(0.8, rel=0.01)


def test_the_bootstrap_resamples_the_stored_iterations(run_script: RunScript, engine: Engine) -> None:
    text = TWO_VARIANTS.replace("blocks = 8", "blocks = 8\niterations = 3").replace("groups = [1, 4]", "groups = 1")
    text = text.replace("[design]", '[analysis]\ninterval = "bootstrap"\n\n[design]')
    run_id, _ = run_script(noise, text, seed=5)
    run = reader.run(engine, run_id)
    samples = sample_table(engine, variants_of(run)).sort("block", "iteration")
    values = {
        name: samples.filter(column=name, metric="time")["value"].to_numpy().reshape(8, 3)
        for name in ("base", "changed")
    }
    verdict = findings(engine, run_id).verdicts[-1]
    assert (verdict.low, verdict.high) == pytest.approx(bca(values["base"], values["changed"], 0.95, run.seed))
