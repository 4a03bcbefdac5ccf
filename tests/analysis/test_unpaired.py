"""Unpaired groups: scipy's figures, the words of paired rows, and unknown results."""

from __future__ import annotations

from math import exp, inf, isnan, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from schedlab.analysis.unpaired import (
    NO_SPREAD,
    Group,
    UnpairedRow,
    group,
    judge_unpaired,
    unpaired_warnings,
)
from schedlab.analysis.verdicts import Options, Question, Verdict
from schedlab.analysis.warnings import Kind

TIME = Question("w", "{}", "time", "s", "lower")
positive = st.lists(st.floats(0.5, 2), min_size=2, max_size=12, unique=True).map(np.array)


def row(*groups: list[float] | None, question: Question = TIME, independent: bool = True) -> UnpairedRow:
    columns = (None if values is None else Group(np.array(values), independent) for values in groups)
    return UnpairedRow(question, tuple(columns))


def compared(baseline: np.ndarray, variant: np.ndarray, confidence: float, *, ranks: bool = True) -> Verdict:
    """The verdict of a single row, whose p needs no correction."""
    rows = [UnpairedRow(TIME, (Group(baseline, True), Group(variant, True)))]
    (verdict,) = judge_unpaired(rows, ["base", "new"], Options(alpha=1 - confidence), ranks=ranks)
    return verdict


@given(positive, positive)
def test_ratio_interval_and_p_are_scipy_s_welch_on_logarithms(baseline: np.ndarray, variant: np.ndarray) -> None:
    welch = stats.ttest_ind(np.log(variant), np.log(baseline), equal_var=False)
    low, high = welch.confidence_interval(0.9)
    verdict = compared(baseline, variant, 0.9, ranks=False)
    assert verdict.p == pytest.approx(welch.pvalue, rel=1e-6, abs=1e-12)
    assert (verdict.low, verdict.high) == pytest.approx((exp(low), exp(high)), rel=1e-6)
    assert verdict.ratio == pytest.approx(stats.gmean(variant) / stats.gmean(baseline))
    assert verdict.n == min(len(baseline), len(variant))


def test_mann_whitney_s_p_is_beside_welch_s() -> None:
    # All five values of one group exceed all five values of the other group: 2 of the 252 ways to choose five of ten.
    verdict = compared(np.arange(1.0, 6.0), np.arange(6.0, 11.0), 0.95)
    assert verdict.p_mann_whitney == pytest.approx(2 / 252)


def test_a_comparison_of_unequal_spreads_done_by_hand() -> None:
    """Four logarithms per group, variances 1/3 and 6: error² = 1/12 + 6/4 = 1.58333, t = 3 / 1.25831 = 2.38415, degrees
    of freedom = 1.58333² / ((1/12)²/3 + 1.5²/3) = 3.33231."""
    verdict = compared(np.exp([0.0, 1.0, 0.0, 1.0]), np.exp([0.5, 3.5, 3.5, 6.5]), 0.95)
    assert log(verdict.ratio) == pytest.approx(3.0)
    assert verdict.p == pytest.approx(2 * stats.t.sf(2.38415, 3.33231), rel=1e-5)
    assert log(verdict.high) - 3.0 == pytest.approx(1.25831 * stats.t.ppf(0.975, 3.33231), rel=1e-5)


@given(positive, positive)
def test_swapping_baseline_and_variant_inverts_the_ratio_and_keeps_p(baseline: np.ndarray, variant: np.ndarray) -> None:
    forward = compared(baseline, variant, 0.95)
    backward = compared(variant, baseline, 0.95)
    assert (backward.ratio, backward.low, backward.high) == pytest.approx(
        (1 / forward.ratio, 1 / forward.high, 1 / forward.low), rel=1e-9
    )
    assert (backward.p, backward.p_mann_whitney) == pytest.approx((forward.p, forward.p_mann_whitney))


@pytest.mark.parametrize("zero", [0.0, -1.0])
def test_values_of_zero_and_below_have_no_ratio(zero: float) -> None:
    (verdict,) = judge_unpaired([row([1.0, zero], [1.0, 2.0])], ["base", "new"], Options())
    assert "has no ratio" in verdict.reason


def test_single_values_and_values_without_spread_have_a_ratio_and_no_p() -> None:
    single = compared(np.array([2.0]), np.array([3.0, 3.1]), 0.95)
    same = compared(np.full(4, 2.0), np.full(4, 3.0), 0.95)
    for verdict in (single, same):
        assert verdict.ratio == pytest.approx(1.5, rel=0.02)
        assert isnan(verdict.p)
        assert isnan(verdict.low)
    few, flat = judge_unpaired([row([2.0], [3.0, 3.1]), row([2.0] * 4, [3.0] * 4)], ["base", "new"], Options())
    assert few.reason == "one value of base: no spread to judge by"
    assert flat.reason == NO_SPREAD
    assert {few.word, flat.word} == {"inconclusive"}


@pytest.mark.parametrize(("below", "above"), [(17.0, 19.0), (0.1, 0.3), (4881.16, 5409.0)])
def test_equal_values_have_no_spread_however_their_mean_is_rounded(below: float, above: float) -> None:
    for n in (3, 5, 7, 10):
        verdict = compared(np.full(n, below), np.full(n, above), 0.95, ranks=False)
        assert isnan(verdict.p), n
        assert isnan(verdict.low)


NOISE = [0.001, -0.002, 0.0005, 0.0015, -0.001, 0.002, -0.0005, -0.0015]


def values_near(factor: float) -> list[float]:
    return [factor * (1 + noise) for noise in NOISE]


@pytest.mark.parametrize(
    ("direction", "factor", "word"),
    [("lower", 0.95, "better"), ("lower", 1.05, "worse"), ("higher", 0.95, "worse"), ("lower", 1.0, "equivalent")],
)
def test_unpaired_rows_have_the_verdict_words_of_paired_rows(direction: str, factor: float, word: str) -> None:
    question = Question("w", "{}", "m", "s", direction)  # type: ignore[arg-type]
    (verdict,) = judge_unpaired(
        [row(values_near(1.0), values_near(factor), question=question)], ["base", "new"], Options()
    )
    assert (verdict.word, verdict.method, verdict.n) == (word, "unpaired", 8)
    assert 0 < verdict.p_mann_whitney <= 1


def test_rows_are_corrected_together_and_missing_groups_are_named() -> None:
    rows = [
        row(values_near(1.0), values_near(1.002)),
        row(values_near(1.0), None),
        row(values_near(1.0), values_near(1.0)),
    ]
    first, missing, _ = judge_unpaired(rows, ["base", "new"], Options(), ranks=False)
    assert first.p_adjusted == pytest.approx(min(1.0, 3 * first.p))
    assert missing.reason == "no measurement of new"
    assert isnan(missing.ratio)
    assert isnan(first.p_mann_whitney)


def test_verdicts_come_row_by_row_in_the_order_of_columns() -> None:
    rows = [
        row(values_near(1.0), values_near(1.1), values_near(1.2)),
        row(values_near(2.0), values_near(2.1), values_near(2.2)),
    ]
    verdicts = judge_unpaired(rows, ["base", "b", "a"], Options())
    assert [(v.variant, round(v.baseline_mean)) for v in verdicts] == [("b", 1), ("a", 1), ("b", 2), ("a", 2)]


def test_a_group_is_block_means_where_there_are_several_blocks() -> None:
    samples = np.array([1.0, 3.0, 5.0, 7.0])
    several, only = group(samples, [2.0, 6.0]), group(samples, [4.0])
    assert (several.values.tolist(), several.independent) == ([2.0, 6.0], True)
    assert (only.values.tolist(), only.independent) == ([1.0, 3.0, 5.0, 7.0], False)


def test_order_effects_and_pooled_samples_cause_warnings() -> None:
    names = ["base", "new"]
    blocks = list(unpaired_warnings([row([1.0], [1.0])], names))
    pooled = list(unpaired_warnings([row([1.0], [1.0], independent=False)], names))
    assert [warning.kind for warning in blocks] == [Kind.UNPAIRED]
    assert blocks[0].seen.startswith("new and base were not measured in turn")
    assert [warning.kind for warning in pooled] == [Kind.UNPAIRED, Kind.POOLED]
    assert all(warning.todo for warning in pooled)
    assert not list(unpaired_warnings([row([1.0], None)], names))


@pytest.mark.slow
def test_false_alarms_of_independent_groups_stay_within_alpha() -> None:
    rng, runs = np.random.default_rng(19), 2000
    alarms = sum(compared(*rng.lognormal(0, 0.03, size=(2, 8)), 0.95, ranks=False).p <= 0.05 for _ in range(runs))
    assert alarms / runs <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


def test_the_minimum_detectable_effect_has_its_nominal_power() -> None:
    noisy = np.random.default_rng(2).normal(1, 0.05, size=(2, 8))
    (verdict,) = judge_unpaired([row(*noisy.tolist())], ["base", "new"], Options())
    assert verdict.word == "inconclusive"
    assert 0.02 < verdict.detectable < inf
    assert verdict.blocks_needed is None


@pytest.mark.parametrize(
    ("small", "large", "warned"), [(2, 2, True), (3, 20, True), (5, 5, False), (6, 20, True), (10, 30, False)]
)
def test_groups_too_small_or_too_unequal_for_the_test_cause_a_warning(small: int, large: int, warned: bool) -> None:
    groups = [1.0 + 0.01 * i for i in range(small)], [1.0 + 0.01 * i for i in range(large)]
    kinds = {warning.kind for warning in unpaired_warnings([row(*groups)], ["base", "new"])}
    assert (Kind.GROUPS in kinds) == warned


def test_values_that_are_not_finite_have_a_separate_reason() -> None:
    verdict = compared(np.array([1.0, 2.0, inf]), np.array([1.0, 2.0, 3.0]), 0.95)
    assert verdict.reason == "a value is not a finite number: no test is possible"
    assert isnan(verdict.p)


def test_a_ratio_beyond_the_largest_double_is_infinite() -> None:
    verdict = compared(np.array([1e-200, 2e-200, 3e-200]), np.array([1e200, 2e200, 3e200]), 0.95)
    assert (verdict.word, verdict.ratio) == ("worse", inf)


def test_printed_means_are_geometric_and_have_the_ratio_of_the_change() -> None:
    verdict = compared(np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 90.0]), 0.95)
    assert verdict.baseline_mean == pytest.approx(2.0)
    assert verdict.mean / verdict.baseline_mean == pytest.approx(verdict.ratio)
    assert verdict.arithmetic_ratio == pytest.approx(94 / 7)
