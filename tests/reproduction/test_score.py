"""Scores of made-up simulations."""

from __future__ import annotations

from dataclasses import replace
from math import pi, sqrt

import numpy as np
import pytest

from schedlab.analysis.distributions import CellSamples
from schedlab.reproduction.published import Headline, PublishedReport, names, report
from schedlab.reproduction.score import score, skill, totals
from schedlab.reproduction.simulated import Comparison, Figures, Level, Simulated

SCHEDSTATS = report("schedstats")


def comparisons(of: PublishedReport = SCHEDSTATS, factor: float = 1.0) -> list[Comparison]:
    """Return a simulation whose gains are the published gains times a factor."""
    return [
        replace(each, simulated=Simulated(each.published.gain * factor, 0.01, 1.0, 4))
        for each in Figures({}).comparisons(of)
    ]


def test_a_perfect_simulation_has_skill_1_and_no_change_has_skill_0() -> None:
    perfect, unchanged = score(SCHEDSTATS, comparisons(), []), score(SCHEDSTATS, comparisons(factor=0.0), [])
    assert (perfect.skill, perfect.error, perfect.sign, perfect.spearman) == (1.0, 0.0, 1.0, pytest.approx(1.0))
    assert (unchanged.skill, unchanged.error, unchanged.sign, unchanged.spearman) == (
        0.0,
        unchanged.error_of_none,
        0.0,
        0.0,
    )
    assert score(SCHEDSTATS, comparisons(factor=-1.0), []).skill == pytest.approx(-1.0)


def test_only_effects_beyond_the_noise_count_for_the_sign() -> None:
    turned = [
        each if each.published.significant else replace(each, simulated=Simulated(-each.published.gain, 0.01, 1.0, 4))
        for each in comparisons()
    ]
    scores = score(SCHEDSTATS, turned, [])
    assert scores.sign == 1.0
    assert scores.right == scores.significant == sum(each.published.significant for each in turned)


def test_effects_without_a_simulation_are_counted_as_missing() -> None:
    scores = score(SCHEDSTATS, Figures({}).comparisons(SCHEDSTATS), [])
    assert (scores.effects, scores.missing) == (0, 45)
    assert {scores.skill, scores.sign, scores.spearman, scores.error, scores.ceiling, scores.level} == {None}
    assert {outcome.reached for outcome in scores.headlines} == {None}


def test_an_effect_is_resolved_below_a_third_of_the_published_effect() -> None:
    error = [abs(each.published.gain) / 3 for each in comparisons()]
    for part, resolved in ((0.99, 45), (1.01, 0)):
        made = [
            replace(each, simulated=Simulated(0.0, part * of_row, 1.0, 4))
            for each, of_row in zip(comparisons(), error, strict=True)
        ]
        assert score(SCHEDSTATS, made, []).resolved == resolved
        two = [replace(each, simulated=Simulated(0.0, 0.0, 1.0, 2)) for each in made]
        assert score(SCHEDSTATS, two, []).resolved == 0, "two random seeds resolve nothing"


def test_headlines_are_reached_when_all_of_their_rows_are_within_bounds() -> None:
    perfect = score(SCHEDSTATS, comparisons(), [])
    assert {outcome.reached for outcome in perfect.headlines} == {True}
    spoilt = comparisons()
    title = "tbench4, 48 CPUs, 1 to 32 clients"
    (place,) = (i for i, each in enumerate(spoilt) if each.table.title == title and each.row.at == 2)
    spoilt[place] = replace(spoilt[place], simulated=Simulated(5.1, 0.01, 1.0, 4))
    (missed,) = (outcome for outcome in score(SCHEDSTATS, spoilt, []).headlines if not outcome.reached)
    assert missed.headline.text == "tbench gains 2 to 5 % with 1 to 4 clients"
    (miss,) = missed.misses
    assert (miss.table.title, miss.row.at, miss.figure, miss.bounds) == (title, 2, 5.1, (2, 5))


@pytest.mark.parametrize("name", names())
def test_the_published_figures_reach_their_own_headlines(name: str) -> None:
    of = report(name)
    levels = [Level(table, row, 1.0, float(np.mean(row.values[0]))) for table in of.table for row in table.rows]
    published = [
        replace(each, simulated=Simulated(each.published.gain, 0.0, 1 / (1 - each.published.gain / 100), 4))
        for each in comparisons(of)
    ]
    outcomes = score(of, published, levels).headlines
    assert [outcome.headline.text for outcome in outcomes if not outcome.reached] == []


def test_no_change_reaches_the_headlines_that_are_about_nothing() -> None:
    of_no_change = {o.headline.text: o.of_no_change for o in score(SCHEDSTATS, comparisons(), []).headlines}
    assert [text for text, is_reached in of_no_change.items() if is_reached] == [
        "TCP_STREAM of 16384 bytes gains less than 1.5 %",
        "tbench is flat (within 2.2 %) with 8 and more clients",
    ]


def test_totals_add_the_reports_up() -> None:
    perfect, wrong = score(SCHEDSTATS, comparisons(), []), score(SCHEDSTATS, comparisons(factor=-1.0), [])
    both = totals([perfect, wrong])
    assert (both.reports, both.positive_skill, both.interval_above_0) == (2, 1, 1)
    assert (both.significant, both.right) == (2 * perfect.significant, perfect.significant)
    assert (both.headlines, both.of_no_change, both.by_both) == (10, 4, 4)
    nothing = totals([score(SCHEDSTATS, Figures({}).comparisons(SCHEDSTATS), [])])
    assert (nothing.headlines, nothing.of_no_change) == (0, 0), "what was not simulated is not compared"
    assert both.reached == 5 + sum(outcome.reached is True for outcome in wrong.headlines)


def test_the_skill_has_an_interval_that_contains_it() -> None:
    generator = np.random.default_rng(7)
    noisy = [
        replace(each, simulated=Simulated(each.published.gain + generator.normal(), 0.1, 1.0, 4))
        for each in comparisons()
    ]
    scores = score(SCHEDSTATS, noisy, [])
    assert scores.skill is not None
    assert scores.skill_interval is not None
    low, high = scores.skill_interval
    assert low < scores.skill < high < low + 1
    assert score(SCHEDSTATS, noisy, []).skill_interval == (low, high)
    for few in ("vmstat", "numa-slow-start"):
        assert score(report(few), comparisons(report(few)), []).skill_interval is None


def test_the_interval_does_not_depend_on_where_rows_are_in_memory() -> None:
    made = comparisons(factor=0.5)
    copies = {id(each.row): each.row.model_copy() for each in reversed(made)}
    moved = [replace(each, row=copies[id(each.row)]) for each in made]
    noisy = [
        [
            replace(each, simulated=Simulated(each.published.gain / (2 + index % 5), 0.1, 1.0, 4))
            for index, each in enumerate(effects)
        ]
        for effects in (made, moved)
    ]
    first, second = (score(SCHEDSTATS, effects, []).skill_interval for effects in noisy)
    assert first == second


def test_effects_of_one_row_are_resampled_together() -> None:
    of = report("migration-cost")
    counted = [each for each in comparisons(of) if each.table.scored]
    # All effects of every other row are right, those of the other rows are missed. The columns of a row agree.
    rows = list(dict.fromkeys(id(each.row) for each in counted))
    right = {row: index % 2 for index, row in enumerate(rows)}
    by_row = [
        replace(each, simulated=Simulated(each.published.gain * right[id(each.row)], 0.1, 1.0, 4)) for each in counted
    ]
    by_effect = [
        replace(each, simulated=Simulated(each.published.gain * (index % 2), 0.1, 1.0, 4))
        for index, each in enumerate(counted)
    ]
    widths = []
    for made in (by_row, by_effect):
        interval = score(of, made, []).skill_interval
        assert interval is not None
        widths.append(interval[1] - interval[0])
    assert widths[0] > widths[1]


def test_a_factor_is_the_baseline_s_figure_divided_by_the_column_s() -> None:
    vmstat = report("vmstat")
    (headline,) = (each for each in vmstat.headline if each.checks[0].factor is not None)
    alone = vmstat.model_copy(update={"headline": [Headline(text=headline.text, checks=headline.checks)]})
    for factor, reached in ((99.0, False), (285.0, True), (1001.0, False)):
        made = [replace(each, simulated=Simulated(99.0, 0.0, factor, 4)) for each in comparisons(vmstat)]
        assert [outcome.reached for outcome in score(alone, made, []).headlines] == [reached]


def test_levels_are_factors_of_at_least_1_in_both_directions() -> None:
    table = SCHEDSTATS.table[0]
    levels = [Level(table, table.rows[0], 100.0, simulated) for simulated in (50.0, 100.0, 200.0)]
    scores = score(SCHEDSTATS, comparisons(), levels)
    assert (scores.level, scores.level_error) == (1.0, 2.0)
    assert scores.level_p90 == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("figures", "reached"),
    [
        ((3.1, 4.0, 7.9), True),
        ((3.1, 4.0, 4.0), False),
        ((4.0, 3.1, 7.9), False),
        ((2.9, 4.0, 7.9), False),
        ((3.1, 4.0, 8.1), False),
        ((3.1, 4.0), None),
        ((), None),
    ],
)
def test_a_rising_row_of_figures_stays_within_bounds_and_rises(
    figures: tuple[float, ...], *, reached: bool | None
) -> None:
    of = report("migration-cost")
    table = next(table for table in of.table if table.metric == "sim.balance_pass_ns")
    levels = [Level(table, row, 1.0, 1000 * figure) for row, figure in zip(table.rows, figures, strict=False)]
    (outcome,) = (each for each in score(of, [], levels).headlines if each.headline.checks[0].rising is not None)
    assert outcome.reached is reached


def test_the_ceiling_is_the_expected_skill_of_a_second_measurement() -> None:
    slow_start = report("numa-slow-start")
    made = comparisons(slow_start)
    ceiling = score(slow_start, made, []).ceiling
    gains = np.array([each.published.gain for each in made])
    errors = np.array([each.published.error for each in made], float)
    assert ceiling == pytest.approx(1 - (2 / sqrt(pi)) * errors.sum() / np.abs(gains).sum())
    generator = np.random.default_rng(1)
    first, second = (gains + errors * generator.standard_normal((20_000, len(gains))) for _ in range(2))
    simulated = 1 - np.abs(first - second).sum() / (len(first) * np.abs(gains).sum())
    assert ceiling == pytest.approx(simulated, abs=0.02)
    assert score(report("migration-cost"), comparisons(report("migration-cost")), []).ceiling is None


def test_skill_without_any_published_change() -> None:
    assert skill(np.zeros(2), np.zeros(2)) == 1.0
    assert skill(np.zeros(2), np.ones(2)) == float("-inf")


def cell(block: int, variant: str, value: float, size: int = 64) -> CellSamples:
    parameters = f'{{"size": {size}}}'
    values = np.array([value])
    return CellSamples(block, variant, "TCP_STREAM", parameters, 0, "received", "Mbit/s", "higher", values, None)


def test_effects_are_paired_by_random_seed() -> None:
    cells = [cell(1, "on", 100.0), cell(2, "on", 200.0), cell(1, "off", 101.0), cell(2, "off", 204.0)]
    figures = Figures({"xeon-e5-2670v3": [*cells, cell(3, "on", 1.0), cell(1, "on", 7.0, size=128)]})
    (comparison,) = (each for each in figures.comparisons(SCHEDSTATS) if each.simulated is not None)
    assert (comparison.table.title, comparison.row.at) == ("netperf TCP_STREAM, 48 CPUs", 64)
    assert comparison.simulated is not None
    ratio = sqrt(1.01 * 1.02)
    assert comparison.simulated.gain == pytest.approx(100 * (ratio - 1))
    assert comparison.simulated.blocks == 2
    assert comparison.simulated.error == pytest.approx(100 * ratio * abs(np.log(1.02 / 1.01)) / 2)


def test_levels_are_geometric_means_in_the_printed_unit() -> None:
    figures = Figures({"xeon-e5-2670v3": [cell(1, "on", 100.0), cell(2, "on", 400.0)]})
    (level,) = figures.levels(SCHEDSTATS)
    assert (level.row.at, level.published, level.simulated) == (64, 560.45, pytest.approx(200.0))
