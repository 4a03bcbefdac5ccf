"""Sizes from a stored run: noise at its limits, and the cost of a block by the order of trials."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from schedlab.analysis.planning import Durations
from schedlab.errors import SchedlabError
from schedlab.execution.sample_size import _cost_ratio, _costs, sizing
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Trial, plan
from schedlab.store.writer import questions_of
from schedlab.targets.scripted import Scripted
from tests.conftest import TWO_VARIANTS

pytestmark = pytest.mark.slow

RunScript = Callable[..., tuple[int, Scripted]]


def varied(trial: Trial) -> float:
    return 1.0 + (trial.index * 7 % 11) / 50


def test_a_row_with_a_sample_of_zero_has_no_known_noise_and_a_reason(run_script: RunScript, engine: Engine) -> None:
    run_script(lambda trial: 0.0 if trial.block == 3 and trial.row.parameters["groups"] == 1 else varied(trial))
    sized = sizing(plan(parse(TWO_VARIANTS, "f"), 1), engine, 1, None, 0.8)
    assert [reason for _, reason in sized.unknown] == ["a value of 0 or below has no ratio"]
    assert ['"groups":1' in question.parameters for question, _ in sized.unknown] == [True]
    assert len(sized.rows) == 1


def test_a_run_with_a_zero_in_every_row_gives_no_sizes(run_script: RunScript, engine: Engine) -> None:
    run_script(lambda trial: 0.0)
    with pytest.raises(SchedlabError, match="a value of 0 or below has no ratio"):
        sizing(plan(parse(TWO_VARIANTS, "f"), 1), engine, 1, None, 0.8)


def test_noise_is_computed_for_each_variant_against_the_baseline(run_script: RunScript, engine: Engine) -> None:
    """Only the baseline varies, so its logs and the log-ratios have the same spread."""
    text = TWO_VARIANTS.replace("groups = [1, 4]", "groups = 1")
    run_script(lambda trial: varied(trial) if trial.variant.name == "base" else 1.0, text)
    (row,) = sizing(plan(parse(text, "f"), 1), engine, 1, None, 0.8).rows
    assert row.noise.pair_between > 0.01


def test_an_effect_of_zero_is_not_replaced_by_the_files_delta(run_script: RunScript, engine: Engine) -> None:
    run_script(varied)
    assert sizing(plan(parse(TWO_VARIANTS, "f"), 1), engine, 1, None, 0.8).wanted.effect == 0.01
    assert sizing(plan(parse(TWO_VARIANTS, "f"), 1), engine, 1, 0.0, 0.8).wanted.effect == 0.0


def test_a_block_costs_a_row_a_share_of_a_placement_or_a_whole_placement() -> None:
    """All rows share the cost of putting a variant in place; with ``interleave = "rows"`` each row pays the full
    cost."""
    by_variants = plan(parse(TWO_VARIANTS, "f"), 1)
    by_rows = plan(parse(TWO_VARIANTS.replace("[design]", '[design]\ninterleave = "rows"'), "f"), 1)
    times = Durations(place=3.0, trial={row.key: 0.5 for row in by_variants.rows})
    for question in questions_of(by_variants):
        assert _cost_ratio(question, by_rows, times) == 3.0 / 0.5
        assert _cost_ratio(question, by_variants, times) == 3.0 / 0.5 / len(by_variants.rows)


def test_the_time_before_the_first_block_is_that_of_the_warm_up() -> None:
    run_plan = plan(parse(TWO_VARIANTS.replace("[design]", "[design]\nwarmup = 3\ncontrol = false"), "f"), 1)
    times = Durations(place=3.0, trial={row.key: 0.5 for row in run_plan.rows})
    # Three iterations of two rows under two variants.
    assert _costs(run_plan, times).before == 3 * 2 * 2 * 0.5
