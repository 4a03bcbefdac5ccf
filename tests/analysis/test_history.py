"""Levels of runs, and change points of series."""

from __future__ import annotations

from itertools import permutations
from math import comb, exp, isnan, sqrt

import numpy as np
import pytest
from scipy import stats

from schedlab.analysis import history
from schedlab.analysis.history import ALPHA, LEAST_RUNS, change_points, level, shown_at


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


def test_the_least_number_of_runs_is_the_least_with_so_few_orders() -> None:
    # The two halves may change places; a series of an odd number has two middles.
    assert 2 / comb(LEAST_RUNS, LEAST_RUNS // 2) <= ALPHA < 2 / comb(LEAST_RUNS - 1, (LEAST_RUNS - 1) // 2)


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
    values = series((20, 1.0), (20, 1.05), (20, 1.02))
    first, second = change_points(values)
    shown = shown_at(values, 0, first.index)
    assert not change_points(values[:shown])
    assert [each.index for each in change_points(values[: shown + 1])] == [first.index]
    assert first.index < shown < 30
    assert shown_at(values[: shown + 1], 0, first.index) == shown
    assert second.index < shown_at(values, first.index, second.index) < 60


def test_p_is_the_share_of_permutations_with_a_larger_difference() -> None:
    values = [1.0, 1.3, 1.1, 1.9, 2.2, 2.4]

    def largest(row: tuple[float, ...]) -> float:
        n = len(row)
        logs = np.log(row)
        return max(
            float(abs(logs[:k].mean() - logs[k:].mean())) * sqrt(k * (n - k) / n) for k in range(2, n - 1)
        )  # fmt: skip

    observed = largest(tuple(values))
    every = [largest(row) >= observed * (1 - 1e-9) for row in permutations(values)]
    (change,) = change_points(values, alpha=0.5)
    assert change.index == 3
    assert change.p == pytest.approx(np.mean(every), abs=0.02)


def test_the_chance_that_a_permutation_reaches_a_statistic_is_below_its_bound() -> None:
    random = np.random.default_rng(3)
    part = random.standard_normal(400)
    reached = history._largest(random.permuted(np.broadcast_to(part, (5_000, len(part))), axis=1))[0]
    for statistic in np.quantile(reached, [0.9, 0.99, 0.999, 1]):
        assert np.mean(reached >= statistic) <= history._bound(part, float(statistic))
    assert history._bound(part, 2 * float(reached.max())) < 0.1, "a bound that is never small says nothing"


@pytest.mark.slow
def test_series_without_change_have_false_alarms_at_most_as_often_as_stated() -> None:
    random = np.random.default_rng(7)
    alarms = sum(bool(change_points(np.exp(random.standard_t(3, 40) * 0.02).tolist(), alpha=0.05)) for _ in range(400))
    assert alarms <= 400 * 0.05 + 2 * sqrt(400 * 0.05 * 0.95)
