"""Rows over machines: a published example, and what the figures have to satisfy."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from scipy.special import stdtr
from scipy.stats import ttest_1samp

from schedlab.analysis.machines import LEAST_ERROR, LEAST_OF_STEP, Effect, combine, combine_weighted

BCG = [
    (4, 119, 11, 128), (6, 300, 29, 274), (3, 228, 11, 209), (62, 13536, 248, 12619), (33, 5036, 47, 5761),
    (180, 1361, 372, 1079), (8, 2537, 10, 619), (505, 87886, 499, 87892), (29, 7470, 45, 7232), (17, 1699, 65, 1600),
    (186, 50448, 141, 27197), (5, 2493, 3, 2338), (27, 16886, 29, 17825),
]  # fmt: skip
"""Trials of the BCG vaccine: ill and healthy people with and without the vaccine (Colditz et al. 1994; dat.bcg of
metafor)."""


def risk_ratio(ill: int, healthy: int, other_ill: int, other_healthy: int) -> tuple[float, float]:
    """Return the log-risk ratio and its sampling variance."""
    total, other = ill + healthy, other_ill + other_healthy
    return log(ill / total) - log(other_ill / other), 1 / ill - 1 / total + 1 / other_ill - 1 / other


def effects(*pairs: tuple[float, float], blocks: int = 1000) -> dict[str, Effect]:
    return {f"m{i}": Effect(mean, sqrt(variance), blocks) for i, (mean, variance) in enumerate(pairs)}


def test_the_bcg_trials_have_the_published_figures() -> None:
    result = combine_weighted(effects(*(risk_ratio(*trial) for trial in BCG)), 0.01, 0.95)
    assert result is not None
    # Viechtbauer, Journal of Statistical Software 36 (2010), and the manual of metafor: method DL.
    assert result.q == pytest.approx(152.2330, abs=0.001)
    assert log(1 + result.tau) ** 2 == pytest.approx(0.3088, abs=0.0001)
    assert result.i_squared == pytest.approx(0.9212, abs=0.0001)
    assert log(result.ratio) == pytest.approx(-0.7141, abs=0.0001)
    assert result.low < result.ratio < result.high < 1
    assert result.p < 0.01
    assert result.p_equal < 1e-6


def test_the_mean_over_machines_is_judged_by_student_s_t_of_their_means() -> None:
    means = [0.03, 0.01, 0.05, 0.02]
    result = combine(effects(*((mean, 10.0 ** -(4 + i)) for i, mean in enumerate(means))), 0.01, 0.95)
    assert result is not None
    student = ttest_1samp(means, 0.0)
    interval = student.confidence_interval(0.95)
    assert result.p == pytest.approx(student.pvalue)
    assert [log(ratio) for ratio in (result.low, result.ratio, result.high)] == pytest.approx(
        [interval.low, np.mean(means), interval.high]
    )


@pytest.mark.slow
def test_three_machines_of_unequal_noise_are_rarely_called_different_by_chance() -> None:
    random = np.random.default_rng(3)
    false = 0
    for _ in range(1000):
        drawn = (Effect.of(random.normal(random.normal(0.0, 0.02), spread, 6)) for spread in (0.005, 0.02, 0.05))
        result = combine({str(i): effect for i, effect in enumerate(drawn) if effect}, 0.01, 0.95)
        assert result is not None
        false += result.p <= 0.05
    assert false <= 65  # 5 % + 2 standard errors; the weighted mean has 110


def test_two_equal_machines_can_show_a_change() -> None:
    result = combine(effects((0.03, 1e-4), (0.031, 1e-4), blocks=6), 0.01, 0.95)
    assert result is not None
    assert result.p < 0.05


def test_equal_means_of_coarse_figures_are_no_evidence_on_two_machines() -> None:
    one_of_six = np.log(np.array([21, 20, 20, 20, 20, 20]) / 20)
    coarse = Effect.of(one_of_six, 1 / 20)
    assert coarse is not None
    result = combine({"a": coarse, "b": coarse}, 0.01, 0.95)
    assert result is not None
    # Student's quantile for one degree of freedom is 12.7; the means are one step away from no change.
    assert result.p == pytest.approx(2 * stdtr(1, -log(21 / 20) * 20 / LEAST_OF_STEP))
    assert result.p > 0.05


def test_equal_machines_have_no_heterogeneity_and_a_narrow_interval() -> None:
    result = combine(effects(*[(log(1.05), 1e-6)] * 4), 0.01, 0.95)
    assert result is not None
    assert (result.tau, result.i_squared) == (0.0, 0.0)
    assert result.ratio == pytest.approx(1.05)
    assert result.p_equal == pytest.approx(1.0)
    assert min(result.p_apart.values()) == pytest.approx(1.0)
    # Student's quantile for 3 degrees of freedom, on the least standard error.
    assert log(result.high / result.ratio) == pytest.approx(3.1824 * LEAST_ERROR, rel=1e-3)


def test_the_machine_that_differs_is_apart() -> None:
    result = combine(effects((0.0, 1e-6), (0.001, 1e-6), (-0.001, 1e-6), (0.2, 1e-6), blocks=12), 0.01, 0.95)
    assert result is not None
    assert result.p_apart["m3"] < 0.01
    assert min(p for name, p in result.p_apart.items() if name != "m3") > 0.05
    assert result.p_equal < 1e-6
    assert result.low < 1 < result.high


def test_both_of_two_machines_have_the_p_of_equality() -> None:
    result = combine(effects((0.0, 1e-6), (0.1, 1e-6), blocks=12), 0.01, 0.95)
    assert result is not None
    assert result.p_apart["m0"] == result.p_apart["m1"] == pytest.approx(result.p_equal)


def test_the_order_of_machines_and_the_direction_of_the_ratio_do_not_matter() -> None:
    random = np.random.default_rng(7)
    machines = {f"m{i}": Effect(random.normal(0.02, 0.01), random.uniform(0.001, 0.02), 8) for i in range(5)}
    result = combine(machines, 0.01, 0.9)
    backwards = combine(dict(reversed(machines.items())), 0.01, 0.9)
    inverted = combine(
        {name: Effect(-each.mean, each.error, each.blocks) for name, each in machines.items()}, 0.01, 0.9
    )
    assert result is not None
    assert backwards is not None
    assert inverted is not None
    assert backwards.ratio == pytest.approx(result.ratio)
    assert inverted.ratio == pytest.approx(1 / result.ratio)
    assert inverted.high == pytest.approx(1 / result.low)
    assert (inverted.p, inverted.p_equal) == (pytest.approx(result.p), pytest.approx(result.p_equal))


def test_equal_blocks_do_not_divide_by_zero() -> None:
    exact = Effect.of(np.full(6, log(1.02)))
    noisy = Effect.of(np.log(np.array([1.0, 1.1, 0.9, 1.05, 0.95, 1.0])))
    assert exact is not None
    assert noisy is not None
    weighted = combine_weighted({"exact": exact, "noisy": noisy}, 0.01, 0.95)
    assert weighted is not None
    assert weighted.ratio == pytest.approx(1.02, rel=1e-3)
    assert combine({"exact": exact, "other": exact}, 0.01, 0.95) is not None


def test_one_machine_or_one_block_cannot_be_combined() -> None:
    assert combine(effects((0.0, 1.0)), 0.01, 0.95) is None
    assert Effect.of(np.array([0.1])) is None


def test_equivalence_needs_an_interval_inside_the_margins() -> None:
    narrow = combine(effects((0.001, 1e-4), (-0.001, 1e-4), (0.0, 1e-4)), 0.01, 0.95)
    wide = combine(effects((0.01, 1e-4), (-0.01, 1e-4), (0.0, 1e-4)), 0.01, 0.95)
    assert narrow is not None
    assert wide is not None
    assert narrow.p_equivalent < 0.05 < wide.p_equivalent
