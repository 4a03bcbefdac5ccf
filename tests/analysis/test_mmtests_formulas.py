"""Formulas of the MMTests view against their definitions in Python's statistics module."""

from __future__ import annotations

import statistics
from math import isnan, nan, sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from schedlab.analysis.distributions import ColumnRow, Columns
from schedlab.analysis.mmtests import Layout, View, view
from schedlab.analysis.mmtests.formulas import Samples, gain, variation
from schedlab.analysis.mmtests.stars import intervals_apart, two_sided_t
from schedlab.results.metrics import Direction

SAMPLE = st.floats(min_value=1e-3, max_value=1e6)
SAMPLES = st.lists(SAMPLE, min_size=1, max_size=60)
DIRECTION = st.sampled_from(["lower", "higher"])
PERCENT = st.sampled_from([1, 5, 10, 25, 50, 75, 90, 93, 95, 99])


def close(expected: float) -> object:
    return pytest.approx(expected, rel=1e-9, abs=1e-9 if isnan(expected) else 0, nan_ok=True)


def samples_of(values: list[float], direction: Direction) -> Samples:
    return Samples(np.array(values), direction)


def best(values: list[float], direction: Direction, percent: int) -> list[float]:
    ordered = sorted(values, reverse=direction == "higher")
    return ordered[: max(len(values) * percent // 100, 1)]


def mean(values: list[float], direction: Direction) -> float:
    return statistics.harmonic_mean(values) if direction == "higher" else statistics.fmean(values)


@given(SAMPLES, DIRECTION)
def test_the_mean_is_harmonic_where_higher_is_better_and_arithmetic_where_lower_is(
    values: list[float], direction: Direction
) -> None:
    samples = samples_of(values, direction)
    assert samples.mean == close(mean(values, direction))
    assert samples.arithmetic_mean == close(statistics.fmean(values))
    assert (samples.minimum, samples.maximum) == (min(values), max(values))


@given(SAMPLES, DIRECTION, PERCENT)
def test_means_and_percentiles_of_the_best_count_from_the_best(
    values: list[float], direction: Direction, percent: int
) -> None:
    chosen = best(values, direction, percent)
    samples = samples_of(values, direction)
    assert samples.best_mean(percent) == close(mean(chosen, direction))
    assert samples.percentile(percent) == chosen[-1]


@given(st.lists(SAMPLE, min_size=2, max_size=60), DIRECTION)
def test_deviations_are_around_the_printed_mean(values: list[float], direction: Direction) -> None:
    samples = samples_of(values, direction)
    tiny = 1e-6 * max(values)  # equal samples deviate only by rounding
    arithmetic = statistics.stdev(values)
    assert samples.standard_deviation == pytest.approx(arithmetic, rel=1e-6, abs=tiny)
    assert samples.population_deviation == pytest.approx(statistics.pstdev(values), rel=1e-6, abs=tiny)
    centre = statistics.harmonic_mean(values)
    harmonic = centre**2 * sqrt(sum((1 / value - 1 / centre) ** 2 for value in values) / len(values))
    expected = harmonic if direction == "higher" else arithmetic
    assert samples.deviation == pytest.approx(expected, rel=1e-6, abs=tiny)


@given(SAMPLES, st.sampled_from([25, 50, 75, 90, 93, 95, 99]))
def test_quartiles_of_2016_take_the_nearest_rank(values: list[float], percent: int) -> None:
    index = int((len(values) - 1) * percent / 100 + 0.5)
    assert samples_of(values, "lower").nearest_rank(percent) == sorted(values)[index]


@given(SAMPLES, st.sampled_from([1, 5, 10, 50, 90, 95, 99]))
def test_best_means_of_2016_use_one_more_sample_or_all_samples(values: list[float], percent: int) -> None:
    taken = len(values) * percent // 100
    chosen = sorted(values)[: taken + 1] if taken else values
    assert samples_of(values, "lower").old_best_mean(percent) == close(statistics.fmean(chosen))


@given(SAMPLE, SAMPLE)
def test_a_gain_is_positive_when_better(value: float, baseline: float) -> None:
    assert gain(value, baseline, "higher") == pytest.approx(100 * value / baseline - 100, rel=1e-9, abs=1e-9)
    assert gain(value, baseline, "lower") == pytest.approx(100 - 100 * value / baseline, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("value", "baseline"), [(2.0, 0.0), (5.0, -5.0), (-5.0, 5.0), (-4.0, -5.0), (0.0, -5.0)])
def test_a_change_from_0_or_less_or_to_less_than_0_has_no_gain(value: float, baseline: float) -> None:
    assert isnan(gain(value, baseline, "higher"))
    assert isnan(gain(value, baseline, "lower"))


def test_gains_at_zero() -> None:
    assert gain(0.0, 0.0, "lower") == gain(-5.0, -5.0, "lower") == 0
    assert (gain(0.0, 2.0, "higher"), gain(0.0, 2.0, "lower")) == (-100, 100)
    assert isnan(gain(nan, 1.0, "lower"))
    assert isnan(gain(1.0, nan, "lower"))


def test_statistics_without_enough_samples_are_nan() -> None:
    single, none_positive = samples_of([3.0], "lower"), samples_of([5.0, 0.0], "higher")
    assert isnan(single.deviation)
    assert isnan(samples_of([3.0], "higher").deviation)
    assert isnan(none_positive.mean)
    assert isnan(none_positive.deviation)
    assert none_positive.best_mean(50) == 5
    assert isnan(variation(1.0, 0.0))


@given(st.integers(2, 12).flatmap(lambda n: st.tuples(*[st.lists(st.integers(1, 99), min_size=n, max_size=n)] * 2)))
def test_the_rule_of_2018_is_student_s_test_for_equal_numbers_of_samples(pair: tuple[list[float], ...]) -> None:
    baseline, other = pair
    assume(len(set(baseline)) > 1 and len(set(other)) > 1)
    p = stats.ttest_ind(baseline, other, equal_var=True).pvalue
    assume(abs(p - 0.1) > 1e-6)
    assert two_sided_t(samples_of(baseline, "lower"), samples_of(other, "lower")) == (p < 0.1)


def test_the_rule_of_2018_without_spread_stars_any_difference() -> None:
    assert two_sided_t(samples_of([1.0], "lower"), samples_of([1.1], "lower"))
    assert not two_sided_t(samples_of([1.0], "lower"), samples_of([1.0, 1.0], "lower"))


@given(st.lists(SAMPLE, min_size=2, max_size=30), st.lists(SAMPLE, min_size=2, max_size=30), DIRECTION)
def test_the_rule_of_2024_compares_the_difference_with_the_sum_of_both_deviations(
    baseline: list[float], other: list[float], direction: Direction
) -> None:
    first, second = samples_of(baseline, direction), samples_of(other, direction)
    difference, reach = abs(first.mean - second.mean), 1.959963984540054 * (first.deviation + second.deviation)
    if abs(difference - reach) > 1e-5 * max(difference, reach) and reach > 1e-6 * max(first.mean, second.mean):
        assert intervals_apart(first, second) == (difference > reach)


def test_the_rule_of_2024_never_stars_a_difference_of_three_deviations_however_many_samples() -> None:
    noise = np.tile([-1.0, 1.0], 50_000)
    assert not intervals_apart(Samples(100 + noise, "lower"), Samples(103 + noise, "lower"))
    assert intervals_apart(Samples(100 + noise, "lower"), Samples(104 + noise, "lower"))


def test_the_rule_of_2024_without_spread_compares_the_difference_with_1() -> None:
    assert not intervals_apart(samples_of([1.0, 1.0], "lower"), samples_of([1.9, 1.9], "lower"))
    assert intervals_apart(samples_of([1.0, 1.0], "lower"), samples_of([2.1, 2.1], "lower"))
    assert not intervals_apart(samples_of([1.0], "lower"), samples_of([9.0], "lower"))


def shown(rows: list[ColumnRow], layout: Layout = "current") -> View:
    return view(Columns(("base", "new"), tuple(rows)), layout=layout)


def one_row(workload: str, direction: Direction, *cells: list[float] | None, label: str = "") -> ColumnRow:
    samples = tuple(None if cell is None else np.array(cell) for cell in cells)
    return ColumnRow(workload, "figure", "s", direction, {"n": 1}, samples, label=label, decimals=2)


@given(SAMPLES, SAMPLES, DIRECTION, st.sampled_from(["hackbench", "perfpipe", "tbench", "pipetest"]))
def test_each_line_has_the_gain_of_its_own_direction(
    baseline: list[float], other: list[float], direction: Direction, workload: str
) -> None:
    (table,) = shown([one_row(workload, direction, baseline, other)]).tables
    for line in table.lines:
        first, second = line.cells
        lower = direction == "lower" or line.operation.endswith(("Stddev", "CoeffVar"))
        if first.value is None or second.value is None:
            assert second.gain is None
        elif first.value:
            share = 100 * second.value / first.value
            expected = 100 - share if lower else share - 100
            assert second.gain == pytest.approx(expected, rel=1e-9, abs=1e-9)
            assert first.gain == 0


@pytest.mark.parametrize("layout", ["current", "2019", "2016"])
def test_a_cell_without_samples_is_empty_in_every_line(layout: Layout) -> None:
    rows = [one_row("hackbench", "lower", [1.0, 2.0], None), one_row("tbench", "higher", None, [1.0, 2.0])]
    for table in shown(rows, layout).tables:
        for line in table.lines:
            assert [cell.gain for cell in line.cells if cell.value is not None] in ([0.0], [None])
            assert sum(cell.value is None for cell in line.cells) == 1


def test_rows_of_a_benchmark_share_a_table_by_unit_and_direction() -> None:
    rows = [
        one_row("a", "lower", [1.0], [1.0], label="one"),
        one_row("b", "lower", [1.0], [1.0]),
        one_row("a", "lower", [1.0], [1.0], label="two"),
        one_row("a", "higher", [1.0], [1.0]),
    ]
    tables = shown(rows).tables
    assert [(table.workload, table.direction) for table in tables] == [("a", "lower"), ("b", "lower"), ("a", "higher")]
    assert [line.label for line in tables[0].lines[:4]] == ["one", "two", "one", "two"]


def test_a_table_of_six_samples_has_no_percentile_that_is_a_sample_at_the_end() -> None:
    rows = [one_row("schbench", "lower", [float(value) for value in range(6)], [2.0] * 6)]
    every, few = (view(Columns(("base", "new"), tuple(rows)), every=every).tables[0].lines for every in (True, False))
    left_out = {line.operation for line in every} - {line.operation for line in few}
    assert left_out == {"Pctile.95", "BAmean.95"}
