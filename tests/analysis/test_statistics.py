"""Statistics compared with published results and with scipy; coverage and power."""

from __future__ import annotations

import tracemalloc
from itertools import product
from math import exp, inf, isclose, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from schedlab.analysis.multiplicity import adjust
from schedlab.analysis.paired import estimate, log_ratios, p_equivalent
from schedlab.analysis.resolution import Rule, blocks_for_a_verdict, blocks_needed, detectable, standardised
from schedlab.analysis.signflip import flips, interval, p_value, smallest_p
from schedlab.analysis.simultaneous import step_down

differences = st.lists(st.floats(-1, 1), min_size=1, max_size=9).map(lambda d: np.array(d, dtype=np.float64))
p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_differences_of_one_sign_have_the_p_of_two_flips() -> None:
    assert p_value(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), seed=0) == 2 / 32


@pytest.mark.slow
@given(differences)
def test_the_exact_p_equals_the_p_of_all_listed_flips(d: np.ndarray) -> None:
    observed, slack = abs(d.sum()), 1e-12 * np.abs(d).sum()
    counted = [abs(np.dot(signs, d)) >= observed - slack for signs in product((1, -1), repeat=len(d))]
    assert isclose(p_value(d, 0), np.mean(counted))


def test_p_of_drawn_flips_is_close_to_scipy_s_and_never_zero() -> None:
    d = np.random.default_rng(3).normal(0.3, 1, size=24)
    scipy_result = stats.permutation_test(
        (d,), lambda x, axis: np.mean(x, axis=axis), permutation_type="samples", n_resamples=19_999, vectorized=True,
        rng=np.random.default_rng(5),
    ).pvalue  # fmt: skip
    assert abs(p_value(d, 1) - scipy_result) < 0.02


@pytest.mark.parametrize("blocks", [17, 21, 40])
def test_p_beyond_all_drawn_flips_is_between_the_exact_p_and_the_share_of_one_draw(blocks: int) -> None:
    p = p_value(np.ones(blocks), 1)
    assert 2 / 2**blocks <= p <= 1 / 20_000
    assert p == smallest_p(blocks)


@pytest.mark.parametrize("n", [6, 9, 13])
def test_p_equals_scipy_s_exact_permutation_p(n: int) -> None:
    d = np.random.default_rng(n).normal(0.4, 1, size=n)
    scipy_result = stats.permutation_test(
        (d,), lambda x, axis: np.mean(x, axis=axis), permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    assert p_value(d, 0) == pytest.approx(scipy_result.pvalue, rel=1e-12)


@pytest.mark.slow
def test_a_test_of_2000_blocks_takes_less_than_100_mb() -> None:
    d = np.random.default_rng(3).normal(0.1, 1, size=2000)
    flips.cache_clear()
    tracemalloc.start()
    p_value(d, 0)
    interval(d, 0.95, 0)
    step_down(np.column_stack([d] * 20), 0)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    flips.cache_clear()
    assert most < 100e6


def test_p_is_the_same_for_the_same_seed() -> None:
    d = np.random.default_rng(3).normal(0.2, 1, size=30)
    assert p_value(d, 9) == p_value(d, 9)


@pytest.mark.parametrize("blocks", [2, 5])
def test_with_too_few_blocks_to_reject_the_interval_is_student_s_on_logs(blocks: int) -> None:
    d = np.random.default_rng(1).normal(0.02, 0.01, size=blocks)
    scipy_result = stats.ttest_1samp(d, 0.0).confidence_interval(0.95)
    estimated = estimate(d, 0.95)
    assert interval(d, 0.95, 0) is None
    assert estimated.low == pytest.approx(exp(scipy_result.low))
    assert estimated.high == pytest.approx(exp(scipy_result.high))
    assert estimated.ratio == pytest.approx(exp(d.mean()))


@given(
    st.lists(st.floats(-1, 1), min_size=6, max_size=10).map(np.array), st.floats(-1, 1), st.sampled_from([0.9, 0.95])
)
def test_the_interval_contains_the_shifts_that_the_test_does_not_reject(d: np.ndarray, at: float, level: float) -> None:
    bounds = interval(d, level, 0)
    assert bounds is not None
    low, high = bounds
    if min(abs(at - low), abs(at - high)) > 1e-9:
        assert (low < at < high) == (p_value(d - at, 0) > 1 - level)


@pytest.mark.parametrize("at", [0.0, 0.2, 0.45, 0.6, 0.9])
def test_the_interval_of_drawn_flips_is_consistent_with_their_test(at: float) -> None:
    d = np.random.default_rng(3).normal(0.5, 1, size=24)
    bounds = interval(d, 0.95, 7)
    assert bounds is not None
    assert (bounds[0] < at < bounds[1]) == (p_value(d - at, 7) > 0.05)
    scipy_result = stats.ttest_1samp(d, 0.0).confidence_interval(0.95)
    assert bounds == pytest.approx((scipy_result.low, scipy_result.high), abs=0.05)


@pytest.mark.parametrize("blocks", [6, 8, 12, 20])
@pytest.mark.parametrize("kind", ["normal", "heavy-tailed", "log-normal"])
@pytest.mark.slow
def test_the_interval_has_its_nominal_coverage(kind: str, blocks: int) -> None:
    """Log-ratios of two measurements of one distribution, shifted by 3 %; nominal 95 %."""
    rng = np.random.default_rng(17)
    draw = {
        "normal": lambda: rng.normal(1, 0.02, size=(2, blocks)),
        "heavy-tailed": lambda: np.exp(0.02 * rng.standard_t(2, size=(2, blocks))),
        "log-normal": lambda: 1 + rng.lognormal(-4, 1, size=(2, blocks)),
    }[kind]
    trials, covered = 1000, 0
    for _ in range(trials):
        above, below = draw()
        estimated = estimate(np.log(1.03 * above / below), 0.95)
        covered += estimated.low <= 1.03 <= estimated.high
    # Coverage is at least 95 %; few blocks allow only some levels (6: 96.9 %). 3 standard errors of 1000 trials: 2 %.
    assert 0.93 <= covered / trials <= 0.99


def test_ratios_are_paired_by_block_without_gaps() -> None:
    assert log_ratios({1: 2.0, 2: 4.0, 3: 8.0}, {1: 4.0, 3: 8.0, 9: 1.0}).tolist() == [log(2.0), 0.0]


def test_a_value_of_zero_has_no_ratio() -> None:
    with pytest.raises(ValueError, match="has no ratio"):
        log_ratios({1: 0.0}, {1: 1.0})


def test_equivalence_is_two_one_sided_t_tests() -> None:
    d = np.random.default_rng(2).normal(0.001, 0.004, size=10)
    upper = stats.ttest_1samp(d, log(1.01), alternative="less").pvalue
    lower = stats.ttest_1samp(d, -log(1.01), alternative="greater").pvalue
    assert p_equivalent(d, 0.01) == pytest.approx(max(upper, lower))


@given(p_values)
def test_holm_lies_between_raw_p_and_bonferroni(p: list[float]) -> None:
    for raw, adjusted in zip(p, adjust(p, "holm"), strict=True):
        assert raw <= adjusted <= min(1.0, raw * len(p)) + 1e-12


def test_holm_and_benjamini_hochberg_give_the_known_answers() -> None:
    p = [0.01, 0.04, 0.03, 0.005]
    assert adjust(p, "holm") == pytest.approx([0.03, 0.06, 0.06, 0.02])
    # 4/4 · 0.04, 4/3 · 0.03, 4/2 · 0.01 and 4/1 · 0.005; each is capped by its predecessor.
    assert adjust(p, "benjamini-hochberg") == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert adjust(p, "none") == p


@given(p_values)
def test_benjamini_hochberg_rejects_the_same_tests_as_its_step_up_rule(p: list[float]) -> None:
    """Rejects all up to the largest k with p₍k₎ ≤ k/m · α (Benjamini & Hochberg 1995), for an α that equals no p."""
    alpha, ordered = 0.0493, sorted(p)
    last = max((k for k, value in enumerate(ordered, start=1) if value <= k / len(p) * alpha), default=0)
    rejected = set(ordered[:last])
    assert [q <= alpha for q in adjust(p, "benjamini-hochberg")] == [value in rejected for value in p]


@pytest.mark.parametrize("tests", [1, 2, 3, 9, 100])
def test_one_block_fewer_than_needed_for_a_verdict_is_too_few(tests: int) -> None:
    needed = blocks_for_a_verdict(Rule(0.05 / tests))
    assert 2 / 2**needed * tests <= 0.05
    assert 2 / 2 ** (needed - 1) * tests > 0.05


@pytest.mark.parametrize("tests", [1, 100, 2_000, 50_000])
def test_the_needed_number_of_consistent_blocks_gives_a_verdict(tests: int) -> None:
    needed = blocks_for_a_verdict(Rule(0.05 / tests))
    assert p_value(np.ones(needed), 0) * tests <= 0.05
    assert p_value(np.ones(needed - 1), 0) * tests > 0.05


@pytest.mark.parametrize("rows", [1, 20])
def test_a_further_block_never_raises_the_smallest_p(rows: int) -> None:
    smallest = [smallest_p(blocks, rows) for blocks in range(1, 60)]
    assert smallest == sorted(smallest, reverse=True)


@pytest.mark.parametrize("level", [0.05, 0.003, 1e-4, 5.5e-5, 4e-5, 1e-6])
def test_every_number_of_blocks_from_the_needed_number_on_can_reject(level: float) -> None:
    """Early interim analyses have such levels."""
    needed = blocks_for_a_verdict(Rule(level))
    for blocks in range(2, 40):
        assert Rule(level).can_reject(blocks) == (blocks >= needed)
        assert (p_value(np.ones(blocks), 3) <= level) == (blocks >= needed)


@pytest.mark.parametrize("blocks", [16, 18, 24, 41])
def test_drawn_flips_differ_from_each_other_and_from_the_unflipped_order(blocks: int) -> None:
    flipped = flips(blocks, 5).flipped
    assert len(np.unique(flipped, axis=0)) == len(flipped) == 19_999
    assert flipped.sum(axis=1).min() > 0
    assert flipped.sum(axis=1).max() < blocks


@pytest.mark.parametrize("effect", [0.005, 0.01, 0.05])
def test_the_needed_blocks_are_the_fewest_that_detect_the_effect(effect: float) -> None:
    needed = blocks_needed(0.02, effect, Rule(0.05 / 3))
    assert needed is not None
    assert detectable(0.02, needed, Rule(0.05 / 3)) <= effect
    smallest = blocks_for_a_verdict(Rule(0.05 / 3))
    assert needed == smallest or detectable(0.02, needed - 1, Rule(0.05 / 3)) > effect


@pytest.mark.parametrize(("blocks", "tests"), [(6, 1), (7, 3), (8, 3), (8, 6), (12, 3)])
def test_the_power_at_the_detectable_change_is_about_80_percent(blocks: int, tests: int) -> None:
    """Measure the power of the sign-flip test at the level of the first row after correction."""
    rng = np.random.default_rng(11)
    effect = log(1 + detectable(0.02, blocks, Rule(0.05 / tests)))
    detected = np.mean([p_value(rng.normal(effect, 0.02, size=blocks), 0) <= 0.05 / tests for _ in range(600)])
    assert 0.74 < detected < 0.86


LONG = pytest.mark.verify
"""Takes ten seconds and more."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("blocks", "rows"), [(6, 20), (8, 20), (11, 60), pytest.param(13, 60, marks=LONG), pytest.param(18, 20, marks=LONG)]
)
def test_the_power_of_a_joint_test_at_the_detectable_change_is_about_80_percent(blocks: int, rows: int) -> None:
    rng = np.random.default_rng(12)
    effect = log(1 + detectable(0.02, blocks, Rule(0.05, rows)))
    rejections = 0
    for _ in range(300):
        noise = rng.normal(0, 0.02, size=(blocks, rows))
        noise[:, 0] += effect
        rejections += step_down(noise, 0)[0] <= 0.05
    assert 0.73 < rejections / 300 < 0.87


@pytest.mark.parametrize("blocks", [11, 12, 13])
def test_the_power_of_holm_s_first_step_at_the_detectable_change_is_about_80_percent(blocks: int) -> None:
    rng, rule = np.random.default_rng(13), Rule(0.05 / 40)
    effect = log(1 + detectable(0.02, blocks, rule))
    detected = np.mean([p_value(rng.normal(effect, 0.02, size=blocks), 0) <= rule.level for _ in range(400)])
    assert 0.74 < detected < 0.87


@pytest.mark.slow
@pytest.mark.parametrize(
    ("blocks", "level"), [(14, 5e-4), (15, 7e-5), (16, 5e-5), (18, 1e-4), (20, 5e-5), (25, 3e-5), (30, 1e-5)]
)
def test_the_power_at_the_strict_level_of_an_early_analysis_is_about_80_percent(blocks: int, level: float) -> None:
    rng = np.random.default_rng(14)
    effect = standardised(blocks, Rule(level))
    detected = np.mean([p_value(rng.normal(effect, 1, size=blocks), 0) <= level for _ in range(300)])
    assert 0.73 < detected < 0.87


@pytest.mark.parametrize(("blocks", "level"), [(18, 4e-5), (2, 0.0), (22, 1e-200)])
def test_a_level_that_no_change_can_reach_has_no_detectable_effect(blocks: int, level: float) -> None:
    assert detectable(0.02, blocks, Rule(level)) == inf


def test_the_joint_test_keeps_the_level_of_dependent_rows_with_missing_cells() -> None:
    rng, runs = np.random.default_rng(14), 500
    alarms = 0
    for _ in range(runs):
        d = rng.standard_t(3, size=(8, 1)) + rng.standard_t(3, size=(8, 12))
        alarms += step_down(np.where(rng.random((8, 12)) < 0.15, 0.0, d), 0).min() <= 0.05
    assert alarms / runs <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


def test_below_the_blocks_of_a_verdict_nothing_is_detectable() -> None:
    assert standardised(6, Rule(0.05 / 3)) == inf
    assert detectable(0.02, 5, Rule(0.05)) == inf


def test_extreme_noise_needs_more_than_100000_blocks() -> None:
    assert blocks_needed(50.0, 0.01, Rule(0.05)) is None


def test_p_of_an_effect_that_no_drawn_flip_reaches_is_at_most_hoeffdings_bound() -> None:
    blocks = 40
    alone = step_down(np.full((blocks, 1), 0.1), 1)
    # Σd / √Σd² is √40, so that the bound is 2·exp(−40 / 2).
    assert alone == pytest.approx([2 * exp(-20)])
    # Both effects are compared with the larger of two effects.
    assert step_down(np.full((blocks, 2), 0.1), 1) == pytest.approx([4 * exp(-20)] * 2)
