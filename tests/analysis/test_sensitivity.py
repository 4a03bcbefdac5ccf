"""Responses, shares of the variance, and best points."""

from __future__ import annotations

import sys
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
    assert not found or {found[-1].factors, found[-2].factors} == {(SEEDS,), (HIGHER,)}


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


def test_first_order_indices_of_a_sum_are_the_shares_of_its_parts() -> None:
    """Of 2a + b with equal ranges, a explains 4/5 of the variance."""
    pytest.importorskip("SALib", reason="SALib is not installed: pip install 'schedlab[scale]'")
    random = np.random.default_rng(3)
    points = {"a": random.random(128), "b": random.random(128)}
    values = (2 * points["a"] + points["b"])[:, np.newaxis]
    found = first_order(values, points, 1)
    assert found is not None
    assert [each.factor for each in found] == ["a", "b"]
    assert [each.first for each in found] == [pytest.approx(0.8, abs=0.15), pytest.approx(0.2, abs=0.15)]


def test_without_salib_there_are_no_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "SALib.analyze", None)
    assert first_order(np.ones((4, 1)), {"a": np.arange(4.0)}, 1) is None
