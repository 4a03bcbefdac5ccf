"""A sequential run ends at the first interim analysis that decides every row, even after an interruption."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from schedlab.execution.interim import InterimAnalyses
from schedlab.execution.loop import execute
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Plan, Trial, plan
from schedlab.results.measurement import Measurement
from schedlab.store import reader, writer
from schedlab.targets.scripted import Scripted
from tests.conftest import TWO_VARIANTS, begin

pytestmark = pytest.mark.slow

SEQUENTIAL = TWO_VARIANTS.replace("blocks = 8", 'blocks = 12\nstopping = "sequential"\nlooks = 3\n')
"""Two rows: six trials a block after a warm-up of six trials; interim analyses after blocks 4, 8 and 12."""

RunScript = Callable[..., tuple[int, Scripted]]


def noise(trial: Trial) -> float:
    """A value near 1 that differs from trial to trial."""
    return 1.0 + 0.001 * ((trial.index * 7919) % 13)


def clear(trial: Trial) -> float:
    """A regression of 10 %, far beyond the noise."""
    return noise(trial) * (1.1 if trial.variant.name == "changed" else 1.0)


def unclear(trial: Trial) -> float:
    """A clear change in one row; the other row is too noisy for a verdict."""
    wild = 1 + 0.5 * ((trial.index * 7919) % 13) / 13
    return wild if trial.row.parameters["groups"] == 4 else clear(trial)


def test_two_clear_rows_need_more_than_eight_blocks_under_holm(run_script: RunScript, engine: Engine) -> None:
    run_id, target = run_script(clear, f'{SEQUENTIAL}\n[analysis]\ncorrection = "holm"\n')
    run = reader.run(engine, run_id)
    # Holm over two rows: the smallest p of 4 blocks is 2/16, of 8 blocks 2/256 = 0.0078; the second level for
    # α/2 is 0.0044 (Lan–DeMets at thirds): even 8 blocks that all agree do not decide the first row.
    assert run.state == "complete"
    assert run.recorded == 6 + 12 * 6
    assert not any("stopped" in note for note in run.notes)
    assert target.closed


def test_two_clear_rows_stop_as_early_as_a_single_row(run_script: RunScript, engine: Engine) -> None:
    run_id, _ = run_script(clear, SEQUENTIAL)
    assert reader.run(engine, run_id).recorded == 6 + 8 * 6


def test_an_interim_analysis_needs_all_trials_of_its_blocks(run_script: RunScript, engine: Engine) -> None:
    run_id, _ = run_script(clear, SEQUENTIAL)
    run_plan = plan(parse(SEQUENTIAL, "f"), 1)
    done = writer.done(engine, run_id)
    assert "stopped after block 8" in InterimAnalyses(run_plan, engine, run_id).stopped(done)
    (early, *_) = (trial.index for trial in run_plan.trials if trial.block == 5)
    # The analysis after block 4 decides no row, and a trial of block 5 is to be repeated before the next analysis.
    assert InterimAnalyses(run_plan, engine, run_id).stopped(set(done) - {early}) == ""


ONE_ROW = SEQUENTIAL.replace("groups = [1, 4]", "groups = 1")
"""One row: three trials a block after a warm-up of three trials."""


def test_one_clear_row_stops_at_the_second_interim_analysis_of_three(run_script: RunScript, engine: Engine) -> None:
    run_id, target = run_script(clear, ONE_ROW)
    run = reader.run(engine, run_id)
    # Level of the second interim analysis 2 (1 − Φ(2.511)) = 0.0120, above the smallest p of 8 blocks, 0.0078.
    assert (run.state, run.recorded, run.planned) == ("complete", 3 + 8 * 3, 3 + 12 * 3)
    (note,) = run.notes
    assert note.startswith("stopped after block 8 of 12, at interim analysis 2 of 3: every row was decided")
    assert "level of this analysis is 0.012," in note
    assert [entry.block for entry in target.log if isinstance(entry, Trial)][-1] == 8


def test_a_run_with_an_undecided_row_does_not_stop_early(run_script: RunScript, engine: Engine) -> None:
    run_id, _ = run_script(unclear, SEQUENTIAL)
    run = reader.run(engine, run_id)
    assert (run.recorded, run.notes) == (run.planned, [])


def test_a_fixed_run_never_stops(run_script: RunScript, engine: Engine) -> None:
    run_id, _ = run_script(clear)
    run = reader.run(engine, run_id)
    assert run.recorded == run.planned


def test_a_run_with_a_single_variant_never_stops(run_script: RunScript, engine: Engine) -> None:
    alone = ONE_ROW.replace('[[variant]]\nname = "changed"\nnice = 1\n', "")
    run_id, _ = run_script(clear, alone)
    run = reader.run(engine, run_id)
    assert run.recorded == run.planned


def interrupted(engine: Engine, run_plan: Plan, at: int) -> int:
    def script(trial: Trial) -> float:
        if trial.index == at:
            raise KeyboardInterrupt
        return clear(trial)

    run_id = begin(engine, run_plan, ONE_ROW)
    with pytest.raises(KeyboardInterrupt):
        execute(run_plan, Scripted(script), engine, run_id, lambda trial, measurement: None)
    return run_id


@pytest.mark.parametrize("at", [1, 3, 10, 15, 16, 24, 26])
def test_an_interrupted_run_stops_at_the_block_of_an_uninterrupted_run(engine: Engine, at: int) -> None:
    """Interrupt in the warm-up, between and within blocks, around the first interim analysis, and at the end."""
    run_plan = plan(parse(ONE_ROW, "f"), 1)
    run_id = interrupted(engine, run_plan, at)
    execute(run_plan, Scripted(clear), engine, run_id, lambda trial, measurement: None)
    run = reader.run(engine, run_id)
    assert (run.state, run.recorded) == ("complete", 3 + 8 * 3)
    assert any(note.startswith("stopped after block 8 of 12") for note in run.notes)


def test_a_run_killed_before_its_interim_analysis_stops_when_it_is_resumed(engine: Engine) -> None:
    run_plan = plan(parse(ONE_ROW, "f"), 1)
    run_id = begin(engine, run_plan, ONE_ROW)
    first = Scripted(clear)
    for trial in run_plan.trials[: 3 + 8 * 3]:
        writer.record(engine, run_id, trial, first.run(trial))
    again = Scripted(clear)
    execute(run_plan, again, engine, run_id, lambda trial, measurement: None)
    assert again.log == []
    run = reader.run(engine, run_id)
    assert run.state == "complete"
    assert run.notes[0].startswith("stopped after block 8 of 12")


def test_a_stopped_run_has_nothing_to_resume(run_script: RunScript, engine: Engine) -> None:
    run_id, _ = run_script(clear, ONE_ROW)
    again = Scripted(clear)
    execute(plan(parse(ONE_ROW, "f"), 1), again, engine, run_id, lambda trial, measurement: None)
    assert again.log == []
    assert len(reader.run(engine, run_id).notes) == 1


def test_failed_trials_leave_a_row_undecided(run_script: RunScript, engine: Engine) -> None:
    def script(trial: Trial) -> float | Measurement:
        return Measurement("failed", 0.0, 1.0, reason="no") if trial.index % 9 == 4 else clear(trial)

    run_id, _ = run_script(script, ONE_ROW)
    run = reader.run(engine, run_id)
    assert run.recorded == run.planned
