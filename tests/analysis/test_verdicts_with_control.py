"""Verdicts in which the A/A control takes part: permutations of three labels, and rows that fall back on sign flips."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, log

import numpy as np
import polars as pl
import pytest
from scipy.special import stdtrit

from schedlab.analysis import labels
from schedlab.analysis.judging import judge
from schedlab.analysis.signflip import p_value
from schedlab.analysis.verdicts import Options, Question, Verdict
from schedlab.results.kinds import DETERMINISTIC, REAL, SIMULATED
from schedlab.store.design import StoredDesign

TIME = Question("w", "{}", "time", "s", "lower")
OPTIONS = Options(reference="control")
NAMES = ("base", "control", "new")


def samples(values: dict[str, list[float]], question: Question = TIME) -> pl.DataFrame:
    """Samples with one iteration per block; nan for a lost trial."""
    rows = [
        (question.workload, question.parameters, question.metric, variant, block, value)
        for variant, of_blocks in values.items()
        for block, value in enumerate(of_blocks, start=1)
        if not isnan(value)
    ]
    return pl.DataFrame(rows, schema=["workload", "parameters", "metric", "variant", "block", "value"], orient="row")


def verdict_of(values: dict[str, list[float]], options: Options = OPTIONS, question: Question = TIME) -> Verdict:
    recorded = {("w", "{}", name): {b + 1: 1 for b in range(len(cell))} for name, cell in values.items()}
    _, verdict = judge(samples(values, question), [question], NAMES, "control", options, recorded)
    assert verdict.variant == "new"
    return verdict


def campaign(blocks: int, change: float, seed: int = 1) -> dict[str, list[float]]:
    rng = np.random.default_rng(seed)
    times = np.exp(0.01 * rng.standard_normal((3, blocks)) + 0.1 * rng.standard_normal(blocks))
    return dict(zip(NAMES, (times * np.array([[1.0], [1.0], [1 + change]])).tolist(), strict=True))


def logs_of(values: dict[str, list[float]]) -> np.ndarray:
    return np.log(np.array([values["new"], values["base"], values["control"]]).T)


@pytest.mark.parametrize(("change", "word"), [(0.2, "worse"), (-0.2, "better")])
def test_four_blocks_with_a_control_decide_a_large_change(change: float, word: str) -> None:
    assert verdict_of(campaign(4, change)).word == word
    without = verdict_of(campaign(4, change), replace(OPTIONS, reference=""))
    assert without.reason == "4 blocks cannot show any difference here; 6 can"


def test_three_blocks_are_too_few_and_the_reason_names_the_needed_number() -> None:
    assert verdict_of(campaign(3, 0.2)).reason == "3 blocks cannot show any difference here; 4 can"


@pytest.mark.slow
def test_the_ratio_is_the_pseudo_median_and_its_interval_inverts_the_test() -> None:
    for seed in range(20):
        values = campaign(6, 0.01, seed)
        verdict = verdict_of(values)
        assert log(verdict.ratio) == pytest.approx(labels.centre(logs_of(values)))
        assert (not verdict.low <= 1 <= verdict.high) == (verdict.p <= 0.05)
        assert verdict.p == verdict.p_adjusted == labels.p_value(logs_of(values), 0)
        assert verdict.statistic == "aligned-ranks"


@pytest.mark.slow
def test_intervals_cover_the_change_in_95_percent_of_campaigns() -> None:
    for blocks in (4, 8):
        covered = [
            (verdict := verdict_of(campaign(blocks, 0.03, seed))).low <= 1.03 <= verdict.high for seed in range(300)
        ]
        assert 0.93 <= np.mean(covered) <= 0.985


def test_the_control_is_compared_with_the_baseline_by_sign_flips() -> None:
    values = campaign(8, 0.05)
    control, _ = judge(samples(values), [TIME], NAMES, "control", OPTIONS)
    assert control.p == p_value(np.log(values["control"]) - np.log(values["base"]), 0)
    assert control.statistic == "logs"


@pytest.mark.parametrize("options", [Options(), replace(OPTIONS, looks=(4, 8))])
def test_without_a_reference_and_at_interim_analyses_signs_are_flipped(options: Options) -> None:
    values = campaign(8, 0.001)
    verdict = verdict_of(values, options)
    assert verdict.p == p_value(np.log(values["new"]) - np.log(values["base"]), 0)
    assert verdict.ratio == pytest.approx(np.exp(np.mean(np.log(values["new"]) - np.log(values["base"]))))


def test_a_control_that_lost_many_trials_takes_no_part() -> None:
    values = campaign(8, 0.05)
    values["control"][2] = float("nan")
    verdict = verdict_of(values)
    assert (verdict.statistic, verdict.n) == ("logs", 8)


def test_blocks_without_the_control_are_left_out_if_it_lost_few_trials() -> None:
    values = campaign(24, 0.05)
    values["control"][2] = float("nan")
    verdict = verdict_of(values)
    assert (verdict.statistic, verdict.n) == ("aligned-ranks", 23)


def test_a_verdict_that_depends_on_a_lost_trial_is_inconclusive() -> None:
    values = campaign(24, -0.008, 3)
    assert verdict_of(values).word == "better"
    values["new"][2] = float("nan")
    # The worst value of the row is far from all others, but ranks limit its influence to one block.
    assert verdict_of(values).word == "better"
    hanging = {name: list(cell) for name, cell in values.items()}
    p = [verdict_of({**hanging, "new": [v * f for v in hanging["new"]]}).p for f in (1.0, 1.004)]
    assert p[0] < p[1]
    border = {**hanging, "new": [v * 1.0028 for v in hanging["new"]]}
    verdict = verdict_of(border)
    assert verdict.word == "inconclusive"


def test_variants_of_one_family_share_alpha() -> None:
    values = campaign(5, 0.2) | {"other": campaign(5, 0.0, 7)["new"]}
    names = (*NAMES, "other")
    options = replace(OPTIONS, family="run")
    verdict = next(v for v in judge(samples(values), [TIME], names, "control", options) if v.variant == "new")
    assert verdict.p_adjusted == pytest.approx(2 * verdict.p)
    assert options.rule(1, 2).level == 0.025
    assert options.rule(3, 2).rows == 3


def test_a_row_that_cannot_use_the_control_shares_alpha_with_the_other_rows() -> None:
    """A value of 0 has no logarithm."""
    count = Question("w", "{}", "count", "1/s", "lower")
    values = campaign(8, 0.2)
    zeros = {name: [0.0, *cell[1:]] for name, cell in campaign(8, 0.0, 2).items()}
    frame = pl.concat([samples(values), samples(zeros, count)])
    verdicts = {(v.variant, v.question.metric): v for v in judge(frame, [TIME, count], NAMES, "control", OPTIONS)}
    changed, flipped = verdicts["new", "time"], verdicts["new", "count"]
    assert (changed.statistic, flipped.statistic) == ("aligned-ranks", "differences")
    assert changed.p_adjusted == pytest.approx(2 * changed.p)
    assert flipped.p_adjusted == pytest.approx(min(1, 2 * flipped.p))


def quiet(blocks: int, seed: int = 1) -> dict[str, list[float]]:
    """Values that differ by 0.02 %."""
    values = campaign(blocks, 0.0, seed)
    first = values["base"]
    return {name: [1 + (v / first[i] - 1) / 50 for i, v in enumerate(cell)] for name, cell in values.items()}


@pytest.mark.parametrize(("blocks", "word"), [(6, "equivalent"), (5, "inconclusive")])
def test_six_quiet_blocks_show_equivalence(blocks: int, word: str) -> None:
    assert verdict_of(quiet(blocks)).word == word


def test_a_variant_that_hangs_in_a_few_blocks_is_not_equivalent() -> None:
    """Ranks ignore three of twenty blocks, however slow."""
    values = quiet(20)
    assert verdict_of(values).word == "equivalent"
    values["new"][:3] = [10 * value for value in values["new"][:3]]
    assert verdict_of(values).word == "inconclusive"


def test_a_change_that_steps_of_the_metric_can_hide_is_not_equivalent() -> None:
    """The metric has steps of 2 %, delta is 1 %, and the values of one block in four are a step higher."""
    step = [1.0, 1.0, 1.0, 1.02]
    values = {"base": [1.0] * 20, "control": [1.0, 1.02] * 10, "new": step * 5}
    assert verdict_of(values).word == "inconclusive"


def test_a_disturbed_control_is_noticed_over_too_few_blocks_for_its_own_test() -> None:
    values = campaign(4, -0.03)
    assert verdict_of(values).word == "better"
    values["control"] = [1.5 * value for value in values["control"]]
    verdict = verdict_of(values)
    assert verdict.word == "inconclusive"
    assert verdict.reason == "the A/A control differs from the baseline: measure again, with 6 blocks or more"
    assert verdict.ratio == pytest.approx(np.exp(np.mean(np.log(values["new"]) - np.log(values["base"]))))


def test_coarse_figures_whose_interval_has_no_width_have_a_detectable_change() -> None:
    figures = np.round(100 + 0.35 * np.random.default_rng(1).standard_normal((3, 20)))
    verdict = verdict_of(dict(zip(NAMES, figures.tolist(), strict=True)))
    assert (verdict.low, verdict.high) == (1.0, 1.0)
    assert verdict.detectable > 0


def test_worst_cases_use_the_control_too() -> None:
    longest = replace(TIME, worst=True)
    verdict = verdict_of(campaign(4, 0.3), question=longest)
    assert (verdict.word, verdict.statistic) == ("worse", "ranks")


@pytest.mark.slow
def test_the_detectable_change_allows_for_the_error_of_the_measured_spread() -> None:
    """The power at the printed change, on average over runs of 6 blocks and over normal noise."""
    rng, found = np.random.default_rng(5), []
    for seed in range(200):
        change = verdict_of(campaign(6, 0.0, seed)).detectable
        logs = 0.01 * rng.standard_normal((6, 3))
        logs[:, 0] += np.log1p(change)
        found.append(labels.p_value(logs, 0) <= 0.05)
    assert 0.74 <= np.mean(found) <= 0.89


def test_student_s_interval_with_too_few_blocks_is_around_the_pseudo_median() -> None:
    values = campaign(3, 0.0)
    verdict = verdict_of(values)
    logs = logs_of(values)
    deviation = (logs[:, 0] - logs[:, 1:].mean(axis=1)).std(ddof=1)
    half = float(stdtrit(2, 0.975)) * deviation / np.sqrt(3)
    assert log(verdict.high) - log(verdict.ratio) == pytest.approx(half)


@pytest.mark.parametrize(
    ("kind", "changes", "reference"),
    [
        (REAL, {}, "control"),
        (REAL, {"control": None}, ""),
        (REAL, {"looks": [4, 8]}, ""),
        (REAL, {"stack": ["base", "new"]}, ""),
        (REAL, {"interval": "bootstrap"}, ""),
        (REAL, {"paired": False}, ""),
        (SIMULATED, {}, ""),
        (DETERMINISTIC, {}, ""),
    ],
)
def test_only_an_independent_second_measurement_in_a_fixed_run_takes_part(
    kind: str, changes: dict[str, object], reference: str
) -> None:
    design = StoredDesign(
        question="", blocks=8, iterations=1, variants=list(NAMES), control="control", questions=[TIME],
        alpha=0.05, delta=0.01, correction="max-t", family="variant",
    )  # fmt: skip
    assert design.model_copy(update=changes).options(1, kind).reference == reference
