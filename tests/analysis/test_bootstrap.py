"""The hierarchical bootstrap: equal to scipy's for one level, wider for two levels, and its coverage."""

from __future__ import annotations

from math import exp, isnan, log, nan

import numpy as np
import polars as pl
import pytest
from scipy import stats

from schedlab.analysis.bootstrap import bca
from schedlab.analysis.judging import judge
from schedlab.analysis.verdicts import Options, Question


def skewed(seed: int, blocks: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    below, above = 1 + rng.lognormal(-4, 1, size=(2, blocks, 1))
    return below, 1.03 * above


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_single_iterations_give_scipy_s_bca_interval(seed: int) -> None:
    below, above = skewed(seed, 12)
    logs = np.log(above / below).ravel()
    scipy_result = stats.bootstrap((logs,), np.mean, method="BCa", n_resamples=20_000, rng=np.random.default_rng(9))
    low, high = scipy_result.confidence_interval
    width = high - low
    bounds = bca(below, above, 0.95, seed)
    assert log(bounds[0]) == pytest.approx(low, abs=0.05 * width)
    assert log(bounds[1]) == pytest.approx(high, abs=0.05 * width)


def test_the_same_seed_gives_the_same_interval() -> None:
    assert bca(*skewed(5, 9), 0.95, 3) == bca(*skewed(5, 9), 0.95, 3)
    assert bca(*skewed(5, 9), 0.95, 3) != bca(*skewed(5, 9), 0.95, 4)


def test_scatter_of_iterations_widens_the_interval_of_equal_block_means() -> None:
    """Compare with the standard error. Every block's mean is 1, so only resampled iterations have spread."""
    even = np.ones((10, 4))
    scattered = np.tile([0.9, 0.95, 1.05, 1.1], (10, 1))
    assert bca(even, even, 0.95, 1) == (1.0, 1.0)
    low, high = bca(even, scattered, 0.95, 1)
    # Standard error of a mean of 40 such values: sqrt(0.00625 / 40) = 0.0125.
    assert low == pytest.approx(1 - 1.96 * 0.0125, abs=0.004)
    assert high == pytest.approx(1 + 1.96 * 0.0125, abs=0.004)


def test_missing_iterations_are_ignored_at_any_position() -> None:
    whole = np.array([[1.0, 1.2], [0.9, 1.1], [1.05, 1.15], [1.0, 1.1]])
    at_end, at_front = (np.insert(whole, place, nan, axis=1) for place in (2, 0))
    assert bca(np.ones((4, 1)), at_end, 0.9, 7) == bca(np.ones((4, 1)), at_front, 0.9, 7)
    one_less = whole.copy()
    one_less[1, 0] = nan
    low, high = bca(np.ones((4, 1)), one_less, 0.9, 7)
    ratio = exp(np.mean(np.log([1.1, 1.1, 1.1, 1.05])))
    assert low < ratio < high


def test_fewer_than_two_blocks_have_no_interval() -> None:
    assert all(isnan(bound) for bound in bca(np.ones((1, 5)), np.ones((1, 5)), 0.95, 1))


@pytest.mark.slow
def test_coverage_is_low_with_few_blocks_and_nearly_nominal_with_many() -> None:
    """Nominal 95 %. With few blocks the interval covers less, so it is not the default."""
    rng, shares = np.random.default_rng(3), {}
    for blocks in (6, 60):
        covered = 0
        for i in range(200):
            below, above = rng.lognormal(0, 0.02, size=(2, blocks, 1))
            low, high = bca(below, 1.03 * above, 0.95, i)
            covered += low <= 1.03 <= high
        shares[blocks] = covered / 200
    assert 0.75 <= shares[6] <= 0.93
    assert 0.90 <= shares[60] <= 0.98


@pytest.mark.slow
def test_an_experiment_can_select_the_bootstrap() -> None:
    rng = np.random.default_rng(6)
    rows = [
        ("w", "{}", "time", variant, block, float(value))
        for variant in ("base", "new")
        for block in range(1, 13)
        for value in rng.lognormal(0, 0.01, size=3) * (1.05 if variant == "new" else 1.0)
    ]
    frame = pl.DataFrame(rows, schema=["workload", "parameters", "metric", "variant", "block", "value"], orient="row")
    question = Question("w", "{}", "time", "s", "lower")
    (flips,) = judge(frame, [question], ["base", "new"], None, Options())
    (boot,) = judge(frame, [question], ["base", "new"], None, Options(interval="bootstrap"))
    values = {
        name: frame.filter(pl.col("variant") == name)["value"].to_numpy().reshape(12, 3) for name in ("base", "new")
    }
    assert (boot.low, boot.high) == bca(values["base"], values["new"], 0.95, 0)
    assert (boot.low, boot.high) != (flips.low, flips.high)
    assert (boot.p, boot.word) == (flips.p, flips.word)


@pytest.mark.slow
def test_before_the_first_interim_analysis_the_interval_is_at_alpha() -> None:
    below, above = skewed(3, 5)
    rows = [
        ("w", "{}", "time", variant, block, float(value))
        for variant, side in (("base", below), ("new", above))
        for block, value in enumerate(side[:, 0], start=1)
    ]
    frame = pl.DataFrame(rows, schema=["workload", "parameters", "metric", "variant", "block", "value"], orient="row")
    options = Options(interval="bootstrap", looks=(6, 12))
    (verdict,) = judge(frame, [Question("w", "{}", "time", "s", "lower")], ["base", "new"], None, options)
    assert (verdict.low, verdict.high) == bca(below, above, 0.95, 0)
