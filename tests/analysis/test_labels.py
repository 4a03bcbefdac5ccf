"""Permutations of three labels: p, interval, estimate and joint test, compared with definitions by enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from benches.study import labels as study
from benches.study.false_alarms import ALPHA, bound
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from schedlab.analysis import labels

SHIFT = np.array([1.0, 0.0, 0.0])

# Coarse values, so that ties are frequent.
campaigns = st.integers(4, 6).flatmap(
    lambda n: st.lists(st.integers(-20, 20), min_size=3 * n, max_size=3 * n).map(
        lambda values: np.array(values, dtype=np.float64).reshape(n, 3) / 8
    )
)


def listed(values: np.ndarray) -> tuple[float, float]:
    """The shares of the arrangements whose rank sum is at least, and at most, the rank sum of the variant."""
    residuals = np.round(values - values.mean(axis=1, keepdims=True), 12)
    ranks = stats.rankdata(residuals.ravel()).reshape(values.shape)
    sums = np.array([ranks[np.arange(len(values)), a].sum() for a in product(range(3), repeat=len(values))])
    return float(np.mean(sums >= sums[0] - 1e-9)), float(np.mean(sums <= sums[0] + 1e-9))


@pytest.mark.slow
@given(campaigns)
def test_the_p_values_equal_the_shares_of_all_listed_arrangements(values: np.ndarray) -> None:
    upper, lower = listed(values)
    found = labels.tails(labels.aligned_ranks(values), 0)
    assert (float(found.upper), float(found.lower)) == pytest.approx((upper, lower))
    assert labels.p_value(values, 0) == pytest.approx(min(1, 2 * upper, 2 * lower))


@pytest.mark.slow
@settings(deadline=None)
@given(campaigns, st.floats(-3, 3), st.sampled_from([0.9, 0.95]))
def test_the_interval_contains_the_shifts_that_the_test_does_not_reject(
    values: np.ndarray, at: float, level: float
) -> None:
    bounds = labels.interval(values, level, 0)
    assert bounds is not None
    low, high = bounds
    assert low <= labels.centre(values) <= high
    if min(abs(at - low), abs(at - high)) > 1e-9:
        assert (low < at < high) == (labels.p_value(values - at * SHIFT, 0) > 1 - level + 1e-12)


@pytest.mark.parametrize("blocks", [9, 14, 25])
def test_the_interval_of_drawn_arrangements_ends_where_their_test_begins_to_reject(blocks: int) -> None:
    values = np.random.default_rng(blocks).normal(0.0, 1.0, (blocks, 3))
    bounds = labels.interval(values, 0.95, 7)
    assert bounds is not None
    for end, outside in zip(bounds, (-1e-6, 1e-6), strict=True):
        assert labels.p_value(values - (end + outside) * SHIFT, 7) <= 0.05
        assert labels.p_value(values - (end - outside) * SHIFT, 7) > 0.05


def test_at_the_estimate_the_rank_sum_of_the_variant_has_its_expectation() -> None:
    values = np.random.default_rng(4).normal(0.0, 1.0, (9, 3))
    shifted = labels.aligned_ranks(values - labels.centre(values) * SHIFT)
    # The number of pairs is even, so that the median lies between two crossings, and the sums are exact.
    assert abs(shifted[:, 0].sum()) < 1e-9


def test_a_shift_of_the_variant_shifts_estimate_and_interval_and_a_shift_of_a_block_does_not() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(0.0, 1.0, (7, 3))
    moved = values + 0.25 * SHIFT + rng.normal(0.0, 100.0, (7, 1))
    assert labels.centre(moved) == pytest.approx(labels.centre(values) + 0.25)
    before, after = labels.interval(values, 0.95, 0), labels.interval(moved, 0.95, 0)
    assert before is not None
    assert after == pytest.approx(tuple(bound + 0.25 for bound in before))


@pytest.mark.parametrize(("blocks", "p"), [(3, 2 / 27), (4, 2 / 81), (8, 2 / 6561), (9, 2e-4), (30, 2e-4)])
def test_a_variant_above_both_references_in_every_block_has_the_smallest_p(blocks: int, p: float) -> None:
    values = np.tile([2.0, -1.0, -1.0], (blocks, 1)) + np.arange(blocks)[:, None]
    assert labels.p_value(values, 1) <= p * (1 + 1e-9)
    assert labels.smallest_p(blocks) <= p * (1 + 1e-9)
    assert labels.p_value(values, 1) >= labels.smallest_p(blocks) * (1 - 1e-9)


def test_four_blocks_have_an_interval_and_three_have_none() -> None:
    values = np.random.default_rng(1).normal(0.0, 1.0, (4, 3))
    assert labels.interval(values, 0.95, 0) is not None
    assert labels.interval(values[:3], 0.95, 0) is None


@pytest.mark.parametrize("rows", [1, 20])
def test_a_further_block_never_raises_the_smallest_p(rows: int) -> None:
    smallest = [labels.smallest_p(blocks, rows) for blocks in range(1, 60)]
    assert smallest == sorted(smallest, reverse=True)


@pytest.mark.parametrize("blocks", [9, 20, 45])
def test_drawn_arrangements_differ_from_the_measured_arrangement(blocks: int) -> None:
    drawn = labels.arrangements(blocks, 3).others.T
    assert len(np.unique(drawn, axis=0)) == len(drawn) == labels.DRAWS
    assert drawn.sum(axis=1).min() > 0


def test_a_joint_test_of_one_row_is_its_test() -> None:
    rng = np.random.default_rng(6)
    for blocks in (4, 6, 12):
        scores = labels.aligned_ranks(rng.normal(0.0, 1.0, (30, blocks, 3)))
        alone = [float(labels.step_down(row[None], 2)[0]) for row in scores]
        assert alone == pytest.approx(labels.tails(scores, 2).both.tolist())


def test_the_joint_test_is_the_step_down_test_of_all_listed_arrangements() -> None:
    rng = np.random.default_rng(8)
    scores = labels.aligned_ranks(rng.normal(0.0, 1.0, (5, 4, 3)) + 0.8 * SHIFT)
    scores[2, 1] = 0.0  # A row without this block.
    scaled = scores / np.sqrt((scores**2).mean(axis=2).sum(axis=1))[:, None, None]
    places = np.array(list(product(range(3), repeat=4)))
    sums = np.array([[row[np.arange(4), arrangement].sum() for row in scaled] for arrangement in places])
    expected = np.ones(5)
    for direction in (1, -1):
        observed, p = direction * sums[0], 0.0
        for row in np.argsort(-observed):
            rest = observed <= observed[row]
            p = max(p, float(np.mean((direction * sums[:, rest]).max(axis=1) >= observed[row] - 1e-9)))
            expected[row] = min(expected[row], 2 * p)
    assert labels.step_down(scores, 0) == pytest.approx(expected)


def test_one_changed_row_of_ten_is_found_at_six_blocks() -> None:
    """A change of two standard deviations of the log-ratio; sign flips find it in 40 %."""
    rng, changed = np.random.default_rng(9), 0
    for _ in range(150):
        values = rng.normal(0.0, 1.0, (10, 6, 3))
        values[0, :, 0] += 2 * np.sqrt(2)
        changed += labels.step_down(labels.aligned_ranks(values), 0)[0] <= 0.05
    assert changed / 150 >= 0.85


def test_the_joint_test_keeps_the_level_of_dependent_rows() -> None:
    rng, runs = np.random.default_rng(14), 400
    alarms = 0
    for _ in range(runs):
        values = rng.standard_t(3, size=(1, 5, 3)) + rng.standard_t(3, size=(12, 5, 3))
        alarms += labels.step_down(labels.aligned_ranks(values), 0).min() <= 0.05
    assert alarms / runs <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


def test_p_within_a_margin_is_the_larger_one_sided_p_at_its_ends() -> None:
    values = np.random.default_rng(3).normal(0.0, 1.0, (6, 3))
    above, below = (listed(values - shift * SHIFT) for shift in (1.5, -1.5))
    assert labels.p_within(values, 1.5, 0) == pytest.approx(max(above[1], below[0]))


def test_more_blocks_than_arrangements_that_can_be_numbered_have_a_p() -> None:
    values = np.random.default_rng(3).normal(0.0, 1.0, (60, 3)) + SHIFT * 2
    assert 0 < labels.p_value(values, 0) <= 2e-4


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in study.KINDS if "wider" not in kind])
def test_the_test_keeps_alpha_for_every_kind_of_noise(kind: str) -> None:
    for blocks in (4, 8):
        shares = study.called(kind, blocks, 500, 2)
        # Three standard errors: many shares are compared.
        assert max(shares.alarms) <= ALPHA + 1.5 * (bound(500) - ALPHA)


@pytest.mark.slow
def test_aligned_ranks_find_more_than_sign_flips() -> None:
    for kind, blocks in (("normal", 6), ("2 % outliers × 3", 12), ("log-normal", 4)):
        flips, ranks, _ = study.called(kind, blocks, 300, 2).found[0]
        assert ranks > flips + 0.1
