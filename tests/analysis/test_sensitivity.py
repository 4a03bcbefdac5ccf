"""Responses, shares of the variance, and best points."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from schedlab.analysis.sensitivity import HIGHER, SEEDS, best_points, first_order, mean, response, shares

GRID = list(product(range(3), range(2), range(4)))
LEVELS = {name: [point[place] for point in GRID] for place, name in enumerate("abc")}


def test_the_interval_is_students_interval() -> None:
    values = np.array([3.0, 5.0, 4.0, 6.5])
    low, high = stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
    found = mean(values)
    assert (found.value, found.low, found.high) == pytest.approx((values.mean(), low, high))


def test_a_single_seed_has_no_interval() -> None:
    assert np.isnan(mean(np.array([3.0])).low)


def test_the_response_of_a_level_is_the_mean_over_its_points() -> None:
    values = np.array([[1.0, 3.0], [2.0, 4.0], [10.0, 10.0]])
    first, second = response(values, [0, 0, 1])
    assert (first.level, first.mean.value, first.points) == (0, 2.5, 2)
    assert (second.mean.value, second.points) == (10.0, 1)


def test_a_figure_that_one_factor_determines_has_one_source() -> None:
    values = np.array([[float(a), float(a)] for a, _, _ in GRID])
    found = {share.factors: share.share for share in shares(values, LEVELS)}
    assert found[("a",)] == pytest.approx(1)
    assert sum(found.values()) == pytest.approx(1)


def test_a_product_of_centred_factors_is_an_interaction() -> None:
    values = np.array([[(a - 1.0) * (b - 0.5)] for a, b, _ in GRID])
    found = {share.factors: share.share for share in shares(values, LEVELS)}
    assert found[("a", "b")] == pytest.approx(1)


def test_equal_values_have_no_sources() -> None:
    assert shares(np.full((24, 3), 0.1), LEVELS) == []


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=48, max_size=48))
def test_the_shares_add_up_to_the_whole(values: list[float]) -> None:
    found = shares(np.array(values).reshape(24, 2), LEVELS)
    assert not found or sum(share.share for share in found) == pytest.approx(1)
    assert not found or (found[-2].factors, found[-1].factors) == ((HIGHER,), (SEEDS,))


def test_clearly_worse_points_are_not_in_the_best_region() -> None:
    noise = np.array([-0.1, 0.0, 0.1, 0.05])
    values = np.array([10 + noise, 10.01 + noise[::-1], 12 + noise])
    assert best_points(values, higher=False) == [0, 1]
    assert best_points(values, higher=True) == [2]


def test_the_best_point_is_left_out_in_at_most_the_stated_share_of_sweeps() -> None:
    random, sweeps, missed = np.random.default_rng(1), 400, 0
    for _ in range(sweeps):
        missed += 0 not in best_points(random.normal(size=(10, 5)), higher=True)
    assert missed / sweeps <= 0.05 + 2 * (0.05 * 0.95 / sweeps) ** 0.5


def test_all_points_that_equal_the_best_remain_in_the_stated_share_of_sweeps() -> None:
    random, sweeps, wrong = np.random.default_rng(2), 400, 0
    for _ in range(sweeps):
        wrong += len(best_points(random.normal(size=(10, 5)), higher=True)) < 10
    assert wrong / sweeps <= 0.05 + 2 * (0.05 * 0.95 / sweeps) ** 0.5


def test_equal_points_without_noise_are_all_the_best_and_worse_points_are_not() -> None:
    assert best_points(np.array([[2.0, 2.0], [2.0, 2.0], [1.0, 1.0]]), higher=True) == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [1, 2, 4])
def test_factors_without_effect_explain_nothing_on_average(seeds: int) -> None:
    random, sweeps = np.random.default_rng(seeds), 300
    found = [shares(random.normal(size=(24, seeds)), LEVELS) for _ in range(sweeps)]
    explained = [sum(share.share for share in each[:-1]) for each in found]
    assert abs(np.mean(explained)) <= 3 * np.std(explained) / sweeps**0.5
    alarms = np.mean([any(share.p <= 0.05 for share in each) for each in found])
    assert alarms <= 0.05 + 2 * (0.05 * 0.95 / sweeps) ** 0.5


def test_the_share_of_a_factor_is_its_part_of_the_variance_without_the_noise() -> None:
    random = np.random.default_rng(4)
    effect = np.array([[float(a - 1)] for a, _, _ in GRID])
    found = [shares(effect + random.normal(size=(24, 4)), LEVELS) for _ in range(200)]
    variance = float(effect.var())
    assert np.mean([each[0].share for each in found]) == pytest.approx(variance / (variance + 1), abs=0.02)
    assert all(each[0].p < 0.001 for each in found)


def test_with_one_seed_the_highest_interaction_stands_for_the_noise() -> None:
    values = np.random.default_rng(5).normal(size=(24, 1))
    assert [share.factors for share in shares(values, LEVELS)] == [
        ("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c"), (SEEDS,),
    ]  # fmt: skip
    assert shares(values, {"a": list(range(24))}) == []


def test_first_order_indices_of_a_sum_are_the_shares_of_its_parts() -> None:
    """Of 2a + b with equal ranges, a explains 4/5 of the variance."""
    random = np.random.default_rng(3)
    points = {"a": random.random(128), "b": random.random(128)}
    values = (2 * points["a"] + points["b"])[:, np.newaxis]
    found = first_order(values, points)
    assert [each.factor for each in found] == ["a", "b"]
    assert [each.first for each in found] == [pytest.approx(0.8, abs=0.1), pytest.approx(0.2, abs=0.1)]
    assert all(each.p <= 0.05 for each in found)


def test_first_order_indices_of_noise_are_0_on_average() -> None:
    random, sweeps = np.random.default_rng(6), 400
    found = [
        first_order(random.normal(size=(32, 2)), {"drawn": random.random(32), "listed": random.integers(0, 2, 32)})
        for _ in range(sweeps)
    ]
    firsts = np.array([[each.first for each in indices] for indices in found])
    assert (np.abs(firsts.mean(axis=0)) <= 3 * firsts.std(axis=0) / sweeps**0.5).all()
    alarms = np.mean([any(each.p <= 0.05 for each in indices) for indices in found])
    assert alarms <= 0.05 + 2 * (0.05 * 0.95 / sweeps) ** 0.5
