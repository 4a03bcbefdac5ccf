"""Size of a run: variance components by hand, the textbook's optimum, and the power of planned designs."""

from __future__ import annotations

from math import ceil, exp, inf, isnan, log1p, nan, sqrt

import numpy as np
import polars as pl
import pytest

from schedlab.analysis.planning import (
    MOST_ITERATIONS,
    Costs,
    Size,
    Wanted,
    best_iterations,
    cheapest,
    durations,
    row_plan,
    size_for,
)
from schedlab.analysis.resolution import Rule
from schedlab.analysis.signflip import p_values
from schedlab.analysis.variance import Noise, noise
from schedlab.analysis.verdicts import Question

TIME = Question("w", "{}", "time", "s", "lower")
WANTED = Wanted(effect=0.02, power=0.8, rule=Rule(0.05))


def noise_of(pair_within: float, pair_between: float, blocks: int = 10) -> Noise:
    return Noise(blocks, 2, pair_within / sqrt(2), 0.0, pair_within, pair_between, False)


def campaign(seed: int, blocks: int, iterations: int, within: float, effect: float, shared: float) -> list[dict]:
    """A baseline and a variant with random blocks, an effect that varies by block, and random iterations."""
    rng = np.random.default_rng(seed)
    luck = rng.normal(0, shared, size=blocks)
    sides = []
    for spread in (0.0, effect):
        level = luck + rng.normal(0, spread, size=blocks)
        logs = level[:, None] + rng.normal(0, within, size=(blocks, iterations))
        sides.append({block + 1: np.exp(values).tolist() for block, values in enumerate(logs)})
    return sides


def test_components_by_hand() -> None:
    """The variant's logs are 0 and 2 in block 1, 4 and 6 in block 2. The variance within blocks is (2 + 2) / 2 = 2. The
    block means 1 and 5 have variance 8; iterations explain 2 / 2 of it, so a variance of 7 remains between blocks.
    The baseline has the same variance within and block means 0 and 2: 2 − 1 = 1 between. The averages are 2 and 4.
    The paired log-ratios are computed from means of values, not from means of logs."""
    variant = {1: [exp(0), exp(2)], 2: [exp(4), exp(6)]}
    baseline = {1: [exp(-1), exp(1)], 2: [exp(1), exp(3)]}
    estimated = noise(baseline, [variant])
    assert estimated is not None
    assert estimated.within == pytest.approx(sqrt(2))
    assert estimated.between == pytest.approx(sqrt(4))
    assert estimated.pair_within == pytest.approx(sqrt(4))
    # Log-ratios 1 and 3 have variance 2. Iterations explain the complete variance: 2 / 2 for each variant.
    assert estimated.pair_between == pytest.approx(0, abs=1e-7)
    assert estimated.iterations == pytest.approx(2)


@pytest.mark.slow
def test_planted_components_are_estimated() -> None:
    baseline, variant = campaign(1, 4000, 3, within=0.02, effect=0.01, shared=0.05)
    estimated = noise(baseline, [variant])
    assert estimated is not None
    assert estimated.within == pytest.approx(0.02, rel=0.03)
    # Standard deviation between blocks: 0.05 for the baseline, sqrt(0.05² + 0.01²) = 0.051 for the variant.
    assert estimated.between == pytest.approx(0.0505, rel=0.03)
    assert estimated.pair_within == pytest.approx(0.02 * sqrt(2), rel=0.03)
    assert estimated.pair_between == pytest.approx(0.01, rel=0.1)
    assert estimated.of_ratio(3) == pytest.approx(sqrt(0.01**2 + 0.0008 / 3), rel=0.05)
    assert not estimated.clamped


def test_a_negative_variance_is_clamped_to_zero_and_marked() -> None:
    """Block means agree better than the scatter of their iterations predicts."""
    cell = {block: [0.9, 1 / 0.9] for block in range(1, 6)}
    estimated = noise(cell, [cell])
    assert estimated is not None
    assert estimated.clamped
    assert (estimated.between, estimated.pair_between) == (0.0, 0.0)


def test_single_iterations_determine_the_total_variance_only() -> None:
    baseline, variant = campaign(2, 50, 1, within=0.02, effect=0.01, shared=0.05)
    estimated = noise(baseline, [variant])
    assert estimated is not None
    assert isnan(estimated.within)
    assert estimated.of_ratio(1) == pytest.approx(0.03, rel=0.2)
    assert isnan(estimated.of_ratio(2))
    assert best_iterations(estimated, 5.0) is None


@pytest.mark.parametrize("variant", [{}, {1: [1.0]}, {7: [1.0], 8: [1.0]}])
def test_without_two_shared_blocks_the_noise_is_unknown(variant: dict[int, list[float]]) -> None:
    assert noise({1: [1.0, 1.0], 2: [1.0, 1.1]}, [variant]) is None


@pytest.mark.parametrize(
    ("cost_ratio", "within", "between", "best"),
    [
        (4.0, 0.03, 0.01, ceil(sqrt(4 * 9))),
        (100.0, 0.01, 0.01, 10),
        (0.5, 0.01, 0.04, 1),
        (0.0, 0.05, 0.01, 1),
        (3.0, 0.05, 0.0, MOST_ITERATIONS),
        (3.0, 0.0, 0.01, 1),
        (1e9, 1.0, 1e-9, MOST_ITERATIONS),
    ],
)
def test_the_best_iterations_follow_the_formula_of_kalibera_and_jones(
    cost_ratio: float, within: float, between: float, best: int
) -> None:
    """⌈√(c₂/c₁ · T₁²/T₂²)⌉, at least 1."""
    assert best_iterations(noise_of(within, between), cost_ratio) == best


def test_the_best_iterations_cost_the_least_time_for_the_same_variance() -> None:
    """The product of a block's variance and its duration is minimal over all numbers of iterations."""
    row, place = noise_of(0.06, 0.02), 7.0
    cost = {n: (0.02**2 + 0.06**2 / n) * (place + n) for n in range(1, 40)}
    assert best_iterations(row, place) in (n for n in cost if cost[n] <= min(cost.values()) * 1.01)


def test_a_row_s_plan_has_its_detectable_effect_and_needed_blocks() -> None:
    planned = row_plan(TIME, noise_of(0.04, 0.01), blocks=12, iterations=4, wanted=WANTED, cost_ratio=1.0)
    assert planned.blocks is not None
    larger = row_plan(TIME, noise_of(0.04, 0.01), planned.blocks, 4, WANTED, 1.0)
    smaller = row_plan(TIME, noise_of(0.04, 0.01), planned.blocks - 1, 4, WANTED, 1.0)
    assert larger.detectable <= WANTED.effect < smaller.detectable
    assert row_plan(TIME, noise_of(0.04, 0.01), 3, 4, WANTED, 1.0).detectable == inf
    assert isnan(row_plan(TIME, noise_of(nan, 0.01), 12, 4, WANTED, 1.0).detectable)


def power_of(blocks: int, spread: float) -> float:
    """The power of sign flips for the wanted effect."""
    rng = np.random.default_rng(53)
    return float(np.mean(p_values(rng.normal(log1p(WANTED.effect), spread, size=(blocks, 400)), 0) <= 0.05))


def test_the_blocks_for_known_noise_detect_the_effect_with_the_wanted_power() -> None:
    planned = row_plan(TIME, noise_of(0.04, 0.01), 12, 4, WANTED, 1.0)
    assert planned.blocks_if_known is not None
    assert 0.74 <= power_of(planned.blocks_if_known, sqrt(0.01**2 + 0.04**2 / 4)) <= 0.86


@pytest.mark.slow
@pytest.mark.parametrize("pilot", [6, 12])
def test_plans_have_the_wanted_power_on_average_over_their_pilots(pilot: int) -> None:
    """Plans that take the measured noise as known have a mean power of 70 to 76 %."""
    rng, spread = np.random.default_rng(54), 0.03
    powers = []
    for measured in spread * np.sqrt(rng.chisquare(pilot - 1, size=40) / (pilot - 1)):
        planned = row_plan(TIME, noise_of(nan, float(measured), pilot), pilot, 1, WANTED, 1.0)
        assert planned.blocks is not None
        assert planned.blocks_if_known is not None
        assert planned.blocks > planned.blocks_if_known
        powers.append(power_of(planned.blocks, spread))
    assert 0.76 <= np.mean(powers) <= 0.92


def test_a_size_has_the_blocks_of_the_noisiest_row_and_their_duration() -> None:
    quiet, noisy = (row_plan(TIME, noise_of(0.01, between), 8, 2, WANTED, 1.0) for between in (0.001, 0.03))
    costs = Costs(place=3.0, places=1, variants=3, row_pass=5.0, before=20.0)
    size = size_for([quiet, noisy], 2, WANTED, costs)
    assert size == Size(2, noisy.blocks, 20.0 + noisy.blocks * 3 * (3.0 + 2 * 5.0))
    assert quiet.blocks < noisy.blocks


@pytest.mark.slow
def test_the_cheapest_size_takes_no_longer_than_any_other() -> None:
    rows = [row_plan(TIME, noise_of(0.06, 0.01), 8, 2, WANTED, 1.0)]
    costs = Costs(place=30.0, places=1, variants=3, row_pass=1.0, before=0.0)
    best = cheapest(rows, WANTED, costs)
    assert best is not None
    sizes = [size_for(rows, n, WANTED, costs) for n in range(1, 30)]
    assert best.seconds == min(size.seconds for size in sizes if size is not None)
    # Applying a variant costs as much as thirty iterations, so one iteration per block is not the cheapest size.
    assert best.iterations > 3
    free = cheapest(rows, WANTED, Costs(place=0.0, places=1, variants=3, row_pass=1.0, before=0.0))
    assert free is not None
    assert free.iterations < best.iterations


def test_excessive_or_unknown_noise_has_no_size() -> None:
    costs = Costs(place=0.0, places=1, variants=2, row_pass=1.0, before=0.0)
    assert cheapest([row_plan(TIME, noise_of(90.0, 90.0), 8, 2, WANTED, 1.0)], WANTED, costs) is None
    assert size_for([row_plan(TIME, noise_of(nan, 0.01), 8, 2, WANTED, 1.0)], 2, WANTED, costs) is None
    assert cheapest([], WANTED, costs) is None


def test_durations_of_trials_and_of_variant_changes_are_separated() -> None:
    """Trials of 10 s, gaps of 1 s, gaps of 4 s between variants, and an interruption of an hour."""
    lines, now = [], 0.0
    for block in range(1, 4):
        for variant in ("base", "new"):
            for _ in range(4):
                lines.append(("measure", block, variant, "w", "{}", now, 10.0))
                now += 11.0
            now += 3.0
        now += 3600.0 if block == 2 else 0.0
    frame = pl.DataFrame(
        lines, schema=["phase", "block", "variant", "workload", "parameters", "started", "elapsed"], orient="row"
    )
    mean_durations = durations(frame)
    assert mean_durations.trial == {("w", "{}"): pytest.approx(11.0)}
    assert mean_durations.place == pytest.approx(3.0)


def test_a_run_of_one_trial_has_its_duration_and_no_gaps() -> None:
    frame = pl.DataFrame(
        [("measure", 1, "base", "w", "{}", 5.0, 2.0)],
        schema=["phase", "block", "variant", "workload", "parameters", "started", "elapsed"],
        orient="row",
    )
    assert (durations(frame).trial, durations(frame).place) == ({("w", "{}"): 2.0}, 0.0)
