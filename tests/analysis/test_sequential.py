"""Interim analyses: published boundaries, the error rate, and runs of few blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from schedlab.analysis.judging import judge
from schedlab.analysis.sequential import course, levels, nominal, overall
from schedlab.analysis.verdicts import Options, Question, Verdict

PUBLISHED = {
    2: (2.963, 1.969),
    3: (3.710, 2.511, 1.993),
    4: (4.333, 2.963, 2.359, 2.014),
    5: (4.877, 3.357, 2.680, 2.290, 2.031),
}
"""Lan–DeMets boundaries of O'Brien–Fleming shape, two-sided 0.05, equally spaced analyses. Source: Reboussin, DeMets,
Kim & Lan, "Computations for group sequential boundaries using the Lan-DeMets spending function method", Controlled
Clinical Trials 21 (2000). R's package ldbounds contains their program."""


def boundaries(shares: Sequence[float], sides: int = 2) -> list[float]:
    """Return the z value that a test must reach at each interim analysis, for an overall level of 0.05."""
    return [-stats.norm.ppf(level / sides) for level in levels(0.05, shares, sides)]  # type: ignore[arg-type]


def equal(count: int) -> list[float]:
    return [(k + 1) / count for k in range(count)]


@pytest.mark.parametrize("count", PUBLISHED)
def test_boundaries_equal_published_tables(count: int) -> None:
    assert boundaries(equal(count)) == pytest.approx(PUBLISHED[count], abs=6e-4)


def test_a_single_analysis_is_an_ordinary_test() -> None:
    assert levels(0.05, [1.0]) == pytest.approx((0.05,))
    assert levels(0.03, [1.0], 1) == pytest.approx((0.03,))
    assert overall([0.0312], (8,), 2) == pytest.approx((0.0312,), rel=1e-4)


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("shares", [(0.5, 1.0), (0.3, 0.7, 1.0)])
def test_boundaries_are_crossed_at_the_spent_rate(sides: int, shares: tuple[float, ...]) -> None:
    """Compare with scipy's multivariate normal distribution inside the boundary at every interim analysis."""
    bounds = np.array(boundaries(shares, sides))
    covariance = np.sqrt(np.minimum.outer(shares, shares) / np.maximum.outer(shares, shares))
    normal = stats.multivariate_normal(cov=covariance)
    low = -bounds if sides == 2 else np.full_like(bounds, -np.inf)
    assert 1 - normal.cdf(bounds, lower_limit=low) == pytest.approx(0.05, abs=2e-4)


@pytest.mark.slow
@given(st.lists(st.floats(0.05, 1.0), min_size=1, max_size=6, unique=True), st.sampled_from([0.001, 0.01, 0.05, 0.2]))
def test_a_stricter_overall_level_is_stricter_at_every_interim_analysis(shares: list[float], alpha: float) -> None:
    shares = sorted({round(share, 2) for share in shares})
    strict, lax = levels(alpha / 2, shares), levels(alpha, shares)
    assert all(strict_level <= lax_level for strict_level, lax_level in zip(strict, lax, strict=True))
    assert max(lax) <= alpha + 1e-9


@pytest.mark.parametrize("analyses", [(5, 10, 15, 20), (8, 12), (12,)])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 7, 0.2])
def test_a_p_value_at_its_nominal_level_has_the_overall_level_as_sequential_p(
    analyses: tuple[int, ...], alpha: float
) -> None:
    nominal_levels = nominal(analyses, alpha)
    for k, level in enumerate(nominal_levels):
        p_values = [1.0] * k + [level]
        if level > 1e-9:
            assert overall(p_values, analyses, 2)[-1] == pytest.approx(alpha, rel=2e-4)


def test_a_sequential_p_value_never_rises() -> None:
    sequential_p = overall([0.5, 0.0005, 0.3, 0.9], (5, 10, 15, 20), 2)
    assert all(later <= earlier for earlier, later in pairwise(sequential_p))
    assert sequential_p[1] == sequential_p[3]


def test_a_course_counts_interim_analyses_and_has_their_level() -> None:
    begun, halfway = course((5, 10, 15, 20), 0.05, 4), course((5, 10, 15, 20), 0.05, 13)
    assert (begun.taken, begun.blocks) == (0, 0)
    assert (halfway.taken, halfway.blocks) == (2, 10)
    # 2 (1 − Φ(2.963)), the second of four interim analyses in the published table.
    assert halfway.level == pytest.approx(2 * stats.norm.sf(2.963), rel=2e-3)


ANALYSES = (6, 9, 12)
ROWS = [Question("w", f'{{"g":{i}}}', "time", "s", "lower") for i in range(2)]


def frame(values: np.ndarray) -> pl.DataFrame:
    """Frame of values of shape (rows, variants, blocks). The first variant is the baseline."""
    lines = [
        (ROWS[r].workload, ROWS[r].parameters, "time", ("base", "new")[v], b + 1, float(values[r, v, b]))
        for r, v, b in np.ndindex(values.shape)
    ]
    return pl.DataFrame(lines, schema=["workload", "parameters", "metric", "variant", "block", "value"], orient="row")


def sequential(values: np.ndarray, done: int | None = None, **options: object) -> list[Verdict]:
    settings = Options(looks=ANALYSES, **options)  # type: ignore[arg-type]
    return judge(frame(values), ROWS[: len(values)], ["base", "new"], None, settings, done=done)


def noise(seed: int, rows: int, blocks: int = 12) -> np.ndarray:
    return np.random.default_rng(seed).lognormal(0, 0.01, size=(rows, 2, blocks))


@pytest.mark.slow
def test_a_large_change_is_decided_at_the_first_analysis_with_enough_blocks() -> None:
    values = noise(1, 1)
    values[0, 1] *= 1.2
    (verdict,) = sequential(values)
    # The level of the first interim analysis, 0.0031 at half of the blocks, is below the smallest p of 6 blocks, 0.031.
    assert verdict.decided == 9
    assert verdict.word == "worse"
    (early,) = sequential(values, done=6)
    assert (early.word, early.decided, early.n) == ("inconclusive", None, 6)


@pytest.mark.slow
def test_only_blocks_up_to_the_last_interim_analysis_count() -> None:
    (verdict,) = sequential(noise(1, 1), done=11)
    assert verdict.n == 9
    assert verdict.level == pytest.approx(nominal(ANALYSES, 0.05)[1])


def test_there_are_no_verdicts_before_the_first_interim_analysis() -> None:
    (verdict,) = sequential(noise(1, 1), done=5)
    assert verdict.word == "inconclusive"
    assert verdict.reason == "no interim analysis before block 6"


@pytest.mark.slow
def test_a_decided_row_stays_decided_with_later_blocks() -> None:
    values = noise(2, 1)
    values[0, 1, :9] *= 1.05
    (then,) = sequential(values, done=9)
    values[0, 1, 9:] *= 0.99
    (later,) = sequential(values)
    assert (then.word, then.decided) == (later.word, later.decided) == ("worse", 9)


@pytest.mark.slow
def test_a_decided_row_keeps_its_word_its_ratio_and_its_interval() -> None:
    """Worse at block 9; the last blocks would change the verdict to better."""
    values = noise(2, 1)
    values[0, 1, :9] *= 1.05
    (then,) = sequential(values, done=9)
    values[0, 1, 9:] *= 0.5
    (later,) = sequential(values)
    assert then.word == "worse"
    assert later == then


@pytest.mark.slow
@pytest.mark.parametrize("later", ["many lost", "a zero", "a much worse value"])
def test_a_decided_row_keeps_its_figures_whatever_later_blocks_lose(later: str) -> None:
    """Worse at the analysis after block 20 of 24, although a trial was lost before that analysis."""
    values = noise(2, 1, 24)
    values[0, 1] *= 1.05
    values[0, 0, 2] = np.nan
    if later == "many lost":
        values[0, 1, 20:] = np.nan
    else:
        values[0, 1, 22] = {"a zero": 0.0, "a much worse value": 50.0}[later]
    options = Options(looks=(20, 24))
    recorded = {("w", ROWS[0].parameters, variant): dict.fromkeys(range(1, 25), 1) for variant in ("base", "new")}
    then, at_end = (
        judge(frame(values), ROWS[:1], ["base", "new"], None, options, recorded, done=done)[0] for done in (20, 24)
    )
    assert (then.word, then.decided, then.n) == ("worse", 20, 19)
    assert at_end == then


@pytest.mark.slow
def test_the_boundaries_of_joint_tests_of_independent_rows_are_crossed_at_the_spent_rate() -> None:
    """Largest of 20 independent Brownian motions at four analyses, as family-wise p values."""
    rng, shares, rows, runs = np.random.default_rng(8), (0.25, 0.5, 0.75, 1.0), 20, 8000
    crossed = np.zeros((2, runs), dtype=bool)
    paths = np.cumsum(0.5 * rng.standard_normal((4, runs, rows)), axis=0)
    for i, share in enumerate(shares):
        p = -np.expm1(rows * np.log1p(-2 * stats.norm.sf(np.abs(paths[i]).max(axis=1) / np.sqrt(share))))
        crossed |= np.array([p <= levels(0.05, shares, 2, count)[i] for count in (rows, 1)])
    joint, single = crossed.mean(axis=1)
    assert joint == pytest.approx(0.05, abs=0.005)
    assert single > joint


@pytest.mark.slow
def test_an_interrupted_fixed_run_spends_the_error_rate_as_at_an_interim_analysis() -> None:
    values = noise(1, 1)
    values[0, 1] *= 1.2
    options = Options(looks=(7, 12))
    (verdict,) = judge(frame(values), ROWS[:1], ["base", "new"], None, options, done=7)
    assert (verdict.word, verdict.n) == ("inconclusive", 7)
    assert verdict.reason == "no difference can be significant at the interim analysis after block 7"
    assert "did not end" in course((7, 12), 0.05, 7, planned=False).describe(complete=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reports", "share"), [((10,), 0.0509), ((19,), 0.0563), ((10, 15), 0.0556), (tuple(range(6, 20)), 0.0699)]
)
def test_reports_before_the_end_of_a_fixed_run_raise_false_alarms_as_documented(
    reports: tuple[int, ...], share: float
) -> None:
    """Each early report spends α as if it were the only report; the report at the end, after 20 blocks, tests at α."""
    paths = np.cumsum(np.random.default_rng(1).standard_normal((100_000, 20)), axis=1)
    p = 2 * stats.norm.sf(np.abs(paths) / np.sqrt(np.arange(1, 21)))
    alarms = p[:, -1] <= 0.05
    for blocks in reports:
        alarms |= p[:, blocks - 1] <= nominal((blocks, 20), 0.05)[0]
    # Three standard errors.
    assert alarms.mean() == pytest.approx(share, abs=0.0025)


def test_an_equivalent_row_is_decided_too() -> None:
    values = np.random.default_rng(5).lognormal(0, 0.001, size=(1, 2, 12))
    (verdict,) = sequential(values, done=9)
    assert (verdict.word, verdict.decided) == ("equivalent", 6)


def test_the_interval_is_at_the_nominal_level_and_therefore_wider() -> None:
    values = noise(3, 1)
    (fixed,) = judge(frame(values).filter(pl.col("block") <= 9), ROWS[:1], ["base", "new"], None, Options())
    (interim,) = sequential(values, done=9)
    assert interim.low < fixed.low < fixed.high < interim.high


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "heavy-tailed"])
def test_false_alarms_over_all_interim_analyses_and_rows_stay_within_alpha(kind: str) -> None:
    """Probability of a difference in any of two rows at any of three interim analyses, without any effect."""
    rng, runs, alarms = np.random.default_rng(29), 400, 0
    for _ in range(runs):
        logs = rng.normal(size=(2, 2, 12)) if kind == "normal" else rng.standard_t(2, size=(2, 2, 12))
        alarms += any(verdict.word in ("better", "worse") for verdict in sequential(np.exp(0.02 * logs)))
    assert alarms / runs <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


@pytest.mark.slow
def test_interim_analyses_without_boundaries_raise_false_alarms() -> None:
    """Compare every p value with 5 % at each interim analysis, without the boundaries that prevent false alarms."""
    from schedlab.analysis.signflip import p_value

    rng, runs = np.random.default_rng(31), 600
    alarms = 0
    for _ in range(runs):
        logs = rng.normal(size=12)
        alarms += any(p_value(logs[:n], 0) <= 0.05 for n in ANALYSES)
    assert alarms / runs > 0.07
