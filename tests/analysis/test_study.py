"""A small version of the study behind docs/statistics.md: error rates of verdicts and of other rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from benches.study import (
    arrange,
    coverage,
    detectable,
    equivalence,
    false_alarms,
    fences,
    interim,
    many_rows,
    noise,
    power,
    real,
    record,
    rules,
    tables,
)
from benches.study.__main__ import PAGE, TABLES, put
from benches.study.false_alarms import ALPHA, ROWS, bound, shares
from benches.study.judging import judge_rows, judge_run
from benches.study.recorded import Components, Recording, campaigns, components, recording, recordings, windows
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sqlalchemy import Engine

from schedlab.analysis.multiplicity import Correction, adjust
from schedlab.analysis.signflip import p_values
from schedlab.analysis.simultaneous import step_down
from schedlab.analysis.verdicts import Options
from schedlab.experiment.plan import Trial
from schedlab.store import reader

pytestmark = pytest.mark.slow

CAMPAIGNS, BLOCKS, ITERATIONS, SEED = 300, 8, 5, 2
"""Chance exceeds two standard errors once in 40 shares. No share exceeds these limits with this seed."""

TIME_BOUND = ("drifting", "AR(1)", "two-level")


@pytest.fixture(scope="module")
def alarms() -> dict[str, false_alarms.Shares]:
    return {kind: shares(kind, BLOCKS, ITERATIONS, CAMPAIGNS, SEED) for kind in noise.KINDS}


@pytest.mark.parametrize("kind", noise.KINDS)
def test_false_alarms_of_schedlab_stay_within_alpha(alarms: dict[str, false_alarms.Shares], kind: str) -> None:
    shares = alarms[kind]
    assert shares.single <= bound(CAMPAIGNS)
    assert shares.campaigns <= bound(CAMPAIGNS)
    assert shares.rows <= bound(CAMPAIGNS * ROWS)


@pytest.mark.parametrize("kind", noise.KINDS)
def test_welch_on_pooled_trials_keeps_alpha_for_independent_trials_only(
    alarms: dict[str, false_alarms.Shares], kind: str
) -> None:
    shares = alarms[kind]
    if kind in TIME_BOUND:
        assert shares.welch > 2 * bound(CAMPAIGNS)
        assert shares.star_2018 > 2 * bound(CAMPAIGNS, rules.STAR_2018_LEVEL)
    else:
        assert shares.welch <= bound(CAMPAIGNS)
        assert shares.star_2018 <= bound(CAMPAIGNS, rules.STAR_2018_LEVEL)


def test_five_boots_pooled_as_a_hundred_samples_give_57_percent_false_alarms() -> None:
    shares = false_alarms.pooled_boots(CAMPAIGNS, SEED)
    # With equal spread between and within boots the pooled t is too large by a factor of 3.4: 57 % false alarms.
    assert shares.welch == pytest.approx(0.57, abs=2 * (0.57 * 0.43 / CAMPAIGNS) ** 0.5)
    assert shares.single == 0


def test_with_a_fixed_order_the_same_test_fails_under_drift(alarms: dict[str, false_alarms.Shares]) -> None:
    assert alarms["drifting"].fixed > 2 * bound(CAMPAIGNS)


@pytest.mark.parametrize(("kind", "blocks"), [("normal", 6), ("log-normal", 8), ("heavy-tailed", 8), ("AR(1)", 12)])
def test_intervals_contain_the_true_change_and_a_change_at_the_margin_is_not_equivalent(kind: str, blocks: int) -> None:
    shares = coverage.coverage(kind, blocks, CAMPAIGNS, SEED)
    # Six blocks cover 96.9 %; two standard errors are 2.5 % here.
    assert 0.93 - 0.025 <= shares.schedlab <= 0.97 + 0.025
    assert equivalence.equivalence(kind, blocks, CAMPAIGNS, SEED).at_margin <= bound(CAMPAIGNS)


def test_equal_variants_are_called_equivalent_with_enough_blocks() -> None:
    few, many = (equivalence.equivalence("two-level", blocks, 200, SEED).equal for blocks in (6, 20))
    assert few < 0.3
    assert many > 0.6


def test_alpha_spending_keeps_alpha_and_repeated_tests_until_significance_do_not() -> None:
    shares = interim.sequential("AR(1)", CAMPAIGNS, SEED, blocks=12)
    assert shares.spending <= bound(CAMPAIGNS)
    assert shares.until > bound(CAMPAIGNS)
    assert shares.blocks_used < 12


@pytest.mark.parametrize("correction", false_alarms.CORRECTIONS)
def test_campaigns_judged_together_have_the_verdicts_of_campaigns_judged_alone(correction: Correction) -> None:
    rng = np.random.default_rng(3)
    series = noise.normal(rng, 20 * ROWS, 2 * BLOCKS, ITERATIONS)
    baseline, variant = arrange.in_blocks(series, arrange.draw_orders(SEED, 20, BLOCKS))
    # With this margin many rows that are 2 % slower are both significantly different and equivalent.
    variant, options = variant * rng.choice((1.0, 1.02, 1.1), size=(20 * ROWS, 1, 1)), Options(delta=0.05)
    options = replace(options, correction=correction)
    at_once = judge_rows(baseline, variant, options).campaigns_called(ROWS, ALPHA, correction)
    alone = [
        [verdict.word in {"better", "worse"} for verdict in judge_run(baseline[rows], variant[rows], options)]
        for rows in (slice(start, start + ROWS) for start in range(0, 20 * ROWS, ROWS))
    ]
    assert at_once.tolist() == alone
    assert 0 < at_once.sum() < at_once.size


@given(st.integers(1, 4), st.integers(1, 5), st.integers(1, 3), st.integers(0, 99))
def test_arranging_keeps_every_trial_and_pairs_visits_of_one_block(
    campaigns_: int, blocks: int, iterations: int, seed: int
) -> None:
    series = np.arange(float(campaigns_ * 2 * blocks * iterations)).reshape(campaigns_, 2 * blocks, iterations)
    first = arrange.draw_orders(seed, campaigns_, blocks)
    baseline, variant = arrange.in_blocks(series, first)
    assert np.array_equal(np.sort(np.concatenate([baseline, variant], axis=None)), series.ravel())
    assert np.array_equal(variant < baseline, np.broadcast_to(first[:, :, None], variant.shape))
    assert np.array_equal(np.abs(variant - baseline), np.full(variant.shape, float(iterations)))
    a, b = arrange.first_and_second_half(series)
    assert a.max(axis=1).tolist() == (b.min(axis=1) - 1).tolist()


@pytest.mark.parametrize("correction", ["max-t", "holm"])
def test_campaigns_of_many_rows_have_the_words_of_judge(correction: str) -> None:
    campaigns_of_rows = many_rows.log_ratios("15 % missing", "rows", 8, 12, 5, SEED)
    campaigns_of_rows[:, :, 0] += np.where(campaigns_of_rows[:, :, 0] == 0, 0, 0.1)
    options = Options(ALPHA, delta=1e-9, correction=correction)  # type: ignore[arg-type]
    for ratios in campaigns_of_rows:
        variant = np.exp(np.where(ratios == 0, np.nan, ratios)).T[:, :, None]
        verdicts = judge_run(np.ones((5, 8, 1)), variant, options)
        words = [verdict.word in {"better", "worse"} for verdict in verdicts]
        assert many_rows.called(ratios, 5, correction).tolist() == words


@pytest.mark.parametrize("blocks", [6, 10, 18])
def test_campaigns_judged_at_once_have_the_smallest_p_of_the_tests_of_judge(blocks: int) -> None:
    rng = np.random.default_rng(blocks)
    campaigns_of_rows = many_rows.log_ratios("15 % missing", "rows", blocks, 4, 60, SEED)
    campaigns_of_rows[:2, :, 3] += np.where(campaigns_of_rows[:2, :, 3] == 0, 0, rng.uniform(0.05, 0.5))
    joint, holm = many_rows.smallest(campaigns_of_rows)
    for i, ratios in enumerate(campaigns_of_rows):
        for j, rows in enumerate(many_rows.ROWS):
            assert joint[i, j] == pytest.approx(step_down(ratios[:, :rows], 0).min())
            assert holm[i, j] == pytest.approx(min(adjust(list(p_values(ratios[:, :rows], 0)), "holm")))


def test_interim_analyses_judged_at_once_call_the_campaigns_of_judge() -> None:
    rng, analyses = np.random.default_rng(4), (6, 9, 12)
    campaigns_of_rows = rng.normal([0.0, 0.012, 0.0], 0.01, size=(20, 12, 3))
    options = Options(ALPHA, delta=1e-9, looks=analyses)
    called = [
        any(verdict.word in {"better", "worse"} for verdict in judge_run(np.ones((3, 12, 1)), changed, options))
        for changed in np.exp(campaigns_of_rows).transpose(0, 2, 1)[..., None]
    ]
    assert many_rows.called_at_any(campaigns_of_rows, analyses) == np.mean(called)
    assert 0 < sum(called) < len(called)


def test_all_rows_of_a_campaign_share_the_machine_s_modes() -> None:
    """Modes are 10 % apart, trials spread by 2 %: the mean over 20 rows of a visit shows the mode."""
    visits = noise.draw("persistent modes", np.random.default_rng(1), 40, 60, 1, of_campaign=20).reshape(2, 20, 60)
    slow = visits.mean(axis=1) > 1.05
    assert (visits > 1.05).mean(axis=1)[slow].min() > 0.8
    assert (visits > 1.05).mean(axis=1)[~slow].max() < 0.2
    assert slow[0].tolist() != slow[1].tolist()
    assert (np.diff(slow.astype(int), axis=1) != 0).mean() < 0.25


@pytest.mark.parametrize("of_block", [2, 5])
def test_only_the_second_visit_of_each_block_is_slower(of_block: int) -> None:
    rng = np.random.default_rng(2)
    visits = noise.draw("second visit 3 % slower", rng, 2000, 4 * of_block, 1, of_block=of_block)
    by_block = visits.mean(axis=(0, 2)).reshape(4, of_block)
    expected = np.where(np.arange(of_block) == 1, 1.03, 1.0)
    assert by_block == pytest.approx(np.tile(expected, (4, 1)), abs=0.003)


@pytest.mark.parametrize("order", many_rows.ORDERS)
@pytest.mark.parametrize("kind", [*noise.KINDS, *noise.MANY_ROWS])
def test_the_joint_test_of_many_rows_keeps_alpha(kind: str, order: str) -> None:
    shares = many_rows.false_alarms(kind, order, 6, 300, 5)
    # Three standard errors: 88 shares are compared.
    assert max(shares.joint) <= ALPHA + 1.5 * (bound(shares.count) - ALPHA)
    assert shares.holm[2:] == (0.0, 0.0)


def test_six_blocks_find_a_large_change_among_twenty_rows_by_the_joint_test_only() -> None:
    few = next(many_rows.power(400, SEED))
    assert few.blocks == 6
    assert few.joint[2] > 0.2
    assert few.holm[2] == 0


@pytest.mark.parametrize("kind", [*noise.KINDS, "persistent modes", "correlated rows"])
def test_clean_runs_seldom_have_a_warning_about_outliers(kind: str) -> None:
    shares = fences.outliers(kind, CAMPAIGNS, SEED)
    assert max(shares.clean) <= bound(CAMPAIGNS)
    assert min(shares.tukey[:2]) > 0.5
    assert list(shares.detected) == sorted(shares.detected)


def test_orders_are_drawn_with_even_odds() -> None:
    orders = arrange.draw_orders(SEED, 500, 20)
    # Four standard errors of 10,000 even draws.
    assert abs(orders.mean() - 0.5) < 0.02
    assert len(np.unique(orders[:, :12], axis=0)) > 400


@pytest.mark.parametrize("kind", noise.KINDS)
def test_noise_is_drawn_from_its_seed_and_positive(kind: str) -> None:
    once, again = (noise.KINDS[kind](np.random.default_rng(5), 50, 16, 5) for _ in range(2))
    assert np.array_equal(once, again)
    assert once.shape == (50, 16, 5)
    assert (once > 0).all()


def test_star_rules_agree_with_their_descriptions() -> None:
    rng = np.random.default_rng(8)
    a, b = rng.normal(1, 0.1, size=(60, 10)), rng.normal(1.06, 0.2, size=(60, 10))
    # With groups of equal size the t of unequal variances equals Student's t.
    assert rules.star_2018(a, b).tolist() == (stats.ttest_ind(a, b, axis=1).pvalue < 0.10).tolist()
    # Standard deviations 1 and 1: a star needs means more than 3.92 apart.
    steady = np.array([[-1.0, 0.0, 1.0]] * 2)
    assert rules.star_2024(steady, steady + np.array([[3.9], [3.95]])).tolist() == [False, True]


def test_estimated_variance_components_equal_the_components_of_the_noise() -> None:
    rng = np.random.default_rng(2)
    logs = 0.05 * rng.standard_normal((3000, 1, 1)) + 0.02 * rng.standard_normal((3000, 2, 1))
    logs = logs + 0.01 * rng.standard_normal((3000, 2, 4))
    noise_recording = Recording("", "", np.exp(logs.reshape(6000, 4)), np.zeros(3000, dtype=np.bool_))
    estimated = components(noise_recording)
    # Variance of the difference of a block's two visits, each a mean of four iterations: 2 (0.02² + 0.01²/4).
    expected = Components(0.01, 0.02, 0.05, (2 * (0.02**2 + 0.01**2 / 4)) ** 0.5, float("nan"))
    for name in ("within", "visits", "blocks", "paired"):
        assert getattr(estimated, name) == pytest.approx(getattr(expected, name), rel=0.05)


def test_a_recording_contains_only_complete_blocks_in_their_order() -> None:
    rows = [("pipetest", 1, "control", 0, 1.0), ("pipetest", 1, "base", 0, 2.0), ("pipetest", 2, "base", 0, 3.0)]
    rows += [("pipetest", 3, "base", 0, 4.0), ("hackbench", 1, "base", 0, 9.0), ("pipetest", 3, "control", 0, 5.0)]
    trials = pl.DataFrame(rows, schema=["workload", "block", "variant", "iteration", "value"], orient="row")
    recorded = recording(trials, "one CPU", "pipetest")
    assert recorded.visits.tolist() == [[1.0], [2.0], [4.0], [5.0]]
    assert recorded.control_first.tolist() == [True, False]
    assert campaigns(recorded, 1)[0].tolist() == [[[1.0], [2.0]], [[4.0], [5.0]]]
    assert windows(recorded, 1, [1]).tolist() == [[[4.0], [5.0]]]


def test_a_run_is_recorded_trial_by_trial_in_the_order_of_time(run_script: Callable[..., Any], engine: Engine) -> None:
    run_id, target = run_script(lambda trial: 1 + trial.index)
    measured = [trial for trial in target.log if isinstance(trial, Trial) and trial.phase == "measure"]
    recorded = record.trials(engine, reader.run(engine, run_id))
    assert recorded["value"].to_list() == [1.0 + trial.index for trial in measured]
    assert recorded["variant"].to_list() == [trial.variant.name for trial in measured]
    assert recorded["block"].to_list() == [trial.block for trial in measured]


def test_on_recorded_noise_only_the_false_alarms_of_pooled_trials_exceed_alpha() -> None:
    results = [alarms for _, divisions in real.study() for alarms in divisions]
    total, schedlab, welch = (
        sum(getattr(alarms, name) for alarms in results) for name in ("campaigns", "schedlab", "welch")
    )
    assert total > 100
    assert schedlab / total <= bound(total)
    assert welch / total > 4 * bound(total)


def test_a_change_in_recorded_noise_is_detected_with_the_right_sign() -> None:
    quiet = next(source for source in recordings() if source.label == "pipetest, one CPU")
    shares = power.power(quiet, 20, 60, SEED)
    assert shares.schedlab.shifts[0] < shares.schedlab.shifts[-1]
    assert shares.schedlab.shifts[-1] > 0.9
    assert shares.schedlab.reversed == 0
    assert shares.star_2024.shifts[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "log-normal"])
def test_a_new_run_finds_the_printed_effect_with_a_power_of_about_80_percent(kind: str) -> None:
    for blocks in (6, 12):
        shares = detectable.power(kind, blocks, 150, SEED)
        assert 0.68 <= shares.control <= 0.92
        assert 0.66 <= shares.flips <= 0.92


def test_a_table_is_written_between_its_markers_only() -> None:
    page = "a\n<!-- table: x -->\nold\n<!-- end -->\nb\n<!-- table: y -->\n<!-- end -->\n"
    assert put(page, "y", "\\1") == page.replace("y -->\n", "y -->\n\\1\n")
    assert put(page, "x", "new") == page.replace("old", "new")
    with pytest.raises(LookupError, match="no markers"):
        put(page, "z", "")


def test_the_page_contains_every_table_and_the_table_of_recorded_noise_is_current() -> None:
    page = Path(PAGE).read_text(encoding="utf-8")
    for name in TABLES:
        _, _, after = page.partition(f"<!-- table: {name} -->\n")
        assert after.startswith("| "), f"{name} is missing: python -m benches.study --write"
    assert tables.real(real.study()) in page
