"""Bisection with noise: the posterior of the changed state, and the choice of the next state."""

from __future__ import annotations

from math import log1p

import numpy as np
import pytest
from benches.bisection import Case, shares
from hypothesis import given
from hypothesis import strategies as st

from schedlab.analysis.changepoint import (
    CONFIDENCE,
    START,
    STOP,
    Evidence,
    Posterior,
    information,
    next_state,
    simulated_blocks,
)  # fmt: skip

DELTA = 0.01


def observe(states: int, values: dict[int, list[float]], delta: float = DELTA, step: float = 0.0) -> Posterior:
    evidence = Evidence(states, delta, step)
    for state, logs in values.items():
        for value in logs:
            evidence.add(state, value)
    return evidence.posterior()


def search(states: int, changes: dict[int, float], spread: float, seed: int) -> tuple[list[int | None], int]:
    """Search with normal noise; return the named states and the number of blocks."""
    rng, evidence, blocks = np.random.default_rng(seed), Evidence(states, DELTA), 0
    while True:
        posterior = evidence.posterior()
        if posterior.decides(blocks):
            return posterior.candidates(), blocks
        state = next_state(posterior, blocks, np.ones(states))
        evidence.add(state, sum(size for place, size in changes.items() if state >= place) + rng.normal(0, spread))
        blocks += 1
        assert blocks < 1000


@given(
    st.dictionaries(st.integers(1, 9), st.lists(st.floats(-3, 3), min_size=1, max_size=4)),
    st.sampled_from([0.001, 0.01, 0.3]),
    st.sampled_from([0.0, 0.1, 2.0]),
)
def test_probabilities_are_not_negative_and_sum_to_one(
    values: dict[int, list[float]], delta: float, step: float
) -> None:
    posterior = observe(10, values, delta, step)
    assert posterior.culprit.min() >= 0
    assert posterior.culprit[0] == 0
    assert posterior.no_change + posterior.culprit.sum() == pytest.approx(1)
    assert 0 <= posterior.two_changes <= 1


def test_without_observations_every_state_is_equally_likely() -> None:
    posterior = observe(9, {})
    assert posterior.culprit[1:] == pytest.approx([(1 - posterior.no_change) / 8] * 8)
    assert posterior.effect == pytest.approx(0)


def test_states_that_no_measurement_tells_apart_are_equally_likely() -> None:
    posterior = observe(10, {3: [0.001, -0.002, 0.0], 8: [0.2, 0.201, 0.199]})
    assert posterior.culprit[4:9] == pytest.approx([posterior.culprit[4]] * 5)
    assert posterior.culprit[4:9].sum() > 0.9


def test_a_clear_change_is_found_at_its_first_state() -> None:
    posterior = observe(6, {1: [0.0, 0.001], 2: [0.001, -0.001], 3: [0.1, 0.101], 5: [0.099, 0.1]})
    assert posterior.candidates() == [3]
    assert posterior.probability([3]) > 0.99
    assert posterior.effect == pytest.approx(0.1, rel=0.05)


def test_the_sign_of_the_change_does_not_matter() -> None:
    values = {1: [0.01, -0.02], 3: [0.08, 0.11], 5: [0.1, 0.07]}
    up, down = observe(6, values), observe(6, {state: [-v for v in logs] for state, logs in values.items()})
    assert up.culprit == pytest.approx(down.culprit)
    assert up.effect == pytest.approx(-down.effect)


def test_a_single_outlier_does_not_decide() -> None:
    quiet = [0.001, -0.001, 0.002, 0.0, -0.002]
    posterior = observe(4, {2: [*quiet, 1.0], 3: [0.05, 0.051, 0.049]})
    assert posterior.candidates() == [3]


def test_of_two_changes_the_clearer_change_counts() -> None:
    posterior = observe(10, {2: [0.0, 0.001], 3: [0.02, 0.021], 6: [0.02, 0.019], 7: [0.2, 0.201], 9: [0.2, 0.199]})
    assert posterior.two_changes > 0.9
    assert posterior.candidates() == [7]


def test_counted_figures_without_noise_are_decided_by_one_block_a_state() -> None:
    posterior = observe(8, {3: [0.0], 4: [log1p(0.02)], 7: [log1p(0.02)]})
    assert posterior.candidates() == [4]
    assert posterior.probability([4]) > CONFIDENCE


def test_a_change_at_a_skipped_state_names_all_states_that_it_may_be() -> None:
    posterior = observe(6, {2: [0.0, 0.001, 0.0], 5: [0.1, 0.101, 0.1]})
    assert posterior.candidates({3, 4}) == [3, 4, 5]
    assert posterior.probability([3, 4, 5]) > 0.9


def test_the_credible_set_has_the_fewest_hypotheses_with_the_probability() -> None:
    posterior = Posterior(np.array([0.0, 0.02, 0.6, 0.3]), 0.08, 0.0, 0.0, np.zeros(4), np.zeros(4), 1.0)
    assert posterior.credible_set(0.85) == [2, 3]
    assert posterior.credible_set(0.95) == [2, 3, None]


def test_the_first_blocks_measure_the_last_state_that_can_be_measured() -> None:
    posterior = observe(8, {})
    assert {next_state(posterior, blocks, np.ones(8)) for blocks in range(START)} == {7}
    assert next_state(posterior, 0, np.ones(8), {6, 7}) == 5


def test_the_next_state_divides_the_probability_in_the_middle() -> None:
    posterior = observe(101, {100: [0.1, 0.1, 0.1, 0.1]})
    assert abs(next_state(posterior, START, np.ones(101)) - 50) <= 2


def test_a_state_that_must_be_built_first_is_avoided_for_a_while() -> None:
    posterior = observe(101, {100: [0.1, 0.1, 0.1, 0.1]})
    costs = np.full(101, 10.0)
    costs[30] = 1.0
    assert next_state(posterior, START, costs) == 30
    assert next_state(posterior, START, costs, {30}) != 30


def doubt(culprit: list[float], effects: list[float], spread: float, noise: float) -> Posterior:
    """Return a posterior without any chance of no change."""
    return Posterior(np.array(culprit), 0.0, 0.0, 0.1, np.array(effects), np.full(len(culprit), spread), noise)


def test_information_is_at_most_the_information_of_a_certain_answer() -> None:
    clear = doubt([0, 0.5, 0.5], [0, 0.1, 0.1], 0.0, 0.001)
    assert information(clear)[1] == pytest.approx(np.log(2), rel=1e-2)
    assert information(doubt([0, 0.5, 0.5], [0, 0.1, 0.1], 0.0, 100.0)) == pytest.approx([0, 0, 0], abs=1e-5)
    certain = doubt([0, 0, 1.0], [0, 0.1, 0.1], 0.0, 0.03)
    assert information(certain) == pytest.approx([0, 0, 0], abs=1e-9)


def test_a_state_tells_less_if_the_effect_of_a_change_there_is_doubtful() -> None:
    known, doubtful = (information(doubt([0, 0.3, 0.7], [0, 0.1, 0.1], spread, 0.03))[1] for spread in (0.0, 0.3))
    assert doubtful < known


def test_a_state_that_would_have_almost_no_effect_is_not_measured_again() -> None:
    # A change at state 2 would be as small as the noise of its many blocks. A larger effect at state 3 is in doubt.
    posterior = doubt([0, 0.01, 0.05, 0.79, 0.15], [0, 0.0, 0.01, 0.2, 0.2], 0.02, 0.3)
    assert next_state(posterior, START, np.ones(5)) == 3


def test_successive_blocks_of_the_reference_show_the_noise() -> None:
    lucky = {2: [0.001, -0.001], 3: [-0.06, -0.058], 7: [-0.06, -0.061, -0.059, -0.06]}
    alone = observe(8, lucky)
    noisy = observe(8, {0: [0.05, -0.04, 0.03, -0.06], **lucky})
    assert alone.probability([3]) > CONFIDENCE
    assert noisy.probability([3]) < alone.probability([3])
    assert noisy.noise > 3 * alone.noise


def test_equal_figures_in_coarse_steps_do_not_look_like_tiny_noise() -> None:
    down = log1p(-0.1)
    coarse = {15: [down] * 4, 7: [down], 0: [0.0, 0.0]}
    fine = observe(16, coarse).culprit[1:8].sum()
    assert fine > STOP
    assert observe(16, coarse, step=0.1).culprit[1:8].sum() < CONFIDENCE


def test_one_figure_for_each_of_many_states_does_not_look_like_tiny_noise() -> None:
    """An effect of its own for each state would explain every figure without noise."""
    rng = np.random.default_rng(1)
    posterior = observe(200, {state: [float(rng.normal(0, 0.03))] for state in range(1, 120)})
    assert posterior.noise > 0.015
    assert posterior.culprit.max() < 0.1


def test_two_modes_of_the_machine_are_noise_and_no_change() -> None:
    """Each value is near 0 or near a gap of 0.1, in either direction; the last state has a change of the same size."""
    values = {
        0: [0.01, 0.01, -0.01, 0.01, -0.1, 0.01],
        15: [-0.11, -0.12, -0.2, -0.1],
        7: [-0.1, -0.01],
        4: [0.01], 6: [0.1], 11: [0.01], 13: [-0.001], 14: [-0.001, -0.01],
    }  # fmt: skip
    posterior = observe(16, values)
    assert posterior.culprit[12] + posterior.culprit[13] + posterior.culprit[14] > 0.02
    assert posterior.noise > 0.05


def test_a_search_does_not_end_before_the_first_blocks_of_the_last_state() -> None:
    posterior = observe(8, {7: [0.0, 0.0], 0: [0.0]})
    assert posterior.probability([None]) > STOP
    assert not posterior.decides(START - 1)
    assert posterior.decides(START)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        Case("normal", 16, (-0.10,), 0.03, coarse=0.10),
        Case("normal", 16, (-0.10,), 0.03, coarse=0.10, between=True),
        Case("normal", 16, (-0.10,), 0.002, modes=0.10),
    ],
)
def test_searches_in_coarse_steps_and_with_two_modes_are_seldom_wrong(case: Case) -> None:
    """A part of the study with a fixed random seed."""
    found = shares(case, 40)
    assert found.wrong <= 0.05
    assert found.covered >= CONFIDENCE


@pytest.mark.slow
def test_most_searches_name_the_planted_state() -> None:
    rng = np.random.default_rng(4)
    places = rng.integers(1, 16, size=20)
    results = [search(16, {int(place): 0.05}, 0.03, seed)[0] == [place] for seed, place in enumerate(places)]
    assert sum(results) >= 17  # with 95 % for each campaign, fewer right campaigns have a probability of 2 %


@pytest.mark.slow
def test_without_a_change_no_state_is_named() -> None:
    assert [search(16, {}, 0.02, seed)[0] for seed in range(6)].count([None]) >= 5


@pytest.mark.slow
def test_simulated_searches_need_more_blocks_for_smaller_changes_and_end_at_the_limit() -> None:
    large, small = (simulated_blocks(8, DELTA, effect, 0.02, 200, 6) for effect in (0.3, 0.05))
    assert large == sorted(large)
    assert sum(large) < sum(small)
    assert max(simulated_blocks(8, DELTA, 0.01, 0.3, 7, 4)) == 7
