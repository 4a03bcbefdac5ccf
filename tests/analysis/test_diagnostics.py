"""Each warning appears if and only if its cause is present."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import exp, expm1, nan
from statistics import fmean

import numpy as np
import polars as pl
import pytest
from scipy.stats import linregress

from schedlab.analysis.diagnostics import RunFacts, diagnose, differing_means
from schedlab.analysis.judging import judge
from schedlab.analysis.series import autocorrelation, fence, outlying, trend, two_modes, warnings
from schedlab.analysis.verdicts import Options, Question, Verdict
from schedlab.analysis.warnings import Kind

TIME = Question("w", "{}", "time", "s", "lower")
COLUMNS = {
    "position": pl.Int64, "block": pl.Int64, "variant": pl.String, "workload": pl.String, "parameters": pl.String,
    "metric": pl.String, "value": pl.Float64,
}  # fmt: skip
WOBBLE = np.random.default_rng(8).uniform(-0.002, 0.002, size=99)


def kinds(
    *,
    control_factor: float = 1.0,
    drift: float = 0.0,
    spike: float = 1.0,
    slow_wave: float = 0.0,
    flip: float = 0.0,
    blocks: int = 8,
    planned: int | None = None,
    **conditions: object,
) -> set[Kind]:
    """Return the kinds of warnings of a run of three variants with the given faults."""
    samples = []
    trials = 3 * blocks
    for block in range(1, blocks + 1):
        for i, variant in enumerate(("base", "control", "new")):
            position = (block - 1) * 3 + i
            value = 1 + WOBBLE[position] + drift * position / trials
            value += slow_wave * np.sin(position / 4) + flip * (position * 7 % 5 < 2)
            value *= control_factor if variant == "control" else 1.0
            value *= spike if (variant, block) == ("new", 4) else 1.0
            samples.append((position, block, variant, "w", "{}", "time", value))
    frame = pl.DataFrame(samples, schema=COLUMNS, orient="row")
    verdicts = judge(frame, [TIME], ["base", "control", "new"], "control", Options())
    facts = RunFacts(planned or trials, trials, conditions_of(**conditions), pl.DataFrame())
    return {warning.kind for warning in diagnose(facts, frame, [TIME], verdicts, Options())}


def conditions_of(**changed: object) -> pl.DataFrame:
    """Conditions of two variants: the first is quiet, and ``changed`` applies to the second."""
    quiet = {"seconds": 8.0, "steal_percent": 0.0, "other_percent": 0.5, "steal_worst": 0.0, "clocksources": "tsc"}
    quiet |= {"mhz_min": None, "mhz_max": None}
    types = {"mhz_min": pl.Int64, "mhz_max": pl.Int64}
    return pl.DataFrame([quiet, quiet | changed], schema_overrides=types)


def test_a_quiet_run_draws_no_warning() -> None:
    assert kinds() == set()


def test_a_control_that_differs_from_its_baseline_causes_a_warning() -> None:
    assert Kind.CONTROL in kinds(control_factor=1.05)


@pytest.mark.parametrize(("alarms", "warns"), [(3, False), (4, True)])
def test_too_many_small_p_of_a_control_cause_a_warning_although_no_corrected_p_is_small(
    alarms: int, warns: bool
) -> None:
    """Of 20 rows of an A/A control, 3 or more are below 0.05 by chance with p = 0.075, and 4 or more with p = 0.016."""
    control = [replace(verdict_with(0.04 if i < alarms else 0.5), p_adjusted=0.8) for i in range(20)]
    assert (Kind.CONTROL in kinds_of(control)) == warns


def test_a_trend_over_the_run_causes_a_warning() -> None:
    assert Kind.DRIFT in kinds(drift=0.06)


@pytest.mark.parametrize("field", ["workload", "parameters", "metric"])
def test_rows_that_differ_in_one_name_are_searched_for_trends_separately(field: str) -> None:
    steady, rising = TIME, replace(TIME, **{field: '{"groups":1}'})
    samples = [
        (i, i, "base", row.workload, row.parameters, row.metric, 1 + WOBBLE[i] + slope * i)
        for row, slope in ((steady, 0.0), (rising, 0.01))
        for i in range(16)
    ]
    frame = pl.DataFrame(samples, schema=COLUMNS, orient="row")
    drifts = {row: [warning.kind for warning in warnings(frame, [row])] for row in (steady, rising)}
    assert drifts == {steady: [], rising: [Kind.DRIFT]}


def test_outliers_of_rows_that_are_not_judged_cause_no_warning() -> None:
    samples = [(i, i, "base", "w", "{}", "time", 9.0 if i == 3 else 1 + WOBBLE[i]) for i in range(6)]
    frame = pl.DataFrame(samples, schema=COLUMNS, orient="row")
    assert [warning.kind for warning in warnings(frame, [TIME])] == [Kind.OUTLIERS]
    assert not list(warnings(frame, [replace(TIME, metric="latency")]))


def test_a_block_outside_tukey_s_fences_causes_a_warning() -> None:
    assert Kind.OUTLIERS in kinds(spike=1.2)


def test_steal_and_other_load_cause_warnings() -> None:
    assert kinds(steal_percent=10.0, steal_worst=30.0) == {Kind.STEAL}
    assert kinds(other_percent=30.0) == {Kind.LOAD}


def test_a_changed_clock_source_causes_a_warning() -> None:
    assert kinds(clocksources="hpet") == {Kind.CLOCKSOURCE}


def test_varying_frequencies_cause_a_warning() -> None:
    assert kinds(mhz_min=1200, mhz_max=3400) == {Kind.FREQUENCY}


def test_missing_trials_cause_a_warning() -> None:
    assert kinds(planned=30) == {Kind.INCOMPLETE}


def test_four_blocks_have_no_outliers() -> None:
    assert outlying({1: 1.0, 2: 1.0, 3: 1.0, 4: 9.0}) == []


@pytest.mark.parametrize(
    ("changed", "kind"),
    [("kernel.release (6.17 → 6.18)", Kind.MACHINE), ("frequency.governor (powersave → performance)", Kind.GOVERNOR)],
)
def test_a_machine_that_changed_during_the_run_causes_a_warning(changed: str, kind: Kind) -> None:
    facts = RunFacts(0, 0, conditions_of(), pl.DataFrame(), [changed])
    (warning,) = diagnose(facts, pl.DataFrame(schema=COLUMNS), [], [], Options())
    assert warning.kind is kind
    assert changed in warning.seen


def test_a_governor_and_another_change_are_two_warnings() -> None:
    changed = ["frequency.governor (powersave → performance)", "kernel.release (6.17 → 6.18)"]
    diagnosed = diagnose(
        RunFacts(0, 0, conditions_of(), pl.DataFrame(), changed), pl.DataFrame(schema=COLUMNS), [], [], Options()
    )
    assert [warning.kind for warning in diagnosed] == [Kind.GOVERNOR, Kind.MACHINE]


def test_autocorrelated_trials_cause_a_warning() -> None:
    assert Kind.AUTOCORRELATION in kinds(slow_wave=0.02, blocks=12)


def test_a_trend_alone_is_not_autocorrelation() -> None:
    assert kinds(drift=0.06, blocks=12) & {Kind.DRIFT, Kind.AUTOCORRELATION} == {Kind.DRIFT}


def test_trials_with_two_modes_cause_a_warning() -> None:
    assert Kind.MODES in kinds(flip=0.2, blocks=20)


def test_white_noise_is_seldom_autocorrelated_and_a_random_walk_is() -> None:
    rng = np.random.default_rng(5)
    alarms = fmean(autocorrelation(rng.normal(size=24))[1] < 0.05 for _ in range(2000))
    assert 0.01 < alarms < 0.07
    correlation, p = autocorrelation(rng.normal(size=60).cumsum())
    assert correlation > 0.6
    assert p < 1e-4
    assert autocorrelation(np.ones(20)) == (0.0, 1.0)


@pytest.mark.parametrize("kind", ["normal", "log-normal", "uniform", "digits"])
def test_unimodal_noise_is_seldom_reported_as_bimodal(kind: str) -> None:
    rng = np.random.default_rng(6)
    draw = {
        "normal": lambda: rng.normal(size=24),
        "log-normal": lambda: rng.lognormal(0, 0.5, size=24),
        "uniform": lambda: rng.uniform(size=24),
        "digits": lambda: rng.normal(0.3, 0.004, size=24).round(3),
    }[kind]
    assert fmean(two_modes(draw(), 0.01) for _ in range(1000)) <= 0.02


def test_two_distant_modes_are_detected() -> None:
    rng = np.random.default_rng(7)
    assert fmean(two_modes(rng.normal(size=40) + 8 * rng.integers(0, 2, size=40), 0.01) for _ in range(200)) > 0.9


def test_a_design_too_small_for_a_verdict_causes_a_warning_unless_trials_are_missing() -> None:
    assert Kind.RESOLUTION in kinds(blocks=3)
    assert Kind.RESOLUTION not in kinds(blocks=3, planned=30)


def verdict_with(p: float, *, control: bool = True, n: int = 8) -> Verdict:
    nothing, name = pl.DataFrame(schema=COLUMNS, orient="row"), "x" if control else None
    (verdict,) = judge(nothing, [TIME], ["base", "x"], name, Options())
    return replace(verdict, p=p, p_adjusted=p, n=n)


def kinds_of(verdicts: list[Verdict], failures: int = 0) -> set[Kind]:
    failed = pl.DataFrame({"variant": ["x"] * failures, "workload": ["w"] * failures, "reason": ["gone"] * failures})
    facts = RunFacts(24, 24, conditions_of(), failed)
    return {warning.kind for warning in diagnose(facts, pl.DataFrame(schema=COLUMNS), [TIME], verdicts, Options())}


def test_an_unknown_p_of_the_control_does_not_hide_a_small_p() -> None:
    assert Kind.CONTROL in kinds_of([verdict_with(nan), verdict_with(0.001)])
    assert Kind.CONTROL in kinds_of([verdict_with(0.001), verdict_with(nan)])


def test_a_failed_trial_does_not_silence_the_warning_of_a_small_design() -> None:
    assert kinds_of([verdict_with(0.5, control=False, n=3)], failures=1) >= {Kind.RESOLUTION, Kind.FAILED}


def test_rows_without_a_ratio_do_not_count_as_a_small_design() -> None:
    assert Kind.RESOLUTION not in kinds_of([verdict_with(nan, control=False, n=0)])


SHAPES: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "reference": lambda rng, size: np.exp(0.01 * rng.lognormal(0, 1, size)),
    "log-normal": lambda rng, size: 1 + rng.lognormal(-4, 1, size),
    "exponential": lambda rng, size: 1 + rng.exponential(0.02, size),
    "heavy-tailed": lambda rng, size: np.exp(0.02 * rng.standard_t(3, size)),
    "rate": lambda rng, size: 1 / (1 + rng.lognormal(-4, 1, size)),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("cells", "blocks"), [(12, 8), (3, 20), (60, 6)])
def test_at_most_one_clean_run_in_twenty_has_a_warning_about_outliers(shape: str, cells: int, blocks: int) -> None:
    rng, runs = np.random.default_rng(15), 600
    alarms = fmean(
        any(outlying(dict(enumerate(values)), cells) for values in SHAPES[shape](rng, (cells, blocks)))
        for _ in range(runs)
    )
    assert alarms <= 0.05 + 2 * (0.05 * 0.95 / runs) ** 0.5
    assert alarms >= 0.02 or shape != "reference"


def test_a_rate_has_the_outliers_of_its_time() -> None:
    times = dict(enumerate(SHAPES["log-normal"](np.random.default_rng(1), (8,)) * [1, 1, 1, 1, 1, 1, 1, 4]))
    assert outlying(times) == outlying({block: 1 / time for block, time in times.items()}) == [7]


def test_a_single_step_of_a_coarse_metric_is_no_outlier_and_many_steps_are() -> None:
    assert outlying(dict(enumerate([5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.1, 5.2]))) == []
    assert outlying(dict(enumerate([5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.1, 9.0]))) == [7]


def test_values_of_zero_have_fences_without_logs() -> None:
    assert outlying(dict(enumerate([0.0, 1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 90.0]))) == [7]


def test_the_fences_of_a_report_are_for_all_cells_of_the_run() -> None:
    """The block is outside the fences of a single cell and inside the fences of 21 cells."""
    questions = [replace(TIME, parameters=f'{{"groups":{i}}}') for i in range(7)]
    distance = (fence(8, 1) + fence(8, 21)) / 2
    # The quartiles of these logs are -0.01 and 0.01.
    logs = 0.01 * np.array([-2.0, -1.0, -1.0, 0.0, 0.0, 1.0, 1.0, 1 + 2 * distance])
    samples = [
        (100 * block + i, block, variant, "w", row.parameters, "time", exp(log))
        for i, row in enumerate(questions)
        for variant in ("base", "control", "new")
        for block, log in enumerate(logs if (i, variant) == (3, "new") else 0.01 * np.arange(8), start=1)
    ]
    frame = pl.DataFrame(samples, schema=COLUMNS, orient="row")
    for rows, expected in ((questions, []), ([questions[3]], [Kind.OUTLIERS])):
        part = frame if len(rows) > 1 else frame.filter(pl.col("parameters") == rows[0].parameters, variant="new")
        facts = RunFacts(168, 168, conditions_of(), pl.DataFrame())
        diagnosed = diagnose(facts, part, rows, [], Options())
        assert [warning.kind for warning in diagnosed if warning.kind is Kind.OUTLIERS] == expected


@pytest.mark.slow
def test_the_fences_of_large_runs_are_extrapolated() -> None:
    assert fence(8, 60) < fence(8, 2_000) < fence(8, 20_000) < 1000


def means_warnings(*values: float) -> list[str]:
    """Return the warnings on means of a variant with these values, over a baseline of 1 in each block."""
    samples = [
        (index, index // 2, name, "w", "{}", "time", value)
        for index, (name, value) in enumerate(pair for value in values for pair in (("base", 1.0), ("new", value)))
    ]
    frame = pl.DataFrame(samples, schema=COLUMNS, orient="row")
    verdicts = judge(frame, [TIME], ["base", "new"], None, Options())
    return [warning.seen for warning in differing_means(verdicts, Options())]


def test_arithmetic_means_outside_the_interval_of_the_change_cause_a_warning() -> None:
    (warning,) = means_warnings(*[0.9, 0.91, 0.92, 0.9, 0.91, 0.92, 0.9] * 2, 40.0)
    assert warning.startswith("w time: under new the change is +16.9 %, and +251.5 % of the arithmetic means")
    assert means_warnings(1.1, 1.2, 1.1, 1.15, 1.2, 1.1, 1.3, 1.1) == []


def test_an_arithmetic_mean_within_delta_of_the_geometric_mean_causes_no_warning() -> None:
    assert means_warnings(*[1.1] * 8, 1.101) == []
    assert means_warnings(1.0, 1.0) == []


def test_a_machine_that_had_not_settled_is_reported_once_with_its_number_of_blocks() -> None:
    facts = RunFacts(0, 0, conditions_of(), pl.DataFrame(), unsettled=["block 2: apt runs", "block 5: apt runs"])
    found = diagnose(facts, pl.DataFrame(schema=COLUMNS), [], [], Options())
    (warning,) = (warning for warning in found if warning.kind is Kind.UNSETTLED)
    assert warning.seen == "the machine had not settled 2 times; the first: block 2: apt runs"


@pytest.mark.parametrize("slope", [0.0, 0.01, -0.3])
def test_a_trend_equals_the_regression_of_a_reference(slope: float) -> None:
    x = np.array([3.0, 1.0, 4.0, 9.0, 2.0, 6.0])
    y = slope * x + WOBBLE[: len(x)]
    reference = linregress(x, y)
    assert trend(x, y) == pytest.approx((expm1(reference.slope * 8.0), reference.pvalue))
    assert trend(np.full(6, 2.0), y) == (0.0, 1.0)
