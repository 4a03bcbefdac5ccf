"""A stack's steps: their product, their verdicts, gaps, and the coverage of their intervals."""

from __future__ import annotations

from itertools import product
from math import isnan, prod

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from schedlab.analysis.attribution import Attribution, attribute
from schedlab.analysis.paired import estimate
from schedlab.analysis.sequential import course, nominal
from schedlab.analysis.signflip import interval, p_value
from schedlab.analysis.simultaneous import joint
from schedlab.analysis.verdicts import Options, Question

STACK = ["2.5.59", "02", "03", "04", "05"]
TIME = Question("w", "{}", "time", "s", "lower")


def frame(values: dict[str, np.ndarray], question: Question = TIME) -> pl.DataFrame:
    """Variant → value by block, nan for a missing value."""
    rows = [
        (question.workload, question.parameters, question.metric, variant, block, float(value))
        for variant, of_blocks in values.items()
        for block, value in enumerate(of_blocks, start=1)
        if not np.isnan(value)
    ]
    return pl.DataFrame(rows, schema=["workload", "parameters", "metric", "variant", "block", "value"], orient="row")


def stack(seed: int, factors: dict[str, float], blocks: int = 10, noise: float = 0.004) -> dict[str, np.ndarray]:
    """Each variant is the product of all changes up to the variant, with random variation of blocks."""
    rng = np.random.default_rng(seed)
    luck, level, values = rng.lognormal(0, 0.05, size=blocks), 100.0, {}
    for name in STACK:
        level *= factors.get(name, 1.0)
        values[name] = level * luck * rng.lognormal(0, noise, size=blocks)
    return values


def attribution_of(values: dict[str, np.ndarray], **options: object) -> Attribution:
    (attribution,) = attribute(frame(values), [TIME], STACK, Options(**options))  # type: ignore[arg-type]
    return attribution


def test_each_change_gets_its_own_verdict() -> None:
    attribution = attribution_of(stack(1, {"03": 0.9, "05": 1.1}))
    assert [(step.name, step.word) for step in attribution.steps] == [
        ("02", "equivalent"), ("03", "better"), ("04", "equivalent"), ("05", "worse"),
    ]  # fmt: skip
    assert attribution.steps[1].low < 0.9 < attribution.steps[1].high
    assert (attribution.steps[1].since, attribution.steps[1].until) == ("02", "03")


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(st.lists(st.floats(0.1, 10), min_size=5, max_size=5), min_size=2, max_size=8))
def test_the_product_of_the_steps_is_the_total_effect(blocks: list[list[float]]) -> None:
    attribution = attribution_of(dict(zip(STACK, np.array(blocks).T, strict=True)))
    assert prod(step.ratio for step in attribution.steps) == pytest.approx(attribution.ratio)
    first, last = np.array(blocks)[:, 0], np.array(blocks)[:, -1]
    assert attribution.ratio == pytest.approx(stats.gmean(last) / stats.gmean(first))


def test_a_block_that_lacks_a_variant_is_excluded_from_every_step() -> None:
    values = stack(2, {})
    values["04"][3] = np.nan
    attribution = attribution_of(values)
    assert {step.n for step in attribution.steps} == {attribution.n} == {9}
    assert prod(step.ratio for step in attribution.steps) == pytest.approx(attribution.ratio)


def test_two_steps_around_an_unmeasured_variant_are_one_named_step() -> None:
    values = stack(3, {"03": 0.9, "04": 0.9})
    del values["03"]
    attribution = attribution_of(values)
    assert [step.name for step in attribution.steps] == ["02", "03+04", "05"]
    assert attribution.steps[1].parts == ("03", "04")
    assert attribution.steps[1].ratio == pytest.approx(0.81, rel=0.01)
    assert attribution.steps[1].word == "better"
    assert attribution.gaps == ("no measurement of 03",)


def test_a_variant_that_mostly_crashed_is_a_gap() -> None:
    recorded = {("w", "{}", "04"): dict.fromkeys(range(1, 9), 1) | {9: 2, 10: 2}}
    (attribution,) = attribute(frame(stack(4, {})), [TIME], STACK, Options(), recorded)
    assert [step.name for step in attribution.steps] == ["02", "03", "04+05"]
    assert "2 of 12 trials of 04 failed" in attribution.gaps[0]


@pytest.mark.parametrize(
    ("missing", "unknown", "measured"), [("2.5.59", "02", ["03", "04", "05"]), ("05", "05", ["02", "03", "04"])]
)
def test_without_the_first_or_last_variant_only_the_adjacent_step_is_unknown(
    missing: str, unknown: str, measured: list[str]
) -> None:
    values = stack(5, {})
    del values[missing]
    attribution = attribution_of(values)
    assert [step.name for step in attribution.steps if isnan(step.ratio)] == [unknown]
    assert [step.name for step in attribution.steps if not isnan(step.ratio)] == measured
    assert next(step for step in attribution.steps if step.name == unknown).reason == f"no measurement of {missing}"


def test_a_row_without_any_measurement_has_a_reason_and_no_verdict() -> None:
    attribution = attribution_of({name: np.array([]) for name in STACK})
    assert isnan(attribution.ratio)
    assert {step.word for step in attribution.steps} == {"inconclusive"}
    assert all(step.reason for step in attribution.steps)


def test_steps_between_values_that_are_all_equal_are_not_equivalent() -> None:
    attribution = attribution_of({name: np.full(8, 100 / 3) for name in STACK})
    assert {(step.word, step.ratio) for step in attribution.steps} == {("inconclusive", 1.0)}
    assert all("the steps of time are unknown" in step.reason for step in attribution.steps)


def test_all_steps_of_all_rows_are_one_joint_test() -> None:
    rows = [Question("w", f'{{"g":{i}}}', "time", "s", "lower") for i in range(3)]
    table = pl.concat(frame(stack(6 + i, {"03": 0.9}), row) for i, row in enumerate(rows))
    joint_test = attribute(table, rows, STACK, Options())
    each = attribute(table, rows, STACK, Options(correction="holm"))
    run = attribute(table, rows, STACK, Options(correction="holm", family="run"))
    for of_joint, of_each, of_run in zip(joint_test, each, run, strict=True):
        step = of_joint.steps[1]
        # Ten consistent blocks: 2 of 1,024 flips. Holm corrects for three rows, or for twelve steps of three rows.
        assert step.p == pytest.approx(2 / 1024)
        assert step.p_adjusted == pytest.approx(2 / 1024)
        assert of_each.steps[1].p_adjusted == pytest.approx(3 * 2 / 1024)
        assert of_run.steps[1].p_adjusted == pytest.approx(12 * 2 / 1024)


@pytest.mark.parametrize("planned", [False, True])
def test_intervals_at_an_interim_analysis_are_at_its_level(planned: bool) -> None:
    """Seven of ten blocks are complete. A report at each analysis must not contain an interval that is too narrow."""
    table, looks = frame(stack(7, {"03": 0.99})), (7, 10)
    options = Options(looks=looks)
    taken = course(looks, options.alpha, 7, planned=planned)
    (early,) = attribute(table, [TIME], STACK, options, progress=taken)
    (fixed,) = attribute(table.filter(pl.col("block") <= 7), [TIME], STACK, Options())
    logs = np.array([table.filter(pl.col("block") <= 7, variant=name).sort("block")["value"].log() for name in STACK]).T
    steps = joint(np.diff(logs, axis=1), 1 - nominal(looks, options.alpha, 4)[0], 0)
    assert [step.low for step in early.steps] == pytest.approx(np.exp(steps.low))
    assert [step.high for step in early.steps] == pytest.approx(np.exp(steps.high))
    for interim, whole in ((early, fixed), *zip(early.steps, fixed.steps, strict=True)):
        assert interim.ratio == pytest.approx(whole.ratio)
        assert interim.low < whole.low
        assert whole.high < interim.high
    total = estimate(logs[:, -1] - logs[:, 0], 1 - taken.level)
    assert (early.low, early.high) == pytest.approx((total.low, total.high))


def test_a_single_effect_has_the_verdict_of_a_paired_row() -> None:
    logs = np.random.default_rng(8).normal(0.3, 1, size=10)
    estimates = joint(logs[:, None], 0.95, 0)
    assert estimates.p[0] == pytest.approx(p_value(logs, 0))
    assert (estimates.low[0], estimates.high[0]) == pytest.approx(interval(logs, 0.95, 0))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_p_equals_westfall_and_young_s_over_all_listed_flips(seed: int) -> None:
    """Compare with Westfall and Young's step-down procedure on scipy's Student's t of every listed flip."""
    effects = np.random.default_rng(seed).normal([0.9, 0.5, 0.0], 1, size=(7, 3))
    signs = np.array(list(product((1, -1), repeat=7)))
    under = np.array([np.abs(stats.ttest_1samp(s[:, None] * effects, 0).statistic) for s in signs])
    observed = np.abs(stats.ttest_1samp(effects, 0).statistic)
    order, expected, worst = np.argsort(-observed), np.empty(3), 0.0
    for rank, i in enumerate(order):
        worst = max(worst, float(np.mean(under[:, order[rank:]].max(axis=1) >= observed[i] - 1e-9)))
        expected[i] = worst
    assert joint(effects, 0.95, 0).p == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [6, 10])
def test_simultaneous_intervals_of_all_steps_have_their_nominal_coverage(blocks: int) -> None:
    """Four steps between five noisy variants, including steps with an effect; nominal 95 %."""
    rng, runs, covered, truth = np.random.default_rng(41), 300, 0, np.array([0.0, 3.0, 0.0, -1.0])
    for _ in range(runs):
        estimates = joint(np.diff(rng.normal(size=(blocks, 5)), axis=1) + truth, 0.95, 0)
        covered += bool(np.all((estimates.low <= truth) & (truth <= estimates.high)))
    assert covered / runs >= 0.95 - 2 * np.sqrt(0.05 * 0.95 / runs)


@pytest.mark.slow
def test_false_alarms_over_all_steps_stay_within_alpha() -> None:
    rng, runs = np.random.default_rng(43), 400
    alarms = 0
    for _ in range(runs):
        effects = np.diff(rng.standard_t(3, size=(8, 5)), axis=1)
        # One step has an effect. That effect must not raise the rate of false alarms of the other steps.
        effects[:, 1] += 5
        alarms += bool(np.any(np.delete(joint(effects, 0.95, 0).p, 1) <= 0.05))
    assert alarms / runs <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


def test_few_blocks_have_student_s_intervals_after_bonferroni() -> None:
    effects = np.random.default_rng(9).normal(size=(4, 3))
    student = stats.ttest_1samp(effects, 0).confidence_interval(1 - 0.05 / 3)
    estimates = joint(effects, 0.95, 0)
    assert estimates.low == pytest.approx(student.low)
    assert estimates.high == pytest.approx(student.high)


def test_bounds_from_drawn_flips_are_close_to_student_s() -> None:
    effects = np.random.default_rng(10).normal(size=(24, 2))
    student = stats.ttest_1samp(effects, 0).confidence_interval(1 - 0.05 / 2)
    estimates = joint(effects, 0.95, 3)
    assert estimates.low == pytest.approx(student.low, abs=0.1)
    assert estimates.high == pytest.approx(student.high, abs=0.1)
    assert np.all(estimates.p >= 1 / 20_000)
