"""Levels of runs, and change points of series."""

from __future__ import annotations

from math import comb, exp, isnan, sqrt

import numpy as np
import pytest
from scipy import stats

from schedlab.analysis import level_shift
from schedlab.analysis.history import (
    ALPHA,
    LEAST_RUNS,
    Values,
    change_points,
    level,
    level_after,
    newest_shift,
    shown_at,
)
from schedlab.analysis.level_shift import LONGEST


def series(*parts: tuple[int, float], noise: float = 0.02, seed: int = 1) -> list[float]:
    """Draw values around levels: (number of values, level)."""
    random = np.random.default_rng(seed)
    return [float(mean * exp(random.normal(0, noise))) for size, mean in parts for _ in range(size)]


def test_a_level_is_the_geometric_mean_with_students_interval_of_the_logarithms() -> None:
    found = level([1.0, 2.0, 4.0])
    assert found.value == pytest.approx(2.0)
    low, high = stats.t.interval(0.95, 2, loc=np.log(2), scale=np.log(2) / sqrt(3))
    assert (found.low, found.high) == pytest.approx((exp(low), exp(high)))


def test_a_level_of_values_that_are_not_above_0_is_the_arithmetic_mean() -> None:
    found = level([0.0, 2.0, 4.0])
    assert found.value == pytest.approx(2.0)
    assert found.high - found.value == pytest.approx(found.value - found.low)


def test_a_single_block_has_no_interval() -> None:
    found = level([3.0])
    assert found.value == pytest.approx(3.0)
    assert isnan(found.low)
    assert isnan(found.high)


def test_steps_are_found_at_their_runs_with_the_levels_around_them() -> None:
    found = change_points(series((30, 1.0), (20, 1.2), (25, 0.9)))
    assert [change.index for change in found] == [30, 50]
    assert [change.before for change in found] == pytest.approx([1.0, 1.2], rel=0.02)
    assert [change.after for change in found] == pytest.approx([1.2, 0.9], rel=0.02)
    assert found[0].ratio == pytest.approx(1.2, rel=0.02)
    assert all(change.p <= ALPHA for change in found)


def test_three_runs_after_a_large_step_are_enough() -> None:
    assert [change.index for change in change_points(series((50, 1.0), (3, 1.3)))] == [50]


def test_one_run_that_differs_is_no_change() -> None:
    assert change_points([*series((30, 1.0)), 2.0]) == []
    assert change_points([*series((15, 1.0)), 2.0, *series((15, 1.0), seed=2)]) == []


def test_the_levels_of_all_tests_of_a_series_add_up_to_the_stated_probability() -> None:
    levels = [level_after(runs) for runs in range(LEAST_RUNS, 100_000)]
    assert sum(levels) == pytest.approx(ALPHA, rel=0.001)
    assert sum(levels) < ALPHA


def test_a_later_change_does_not_hide_an_earlier_change() -> None:
    values = series((40, 1.0), (40, 1.1), (40, 1.0), (40, 1.1), (40, 1.0))
    assert [change.index for change in change_points(values)] == [40, 80, 120, 160]


def test_changes_of_a_history_longer_than_a_test_are_found() -> None:
    values = series((LONGEST + 50, 1.0), (LONGEST + 50, 1.1), (20, 1.0))
    assert [change.index for change in change_points(values)] == [LONGEST + 50, 2 * LONGEST + 100]


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 3.0], [5.0] * 40])
def test_short_and_constant_series_have_no_change(values: list[float]) -> None:
    assert change_points(values) == []


def test_values_below_0_are_compared_by_differences() -> None:
    values = [x - 1.2 for x in series((20, 1.0), (20, 1.5))]
    (change,) = change_points(values)
    assert change.index == 20
    assert isnan(change.ratio)
    assert change.after - change.before == pytest.approx(0.5, abs=0.02)


def test_equal_series_have_equal_change_points() -> None:
    values = series((30, 1.0), (8, 1.05))
    assert change_points(values) == change_points(list(values))


def test_a_change_is_shown_by_the_first_value_after_which_the_test_finds_the_change() -> None:
    values = series((20, 1.0), (20, 1.08), (20, 1.02))
    first, second = change_points(values)
    assert (first.index, second.index) == (20, 40)
    shown = shown_at(values, 0, first.index)
    assert not change_points(values[:shown])
    assert [each.index for each in change_points(values[: shown + 1])] == [first.index]
    assert first.index < shown < 30
    assert shown_at(values[: shown + 1], 0, first.index) == shown
    assert second.index < shown_at(values, first.index, second.index) < 60


def test_p_of_independent_runs_is_the_share_of_permutations_with_a_larger_ratio() -> None:
    values = np.random.default_rng(13).normal(size=24)
    assert level_shift.MODELS[0] == (0, 0)
    orders = np.random.default_rng(1).permuted(np.broadcast_to(values, (4_000, 24)), axis=1)
    for statistic in (3.0, 8.0, 11.0):
        share = np.mean(level_shift._ratios(orders)[0] >= statistic)
        assert level_shift._p_value(values, statistic, 0) == pytest.approx(share, rel=0.5)


def test_p_is_at_least_the_chance_of_such_an_order() -> None:
    # 3 of 50 runs are the largest: without luck in 1 of 9,800 orders that have them at an end.
    place, p = level_shift.likely_shift(np.array([0.0, 1.0] * 23 + [0.0, 5.0, 5.0, 5.0]), 0.05) or (0, 0.0)
    assert (place, p) == (47, 2 / comb(50, 3))


def test_equal_figures_in_coarse_steps_are_no_certain_change() -> None:
    assert change_points([1.0] * 18 + [1.01] * 2) == []
    assert [change.index for change in change_points([1.0] * 18 + [1.01] * 6)] == [18]


def wandering(rho: float, count: int, runs: int, seed: int) -> Values:
    """Draw rows of runs whose neighbours are correlated; the standard deviation is 1 %."""
    fresh = np.random.default_rng(seed).standard_normal((count, runs))
    rows = np.empty_like(fresh)
    rows[:, 0] = fresh[:, 0]
    for run in range(1, runs):
        rows[:, run] = rho * rows[:, run - 1] + sqrt(1 - rho**2) * fresh[:, run]
    return np.exp(0.01 * rows)


def season(days: float, count: int, runs: int, seed: int) -> Values:
    """Draw rows of independent runs with a season whose amplitude is their standard deviation, 1 %."""
    random = np.random.default_rng(seed)
    phases = random.uniform(0, 2 * np.pi, (count, 1))
    return np.exp(0.01 * (random.standard_normal((count, runs)) + np.sin(2 * np.pi * np.arange(runs) / days + phases)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(wandering(0.0, 40, 100, 1), id="independent"),
        pytest.param(wandering(0.3, 40, 100, 2), id="AR(1) 0.3"),
        pytest.param(wandering(0.7, 40, 100, 3), id="AR(1) 0.7"),
        pytest.param(season(30, 40, 100, 4), id="season of 30 nights"),
        pytest.param(season(60, 40, 100, 5), id="season of 60 nights"),
    ],
)
def test_a_machine_whose_neighbouring_runs_are_alike_has_few_changes_however_often_its_history_is_read(
    rows: Values,
) -> None:
    alarms = sum(any(newest_shift(np.log(row[:runs])) for runs in range(16, 101, 12)) for row in rows)
    # At 5 %, 40 series have at most 6 alarms with a probability of 99 %.
    assert alarms <= 6


@pytest.mark.slow
def test_a_step_of_three_standard_deviations_is_found() -> None:
    rows = wandering(0.0, 40, 60, 6)
    rows[:, 40:] *= 1.03
    shifts = [newest_shift(np.log(row)) for row in rows]
    assert np.mean([shift is not None and abs(shift[0] - 40) <= 1 for shift in shifts]) >= 0.7
