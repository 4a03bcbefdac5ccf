"""Printed percentages against printed values: only rounding explains a difference."""

from __future__ import annotations

from typing import Literal

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings
from scipy import stats

from schedlab.analysis.gains import differences, disagreements, recompute, relative_gains, summary_test
from schedlab.results.imported import Cell, Table, TableRow
from schedlab.results.metrics import Direction

EXAMPLES = settings(max_examples=200, deadline=None, derandomize=True)


def _table(
    cells: list[tuple[str, str]],
    direction: Direction | None = "higher",
    gains: Literal["improvement", "change"] = "improvement",
    baseline: int = 0,
) -> Table:
    """A table of one row. Each cell has a printed value and change, which may be empty."""
    row_cells = tuple(
        Cell(float(value.replace(",", "")) if value else None, value, float(gain) if gain else None, gain)
        for value, gain in cells
    )
    row = TableRow("Hmean", "64", {}, "", direction, row_cells, 7)
    names = tuple(f"column {k}" for k in range(len(cells)))
    return Table("mmtests", "", "", names, (row,), 1, baseline, gains)


@pytest.mark.parametrize(
    ("base", "value", "gain", "direction", "agrees"),
    [
        # tbench4 and pipetest of the schedstats report: 100·1017.92/984.66 − 100 = 3.378; 100 − 100·3.99/4.13 = 3.390.
        ("984.66", "1017.92", "3.38", "higher", True),
        ("984.66", "1017.92", "3.39", "higher", False),
        ("4.13", "3.99", "3.39", "lower", True),
        # 4.13 and 3.99 have two decimals, so rounding explains any gain from 3.15 to 3.63.
        ("4.13", "3.99", "3.16", "lower", True),
        ("4.13", "3.99", "3.14", "lower", False),
        # 31 to 28 is -9.677 %: rounded to -9.68, or cut off to -9.67.
        ("31", "28", "8.33", "lower", True),
        ("31.0000", "28.0000", "9.68", "lower", True),
        ("31.0000", "28.0000", "9.67", "lower", True),
        ("31.0000", "28.0000", "9.66", "lower", False),
        ("31.0000", "28.0000", "9.69", "lower", False),
        ("28.0000", "31.0000", "10.71", "higher", True),
        ("28.0000", "31.0000", "10.70", "higher", False),
        ("4.13", "3.99", "-3.39", "lower", False),
        ("4.13", "3.99", "3.39", "higher", False),
        ("1,000", "1,100", "10", "higher", True),
        ("5.129e+08", "7.286e+08", "+42.0", "higher", True),
        ("5.129e+08", "7.286e+08", "+42.2", "higher", False),
    ],
)
def test_a_printed_gain_agrees_or_not(base: str, value: str, gain: str, direction: Direction, agrees: bool) -> None:
    wrong = disagreements(_table([(base, "0.00"), (value, gain)], direction))
    assert (wrong == []) is agrees


def test_a_disagreement_has_line_row_column_both_figures_and_the_range_of_rounding() -> None:
    (wrong,) = disagreements(_table([("100.0", "0.00"), ("110.0", "12.0")]))
    assert (wrong.line, wrong.row, wrong.column, wrong.printed) == (7, "Hmean 64", "column 1", 12.0)
    assert wrong.recomputed == pytest.approx(10.0)
    # The range is 109.95 / 100.05 to 110.05 / 99.95, widened by half a unit of the last digit of 12.0. At the end
    # nearer to 0, another half allows for a script that cuts off digits.
    assert wrong.low == pytest.approx(100 * 109.95 / 100.05 - 100 - 0.1)
    assert wrong.high == pytest.approx(100 * 110.05 / 99.95 - 100 + 0.05)


def test_plain_changes_follow_the_values_in_either_direction() -> None:
    assert disagreements(_table([("10.0", ""), ("12.0", "20.0")], "lower", "change")) == []
    assert len(disagreements(_table([("10.0", ""), ("12.0", "20.0")], "lower", "improvement"))) == 1


def test_changes_are_against_the_baseline_even_if_it_is_not_the_first_column() -> None:
    table = _table([("110.00", "10.00"), ("100.00", "0.00")], baseline=1)
    assert [(c.column, c.agrees) for c in recompute(table)] == [("column 0", True)]


@pytest.mark.parametrize(
    "cells",
    [
        [("", ""), ("12.0", "20.0")],
        [("10.0", ""), ("", "20.0")],
        [("10.0", ""), ("12.0", "")],
        # The unrounded value may be any value up to 0.005.
        [("0.00", "0.00"), ("12.0", "-99.0")],
        # The changes are over a column that is not shown.
        [("10.0", "5.00"), ("12.0", "20.0")],
    ],
)
def test_nothing_is_recomputed_without_values(cells: list[tuple[str, str]]) -> None:
    assert recompute(_table(cells)) == []


def test_a_value_converted_to_another_unit_keeps_the_printed_precision() -> None:
    # "1.96s" next to "917.71ms": half a unit of the first figure is 5 ms.
    row = TableRow("lock", "", {}, "ms", "lower", (Cell(1960.0, "1.96s"), Cell(917.71, "917.71", -53.0, "-53")), 3)
    table = Table("columns", "", "", ("a", "b"), (row,), 1, gains="change")
    (check,) = recompute(table)
    assert check.agrees
    assert check.low == pytest.approx(100 * 917.705 / 1965 - 100 - 0.5)


@pytest.mark.slow
@EXAMPLES
@given(
    st.floats(0.5, 1e6),
    st.floats(0.5, 1e6),
    st.integers(0, 4),
    st.integers(0, 3),
    st.sampled_from(["higher", "lower"]),
)
def test_a_gain_computed_before_rounding_always_agrees(
    base: float, value: float, places: int, digits: int, direction: Direction
) -> None:
    assume(round(base, places) > 0)
    gain = 100 * value / base - 100
    gain = gain if direction == "higher" else -gain
    table = _table([(f"{base:.{places}f}", ""), (f"{value:.{places}f}", f"{gain:.{digits}f}")], direction)
    assert disagreements(table) == []


@pytest.mark.slow
@EXAMPLES
@given(st.floats(100, 1e6), st.floats(100, 1e6), st.floats(0.5, 50))
def test_a_gain_with_an_error_beyond_rounding_never_agrees(base: float, value: float, off: float) -> None:
    gain = 100 * value / base - 100 + off
    # Values of at least 100 with an error of 0.005 change the quotient (at most 10,000) by at most 0.0001 of its value.
    assume(off > 0.02 + 0.0002 * (100 + abs(gain)))
    assert len(disagreements(_table([(f"{base:.2f}", ""), (f"{value:.2f}", f"{gain:.2f}")]))) == 1


def _cell(
    mean: float, spread: float, kind: Literal["standard deviation", "standard error", "unknown"], n: int | None
) -> Cell:
    return Cell(mean, f"{mean}", spread_percent=spread, spread_kind=kind, n=n)


def test_the_test_from_summaries_equals_the_test_of_the_samples() -> None:
    generator = np.random.default_rng(1)
    old, new = generator.normal(100, 3, 12), generator.normal(103, 6, 9)
    expected = stats.ttest_ind(new, old, equal_var=False)
    by_deviation = [
        _cell(float(x.mean()), float(100 * x.std(ddof=1) / x.mean()), "standard deviation", len(x)) for x in (old, new)
    ]
    by_error = [
        _cell(float(x.mean()), float(100 * stats.sem(x) / x.mean()), "standard error", len(x)) for x in (old, new)
    ]
    for base, other in (by_deviation, by_error):
        test = summary_test(base, other)
        assert test is not None
        assert test.statistic == pytest.approx(expected.statistic)
        assert test.p == pytest.approx(expected.pvalue)
        assert test.freedom == pytest.approx(expected.df)
        assert test.change == pytest.approx(100 * new.mean() / old.mean() - 100)


def test_the_slow_start_measurements_distinguish_numa_from_not_numa() -> None:
    # !NUMA and +NUMA of the report, with ten repeats: se 0.1812 and 0.1385 s, t = 0.8812 / 0.2281.
    test = summary_test(
        _cell(45.291088843, 0.40, "standard error", 10), _cell(46.172308123, 0.30, "standard error", 10)
    )
    assert test is not None
    assert test.statistic == pytest.approx(3.864, abs=0.001)
    assert test.change == pytest.approx(1.9457, abs=0.0001)
    assert test.p < 0.002


@pytest.mark.parametrize(
    ("base", "other"),
    [
        (_cell(10, 1, "unknown", 10), _cell(11, 1, "standard error", 10)),
        (_cell(10, 1, "standard error", None), _cell(11, 1, "standard error", 10)),
        (_cell(10, 1, "standard error", 10), _cell(11, 1, "standard error", 1)),
        (_cell(10, 0, "standard error", 10), _cell(11, 0, "standard error", 10)),
        (Cell(10.0, "10"), _cell(11, 1, "standard error", 10)),
        (Cell(None), _cell(11, 1, "standard error", 10)),
    ],
)
def test_there_is_no_test_without_repeats_or_a_known_spread(base: Cell, other: Cell) -> None:
    assert summary_test(base, other) is None


def test_relative_gains_are_per_cent_of_the_baseline_or_missing() -> None:
    assert relative_gains([3.0, 2.0, None, 1.0], 1, negate=False) == [50.0, None, None, -50.0]
    assert relative_gains([3.0, 2.0, None, 1.0], 1, negate=True) == [-50.0, None, None, 50.0]
    assert relative_gains([None, 2.0], 0, negate=False) == [None, None]
    assert relative_gains([1e-300, 1e300], 0, negate=False) == [None, None]


@pytest.mark.parametrize(("base", "value"), [(-5.0, 5.0), (-5.0, -4.0), (5.0, -5.0), (0.0, 2.0), (-0.0, 0.0)])
def test_a_change_from_0_or_across_0_or_of_negative_values_is_a_difference(base: float, value: float) -> None:
    assert relative_gains([base, value], 0, negate=False) == [None, None]
    assert differences([base, value], 0) == [None, value - base]


def test_a_change_that_is_a_ratio_has_no_difference() -> None:
    assert differences([5.0, 0.0, None], 0) == [None, None, None]
    assert relative_gains([5.0, 0.0], 0, negate=False) == [None, -100.0]


def test_equal_values_have_a_gain_of_positive_0_in_either_direction() -> None:
    for negate in (False, True):
        (_, gain) = relative_gains([5.0, 5.0], 0, negate=negate)
        assert str(gain) == "0.0"


def test_printed_gains_of_negative_values_are_not_recomputed() -> None:
    assert recompute(_table([("-5.0", ""), ("5.0", "200.00")])) == []
    assert recompute(_table([("5.0", ""), ("-5.0", "-200.00")])) == []
