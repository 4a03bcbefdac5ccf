"""Verdicts: words, families, gaps, and the rate of false alarms."""

from __future__ import annotations

from math import isnan

import numpy as np
import polars as pl
import pytest

from schedlab.analysis.judging import judge
from schedlab.analysis.resolution import Rule
from schedlab.analysis.verdicts import Options, Question, Verdict, event_share, word
from schedlab.results.words import Word

TIME = Question("w", "{}", "time", "s", "lower")
RATE = Question("w", "{}", "rate", "1/s", "higher")
NOISE = [0.001, -0.002, 0.0005, 0.0015, -0.001, 0.002, -0.0005, -0.0015]


def samples(values: dict[str, list[float]], question: Question = TIME) -> pl.DataFrame:
    """Samples with one iteration per block, from variant → values by block."""
    rows = [
        (question.workload, question.parameters, question.metric, variant, block, value)
        for variant, of_blocks in values.items()
        for block, value in enumerate(of_blocks, start=1)
    ]
    return pl.DataFrame(rows, schema=["workload", "parameters", "metric", "variant", "block", "value"], orient="row")


def verdict_of(values: dict[str, list[float]], question: Question = TIME, **options: object) -> Verdict:
    (verdict,) = judge(samples(values, question), [question], ["base", "new"], None, Options(**options))  # type: ignore[arg-type]
    return verdict


def scaled(factor: float) -> list[float]:
    return [factor * (1 + noise) for noise in NOISE]


BASE = [1.0] * 8


@pytest.mark.parametrize(
    ("question", "factor", "word"),
    [(TIME, 0.9, "better"), (TIME, 1.1, "worse"), (RATE, 0.9, "worse"), (RATE, 1.1, "better")],
)
def test_the_direction_of_a_metric_decides_between_better_and_worse(
    question: Question, factor: float, word: str
) -> None:
    assert verdict_of({"base": BASE, "new": scaled(factor)}, question).word == word


def test_a_narrow_interval_is_equivalent_and_a_wide_interval_inconclusive() -> None:
    assert verdict_of({"base": BASE, "new": scaled(1.0)}).word == "equivalent"
    wide = verdict_of({"base": BASE, "new": [1.1, 0.9, 1.05, 0.95, 1.2, 0.8, 1.0, 1.0]})
    assert wide.word == "inconclusive"
    assert wide.detectable > 0.05
    assert wide.blocks_needed is not None
    assert wide.blocks_needed > 100


def test_an_equivalent_variant_may_have_rare_events_and_other_verdicts_have_no_such_share() -> None:
    verdict = verdict_of({"base": BASE, "new": scaled(1.0)})
    assert verdict.event_share == pytest.approx(3 / len(BASE))
    assert isnan(verdict_of({"base": BASE, "new": scaled(1.5)}).event_share)
    assert event_share(Word.EQUIVALENT, 2) == 1.0
    # The exact limit of the rate of an event that none of n blocks had (Clopper & Pearson 1934).
    assert all(1 - 0.05 ** (1 / n) <= event_share(Word.EQUIVALENT, n) for n in range(1, 1000))


@pytest.mark.parametrize(("factor", "word"), [(0.9999, "equivalent"), (1.004, "equivalent"), (0.985, "better")])
def test_a_significant_difference_inside_the_margin_is_equivalent(factor: float, word: str) -> None:
    blocks = [0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    verdict = verdict_of({"base": blocks, "new": [factor * value for value in blocks]})
    assert verdict.p < 0.01
    assert verdict.word == word


def test_the_margin_comes_from_the_experiment() -> None:
    assert verdict_of({"base": BASE, "new": scaled(1.0)}, delta=0.0001).word == "inconclusive"


def test_too_few_blocks_are_inconclusive_and_name_the_needed_number() -> None:
    verdict = verdict_of({"base": [1.0] * 5, "new": [2.0, 2.01, 2.02, 2.0, 2.0]})
    assert verdict.word == "inconclusive"
    assert "6 can" in verdict.reason


def test_a_gap_excludes_its_block() -> None:
    table = samples({"base": BASE, "new": scaled(1.1)}).filter(~((pl.col("variant") == "new") & (pl.col("block") == 3)))
    (verdict,) = judge(table, [TIME], ["base", "new"], None, Options())
    assert verdict.n == 7


def test_a_missing_variant_is_unknown_not_zero() -> None:
    verdict = verdict_of({"base": BASE})
    assert verdict.word == "inconclusive"
    assert verdict.reason == "no measurement of new"
    assert isnan(verdict.ratio)
    assert isnan(verdict.mean)


def test_iterations_do_not_count_as_blocks() -> None:
    once = samples({"base": BASE, "new": scaled(1.1)})
    (verdict,) = judge(pl.concat([once] * 20), [TIME], ["base", "new"], None, Options())
    assert verdict.n == 8
    assert verdict.p == 2 / 256


def test_the_correction_is_over_a_variant_s_rows_without_the_control() -> None:
    questions = [Question("w", f'{{"g":{i}}}', "time", "s", "lower") for i in range(8)]
    table = pl.concat(samples({"base": BASE, "control": scaled(1.0), "new": scaled(1.1)}, q) for q in questions)
    verdicts = judge(table, questions, ["base", "control", "new"], "control", Options(correction="holm"))
    new = [v for v in verdicts if v.variant == "new"]
    assert {v.p_adjusted for v in new} == {8 * 2 / 256}
    assert {v.word for v in new} == {"inconclusive"}
    assert {v.control for v in verdicts if v.variant == "control"} == {True}
    bh = judge(
        table,
        questions,
        ["base", "control", "new"],
        "control",
        Options(correction="benjamini-hochberg"),
    )
    assert {v.word for v in bh if v.variant == "new"} == {"worse"}


def test_verdicts_come_row_by_row_in_the_plan_s_order_of_variants() -> None:
    table = pl.concat(samples({"base": BASE, "b": BASE, "a": BASE}, q) for q in (TIME, RATE))
    verdicts = judge(table, [TIME, RATE], ["base", "b", "a"], None, Options())
    assert [(v.question.metric, v.variant) for v in verdicts] == [
        ("time", "b"),
        ("time", "a"),
        ("rate", "b"),
        ("rate", "a"),
    ]


def draw(kind: str, rng: np.random.Generator, size: int) -> np.ndarray:
    """Values near 1 with 2 % noise: normal, log-normal, heavy-tailed (t, 3 degrees of freedom)."""
    noise = {
        "normal": lambda: rng.normal(0, 0.02, size),
        "log-normal": lambda: np.exp(rng.normal(0, 0.02, size)) - 1,
        "heavy": lambda: 0.02 * rng.standard_t(3, size) / np.sqrt(3),
    }[kind]()
    return np.abs(1 + noise)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "log-normal", "heavy"])
def test_false_alarms_stay_within_alpha(kind: str) -> None:
    rng, alarms, campaigns = np.random.default_rng(17), 0, 600
    for _ in range(campaigns):
        values = {name: draw(kind, rng, 8).tolist() for name in ("base", "new")}
        alarms += verdict_of(values).word in ("better", "worse")
    assert alarms / campaigns <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / campaigns)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "log-normal", "heavy"])
def test_intervals_have_nominal_coverage_of_the_true_ratio(kind: str) -> None:
    rng, covered, campaigns = np.random.default_rng(23), 0, 600
    for _ in range(campaigns):
        verdict = verdict_of({"base": draw(kind, rng, 8).tolist(), "new": (1.03 * draw(kind, rng, 8)).tolist()})
        covered += verdict.low <= 1.03 <= verdict.high
    assert 0.93 <= covered / campaigns <= 0.985


def test_a_run_s_family_includes_the_rows_of_all_variants() -> None:
    names = ["base", "control", "x", "y"]
    table = samples({"base": BASE, "control": scaled(1.0), "x": scaled(1.1), "y": scaled(1.0)})
    run = judge(table, [TIME], names, "control", Options(family="run", correction="holm"))
    each = judge(table, [TIME], names, "control", Options(correction="holm"))
    assert [v.p_adjusted for v in run if v.variant == "x"] == [2 * 2 / 256]
    assert [v.p_adjusted for v in each if v.variant == "x"] == [2 / 256]


def test_a_row_without_a_p_counts_as_a_test_of_holm_s_correction() -> None:
    missing, table = Question("gone", "{}", "time", "s", "lower"), samples({"base": BASE, "new": scaled(1.1)})
    verdicts = judge(table, [TIME, missing], ["base", "new"], None, Options(correction="holm"))
    assert verdicts[0].p_adjusted == 2 * 2 / 256


@pytest.mark.parametrize(("lost", "word"), [(0, "worse"), (1, "worse"), (2, "inconclusive")])
def test_survivors_of_many_failures_are_not_judged(lost: int, word: str) -> None:
    blocks = 20
    values = {"base": [1.0] * blocks, "new": [1.1 + 0.001 * block for block in range(blocks)]}
    table = samples(values).filter((pl.col("variant") == "base") | (pl.col("block") > lost))
    (verdict,) = judge(table, [TIME], ["base", "new"], None, Options(), recorded(blocks))
    assert (verdict.word, verdict.failed) == (word, lost)
    assert ("not a fair sample" in verdict.reason) == (lost == 2)


def recorded(blocks: int, iterations: int = 1) -> dict[tuple[str, str, str], dict[int, int]]:
    """One trial of base and of new for each block and iteration, in any state."""
    return {("w", "{}", name): dict.fromkeys(range(1, blocks + 1), iterations) for name in ("base", "new")}


@pytest.mark.slow
def test_trials_without_a_judged_metric_count_as_lost() -> None:
    """All trials are good, but the slowest of the variant do not report the metric."""
    both = [
        samples({"base": [1.0 + 0.01 * (block % 5) for block in range(10)], "new": [0.9] * 10}, question)
        for question in (TIME, RATE)
    ]
    table = pl.concat(both).filter((pl.col("metric") == "rate") | (pl.col("variant") == "base") | (pl.col("block") > 2))
    time, rate = judge(table, [TIME, RATE], ["base", "new"], None, Options(), recorded(10))
    assert (time.word, time.failed) == ("inconclusive", 2)
    assert "2 of 10 trials of new failed or lack time" in time.reason
    assert (rate.word, rate.failed) == ("worse", 0)


def test_a_verdict_that_hinges_on_the_variant_s_lost_trials_is_inconclusive() -> None:
    """The variant lost its slowest trial in each of 5 blocks of 20; the remaining trials look faster."""
    base = [[1.0, 1.0, 1.0, 1.0, 1.4]] * 20
    lines = [("w", "{}", "time", "base", b + 1, value) for b, of_block in enumerate(base) for value in of_block]
    new = [[1.0 - 0.0001 * b, 1.0, 1.0, 1.0, *([1.4] if b % 4 else [])] for b in range(20)]
    lines += [("w", "{}", "time", "new", b + 1, value) for b, of_block in enumerate(new) for value in of_block]
    table = pl.DataFrame(lines, schema=["workload", "parameters", "metric", "variant", "block", "value"], orient="row")
    (verdict,) = judge(table, [TIME], ["base", "new"], None, Options(delta=0.001), recorded(20, 5))
    assert (verdict.word, verdict.failed) == ("inconclusive", 5)
    assert "5 of 100 trials of new and 0 of 100 of base have no value" in verdict.reason
    without = judge(table, [TIME], ["base", "new"], None, Options(delta=0.001))[0]
    assert without.word == "better"


def test_values_that_are_not_finite_count_as_lost() -> None:
    values = {"base": [1.0] * 8, "new": [*scaled(1.1)[:6], float("inf"), float("nan")]}
    (verdict,) = judge(samples(values), [TIME], ["base", "new"], None, Options(), recorded(8))
    assert (verdict.word, verdict.n, verdict.failed) == ("inconclusive", 6, 2)


@pytest.mark.parametrize("blocks", [2, 5])
def test_fewer_than_six_blocks_do_not_show_equivalence(blocks: int) -> None:
    values = [1.0 + 0.001 * block for block in range(blocks)]
    assert verdict_of({"base": values, "new": values}).word == "inconclusive"


@pytest.mark.parametrize("value", [100 / 3, 10.0, 1000.0, 123456.789])
def test_values_that_are_all_equal_show_no_step_and_no_equivalence(value: float) -> None:
    """100 operations in 3 s are 33.3333…, and 101 are 33.6667: the digits do not show fine steps."""
    verdict = verdict_of({"base": [value] * 8, "new": [value] * 8})
    assert (verdict.word, verdict.ratio, verdict.n) == ("inconclusive", 1, 8)
    assert verdict.reason.startswith("all values are equal, so that the steps of time are unknown")
    few = verdict_of({"base": [value] * 5, "new": [value] * 5})
    assert few.reason == "5 blocks cannot show any difference here; 6 can"


def test_one_value_that_differs_shows_the_step_of_the_metric() -> None:
    fine, coarse = ([100 / 3] * 7 + [(100 + step) / 3] for step in (0.001, 1.0))
    assert verdict_of({"base": [100 / 3] * 8, "new": fine}).word == "equivalent"
    assert verdict_of({"base": [100 / 3] * 8, "new": coarse}).word == "inconclusive"


def test_equal_figures_of_a_coarse_metric_are_not_equivalent() -> None:
    """A step of 1 in 10 hides changes of up to 10 %; a step of 1 in 1,000 hides 0.1 %."""
    assert verdict_of({"base": [10.0, 11.0] * 4, "new": [10.0, 11.0] * 4}).word == "inconclusive"
    assert verdict_of({"base": [1000.0, 1001.0] * 4, "new": [1000.0, 1001.0] * 4}).word == "equivalent"


@pytest.mark.parametrize("interval", ["sign-flip", "bootstrap"])
def test_a_ratio_beyond_the_largest_double_is_infinite(interval: str) -> None:
    verdict = verdict_of({"base": [1e-200 * (1 + noise) for noise in NOISE], "new": [1e200] * 8}, interval=interval)
    assert (verdict.word, verdict.ratio) == ("worse", float("inf"))


MANY = [Question("w", f'{{"g":{i:02}}}', "time", "s", "lower") for i in range(20)]


def test_values_whose_squares_overflow_have_a_spread() -> None:
    largest = verdict_of({"base": [1e200, *BASE[1:]], "new": scaled(1.1)})
    assert largest.baseline_spread == pytest.approx(1e200 / 8**0.5)


@pytest.mark.slow
def test_a_large_change_over_six_blocks_is_found_among_twenty_rows() -> None:
    rng = np.random.default_rng(5)
    base, new = rng.lognormal(0, 0.02, size=(2, 20, 6))
    new[7] *= 12
    tables = [samples({"base": list(base[i]), "new": list(new[i])}, row) for i, row in enumerate(MANY)]
    verdicts = judge(pl.concat(tables), MANY, ["base", "new"], None, Options())
    assert [verdict.word for verdict in verdicts].count("worse") == 1
    assert (verdicts[7].word, verdicts[7].p_adjusted) == ("worse", 2 / 64)
    holm = judge(pl.concat(tables), MANY, ["base", "new"], None, Options(correction="holm"))
    assert holm[7].reason == "6 blocks cannot show any difference here; 10 can"


def test_a_joint_test_never_has_a_smaller_p_than_the_row_alone() -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        base, new = rng.lognormal(0, 0.02, size=(2, 5, 8))
        tables = [samples({"base": list(base[i]), "new": list(new[i])}, row) for i, row in enumerate(MANY[:5])]
        verdicts = judge(pl.concat(tables), MANY[:5], ["base", "new"], None, Options())
        assert all(verdict.p_adjusted >= verdict.p for verdict in verdicts)


def test_rows_that_lack_blocks_are_tested_jointly_with_other_rows() -> None:
    both = samples({"base": BASE, "new": scaled(1.1)}, MANY[0]), samples({"base": BASE, "new": scaled(1.1)}, MANY[1])
    table = pl.concat([both[0], both[1].filter(pl.col("block") > 2)])
    whole, part = judge(table, MANY[:2], ["base", "new"], None, Options())
    assert (whole.n, part.n) == (8, 6)
    assert whole.p_adjusted == 2 / 256
    assert part.p_adjusted == part.p == 2 / 64


@pytest.mark.parametrize(
    ("control", "inside"), [(scaled(0.99), False), ([0.94, 0.99, 0.95, 1.02, 0.96, 0.93, 1.01, 0.9], True)]
)
def test_a_change_inside_the_control_s_interval_is_marked(control: list[float], inside: bool) -> None:
    values = {"base": BASE, "control": control, "new": scaled(0.96)}
    noise, new = judge(samples(values), [TIME], ["base", "control", "new"], "control", Options())
    assert new.word == "better"
    assert new.within_control is inside
    assert not noise.within_control


def test_without_a_control_no_change_is_within_it() -> None:
    assert not verdict_of({"base": BASE, "new": scaled(0.96)}).within_control


def test_the_means_have_the_ratio_of_the_change_over_the_compared_blocks_alone() -> None:
    values = {"base": [1.0, 2.0, 4.0, 8.0, 1.0, 2.0, 4.0], "new": [2.0, 2.0, 5.0, 9.0, 1.5, 2.5, 40.0, 1000.0]}
    verdict = verdict_of(values)
    assert verdict.n == 7
    assert verdict.mean / verdict.baseline_mean == pytest.approx(verdict.ratio)
    assert verdict.baseline_mean == pytest.approx(np.exp(np.log(values["base"]).mean()))
    assert verdict.arithmetic_ratio == pytest.approx(sum(values["new"][:7]) / sum(values["base"]))


def test_without_a_ratio_the_means_are_arithmetic() -> None:
    verdict = verdict_of({"base": [0.0, 2.0, -4.0], "new": [1.0, 1.0, 4.0]})
    assert (verdict.baseline_mean, verdict.mean) == (-2 / 3, 2.0)
    assert isnan(verdict.ratio)
    assert isnan(verdict.arithmetic_ratio)


@pytest.mark.parametrize(
    ("ratio", "p_different", "p_same", "expected"),
    [
        (1.1, 0.05, 1.0, "worse"),
        (0.9, 0.05, 1.0, "better"),
        (1.1, 0.0501, 1.0, "inconclusive"),
        (1.0, 0.0, 1.0, "inconclusive"),
        (1.1, 0.05, 0.05, "equivalent"),
        (1.1, 0.05, 0.0501, "worse"),
    ],
)
def test_a_p_of_exactly_alpha_is_significant(ratio: float, p_different: float, p_same: float, expected: str) -> None:
    assert word(TIME, ratio, p_different, p_same, 0.05) == expected
    turned = {"better": "worse", "worse": "better"}
    assert word(RATE, ratio, p_different, p_same, 0.05) == turned.get(expected, expected)


def test_max_t_tests_rows_together_and_other_corrections_divide_the_level() -> None:
    assert Options(correction="max-t").rule(4) == Rule(0.05, 4)
    assert Options(correction="holm").rule(4) == Rule(0.05 / 4, 1)
    assert Options(correction="max-t").rule(0) == Options(correction="holm").rule(0) == Rule(0.05, 1)
