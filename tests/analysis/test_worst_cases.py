"""Verdicts on worst cases and on rows with a value of 0."""

from __future__ import annotations

from itertools import pairwise, product
from math import exp, inf, isnan, nan

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from schedlab.analysis import ranks
from schedlab.analysis.cells import average_blocks
from schedlab.analysis.distributions import CellSamples
from schedlab.analysis.judging import UNEQUAL_TIMES, judge
from schedlab.analysis.rates import Totals
from schedlab.analysis.scales import compare
from schedlab.analysis.verdicts import Options, Question, Verdict

LONGEST = Question("noise", "{}", "gap-longest", "us", "lower", worst=True)
RATE = Question("noise", "{}", "cause-per-second", "1/s", "lower", seconds=12.0)

Trials = dict[str, list[list[float]]]


def verdict_of(question: Question, values: Trials, **options: object) -> Verdict:
    """The verdict on the iterations of each block, by variant."""
    rows = [
        (question.workload, question.parameters, question.metric, variant, block, value)
        for variant, blocks in values.items()
        for block, iterations in enumerate(blocks, start=1)
        for value in iterations
    ]
    names = ["workload", "parameters", "metric", "variant", "block", "value"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    (verdict,) = judge(frame, [question], ["base", "new"], None, Options(**options))  # type: ignore[arg-type]
    return verdict


def alone(values: list[float]) -> list[list[float]]:
    return [[value] for value in values]


WORST = [90.0, 120.0, 80.0, 5000.0, 110.0, 95.0, 130.0, 100.0]
HALVED = [value / 2 * (1 + 0.01 * block) for block, value in enumerate(WORST)]


def test_the_worst_of_a_block_is_the_worst_of_its_trials_and_not_their_mean() -> None:
    base = [[10.0, value, 20.0] for value in WORST]
    verdict = verdict_of(LONGEST, {"base": base, "new": [[1.0, 1.0, value] for value in HALVED]})
    assert verdict.baseline_mean == np.median(WORST)
    assert verdict.mean == pytest.approx(np.median(HALVED))
    assert verdict.word == "better"
    assert verdict.statistic == "ranks"


def test_the_worst_of_a_metric_of_which_more_is_better_is_the_least() -> None:
    question = Question("w", "{}", "slowest-rate", "1/s", "higher", worst=True)
    verdict = verdict_of(question, {"base": [[value, 9e9] for value in WORST], "new": [[v, 9e9] for v in HALVED]})
    assert verdict.baseline_mean == np.median(WORST)
    assert verdict.word == "worse"


def test_average_blocks_keeps_the_worst_of_a_worst_case() -> None:
    values = np.array([3.0, 1.0, 2.0])
    cells = [
        CellSamples(1, "base", "w", "{}", 0, metric, "us", "lower", values, worst=metric == "longest")
        for metric in ("longest", "mean")
    ]
    assert average_blocks(cells)["value"].to_list() == [3.0, 2.0]


def test_a_single_huge_gap_does_not_hide_a_halved_worst_case() -> None:
    rng = np.random.default_rng(1)
    base = 100 * np.exp(0.1 * rng.standard_normal(12))
    new = 50 * np.exp(0.1 * rng.standard_normal(12))
    new[5] *= 1000
    both = {"base": alone(base.tolist()), "new": alone(new.tolist())}
    assert verdict_of(LONGEST, both).word == "better"
    assert verdict_of(Question("noise", "{}", "gap-mean", "us", "lower"), both).word == "inconclusive"


def test_blocks_with_unequal_times_are_left_out_of_worst_cases() -> None:
    base, new = [[value, value] for value in WORST], [[value, 1.0] for value in HALVED]
    new[2] = [1.0]
    assert verdict_of(LONGEST, {"base": base, "new": new}).n == 7
    refused = verdict_of(LONGEST, {"base": base, "new": alone(HALVED)})
    assert refused.word == "inconclusive"
    assert refused.reason == UNEQUAL_TIMES
    assert refused.n == 0


def test_a_worst_case_that_never_happens_again_is_better() -> None:
    verdict = verdict_of(LONGEST, {"base": alone(WORST), "new": alone([0.0] * 8)})
    assert (verdict.word, verdict.ratio, verdict.mean) == ("better", 0.0, 0.0)
    assert isnan(verdict.low)
    assert isnan(verdict.high)


def test_worst_cases_inside_the_margin_are_equivalent() -> None:
    new = [value * (1 + 0.0005 * (-1) ** block) for block, value in enumerate(WORST)]
    assert verdict_of(LONGEST, {"base": alone(WORST), "new": alone(new)}).word == "equivalent"


def test_too_few_blocks_for_ranks_name_the_needed_number() -> None:
    verdict = verdict_of(LONGEST, {"base": alone(WORST[:5]), "new": alone(HALVED[:5])})
    assert verdict.word == "inconclusive"
    assert "6 can" in verdict.reason


def test_an_interval_by_bootstrap_leaves_worst_cases_to_ranks() -> None:
    both = {"base": alone(WORST), "new": alone(HALVED)}
    assert verdict_of(LONGEST, both, interval="bootstrap").low == verdict_of(LONGEST, both).low


# Twelve decimals of log-ratios count.
decimals = st.floats(-3, 3).map(lambda value: round(value, 12))
logs = st.lists(decimals, min_size=6, max_size=12, unique=True).map(np.array)


@given(logs)
def test_p_of_ranks_is_wilcoxon_s_exact_p(values: np.ndarray) -> None:
    sizes = np.round(np.abs(values), 12)
    if (sizes == 0).any() or len(np.unique(sizes)) < len(sizes):
        return
    exact = stats.wilcoxon(np.round(values, 12), method="exact").pvalue
    assert ranks.p_centre(values, 0) == pytest.approx(exact)


@given(logs)
def test_the_interval_of_ranks_excludes_the_shifts_that_the_test_rejects(values: np.ndarray) -> None:
    bounds = ranks.interval(values, 0.95, 0)
    assert bounds is not None
    low, high = bounds
    assert low <= ranks.centre(values) <= high
    for below, above in pairwise(np.unique(ranks._walsh(values))):
        shift = (below + above) / 2
        assert (low < shift < high) == (ranks.p_centre(values - shift, 0) > 0.05)


@given(st.lists(st.sampled_from([-0.5, -0.25, 0.0, 0.0, 1e-13, 0.25, 1.0]), min_size=6, max_size=12).map(np.array))
def test_the_interval_of_equal_differences_contains_their_centre(values: np.ndarray) -> None:
    bounds = ranks.interval(values, 0.95, 0)
    assert bounds is not None
    low, high = bounds
    assert low <= ranks.centre(values) <= high
    for below, above in pairwise(np.unique(ranks._walsh(values))):
        if below == high or above == low:
            assert ranks.p_centre(values - (below + above) / 2, 0) <= 0.05


def test_shifts_beside_the_centre_of_many_equal_differences_are_rejected() -> None:
    values = np.array([0.0, 1.0, 1e-77, 1e-110, 1e-113, 1e-308, 0.0, -1.0, -2.0, -1.5])
    assert ranks.p_centre(values - 0.25, 0) < 0.05
    assert ranks.interval(values, 0.95, 0) == (-1.0, 0.0)


def test_equal_ratios_share_their_mean_rank_and_zero_has_no_sign() -> None:
    assert ranks.signed_ranks(np.array([0.0, 0.1, -0.1, 0.2, -inf])).tolist() == [0.0, 2.5, -2.5, 4.0, -5.0]


def test_a_rate_that_falls_to_zero_is_better_with_a_bound() -> None:
    base = [1.0, 13 / 12, 1.0, 1.0, 11 / 12, 1.0, 1.0, 1.0]
    verdict = verdict_of(RATE, {"base": alone(base), "new": alone([0.0] * 8)})
    assert (verdict.word, verdict.p, verdict.ratio, verdict.mean) == ("better", 2 / 256, 0.0, 0.0)
    assert verdict.low == 0.0
    # 96 events against none: Clopper & Pearson's bound of the share, as a ratio.
    share = 1 - 0.025 ** (1 / 96)
    assert verdict.high == pytest.approx(share / (1 - share))
    assert verdict.statistic == "differences"


def test_a_rate_that_appears_is_worse_and_has_a_lower_bound() -> None:
    verdict = verdict_of(RATE, {"base": alone([0.0] * 8), "new": alone([1.0] * 8)})
    assert verdict.word == "worse"
    assert verdict.ratio == verdict.high == inf
    assert 20 < verdict.low < inf


def test_a_rate_of_which_more_is_better_gets_worse_when_it_falls_to_zero() -> None:
    question = Question("w", "{}", "rate", "1/s", "higher")
    assert verdict_of(question, {"base": alone([1.0] * 8), "new": alone([0.0] * 8)}).word == "worse"


def test_rows_of_zeros_alone_have_a_reason() -> None:
    verdict = verdict_of(RATE, {"base": alone([0.0] * 8), "new": alone([0.0] * 8)})
    assert (verdict.word, verdict.reason) == ("inconclusive", "all values are 0")
    assert verdict.mean == 0.0


def test_values_below_zero_have_no_ratio() -> None:
    assert "below 0" in verdict_of(RATE, {"base": alone([1.0] * 8), "new": alone([-1.0] * 8)}).reason


def test_zeros_in_a_few_blocks_are_compared_by_totals() -> None:
    base, new = [5.0, 7.0, 6.0, 5.0, 8.0, 6.0, 7.0, 5.0], [1.0, 0.0, 1.0, 0.0, 2.0, 1.0, 0.0, 1.0]
    verdict = verdict_of(RATE, {"base": alone(base), "new": alone(new)})
    assert verdict.word == "better"
    assert verdict.ratio == pytest.approx(6 / 49)
    assert verdict.low < 6 / 49 < verdict.high < 1


def test_events_of_several_trials_count_together() -> None:
    once = verdict_of(RATE, {"base": alone([1.0] * 8), "new": alone([0.0] * 8)})
    thrice = verdict_of(RATE, {"base": [[1.0] * 3] * 8, "new": [[0.0] * 3] * 8})
    assert thrice.high < once.high / 2.9


def test_bursts_leave_a_wider_bound_than_independent_events() -> None:
    even, bursts = np.full(8, 10.0), np.array([0.0, 40.0, 0.0, 0.0, 40.0, 0.0, 0.0, 0.0])
    nothing = np.zeros(8)
    _, of_even = Totals(even, nothing, (even, nothing)).interval(0.95, 0)
    _, of_bursts = Totals(bursts, nothing, (bursts, nothing)).interval(0.95, 0)
    assert of_even < 0.1
    assert of_bursts > 1


def test_without_counts_a_block_is_a_single_event() -> None:
    _, high = Totals(np.full(8, 10.0), np.zeros(8)).interval(0.95, 0)
    share = 1 - 0.025 ** (1 / 8)
    assert high == pytest.approx(share / (1 - share))


@given(st.lists(st.integers(1, 9), min_size=6, max_size=9), st.lists(st.integers(0, 9), min_size=9, max_size=9))
def test_flips_of_differences_reject_exactly_the_ratios_outside_their_interval(
    below: list[int], above: list[int]
) -> None:
    baseline, variant = np.array(below, dtype=float), np.array(above[: len(below)], dtype=float)
    low, high = Totals(baseline, variant)._by_flips(0.95, 0)
    signs = np.array(list(product((1.0, -1.0), repeat=len(below))))
    for ratio in (0.013, 0.31, 0.77, 1.0137, 1.913, 4.77, 11.3):
        shifted = variant - ratio * baseline
        p = np.mean(np.abs(signs @ shifted) >= abs(shifted.sum()) * (1 - 1e-12))
        if min(abs(ratio - low), abs(ratio - high)) > 1e-9:
            assert (low < ratio < high) == (p > 0.05)


def test_a_row_without_zeros_keeps_its_log_ratios() -> None:
    verdict = verdict_of(RATE, {"base": alone([2.0] * 8), "new": alone([1.0] * 8)})
    assert verdict.statistic == "logs"
    assert verdict.ratio == pytest.approx(0.5)


def test_exchanging_the_variants_inverts_the_ratio_and_keeps_p() -> None:
    one = compare(dict(enumerate(WORST)), dict(enumerate(HALVED)), worst=True)
    other = compare(dict(enumerate(HALVED)), dict(enumerate(WORST)), worst=True)
    (a, b) = one.estimate(0.95, 0), other.estimate(0.95, 0)
    assert a.ratio * b.ratio == pytest.approx(1)
    assert a.low * b.high == pytest.approx(1)
    assert (one.scores == -other.scores).all()


def test_a_worst_case_without_spread_has_a_narrow_interval() -> None:
    estimate = compare(dict.fromkeys(range(8), 10.0), dict.fromkeys(range(8), 20.0), worst=True).estimate(0.95, 0)
    assert (estimate.low, estimate.high) == pytest.approx((2, 2))
    assert exp(estimate.spread) == 1


def test_an_unknown_number_of_events_is_not_a_number() -> None:
    assert isnan(compare({1: 0.0}, {1: 1.0}, worst=False).events_per_unit)
    assert compare({1: 0.0}, {1: 1.0}, worst=False, events_per_unit=nan).kind == "differences"
