"""Measured and simulated runs of one experiment: levels, effects, counters, skill, and intervals of predictions."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, nan

import numpy as np
import pytest
from sqlalchemy import Engine

from schedlab.errors import CannotRunHere, SchedlabError
from schedlab.experiment.plan import Trial
from schedlab.findings.prediction import FEWEST, Backtest, bound, predictions, require_skill
from schedlab.findings.run import findings
from schedlab.findings.twin import Twin, compare, median_noise
from schedlab.results.measurement import Measurement
from schedlab.results.metrics import Metric
from schedlab.store import reader
from schedlab.targets.scripted import Scripted
from tests.conftest import TWO_VARIANTS

pytestmark = pytest.mark.slow

RunScript = Callable[..., tuple[int, Scripted]]


def script(
    levels: dict[int, float], ratios: dict[int, float], counters: dict[str, float]
) -> Callable[[Trial], Measurement]:
    def measured(trial: Trial) -> Measurement:
        groups = int(trial.row.parameters["groups"])
        noise = 1 + 0.0005 * ((trial.index * 7919) % 13)
        value = levels[groups] * noise * (ratios[groups] if trial.variant.name == "changed" else 1.0)
        specs = [spec for spec in trial.row.adapter.metrics if spec.name in trial.row.judged]
        return Measurement("ok", 0.0, 1.0, [Metric(spec, value) for spec in specs], counters=counters)

    return measured


@pytest.fixture(name="twin")
def twin_of_runs(engine: Engine, run_script: RunScript) -> Callable[..., Twin]:
    """Return a function that compares two scripted runs: a machine's and its model's."""

    def compared(ratios: dict[int, float], predicted: dict[int, float]) -> Twin:
        counted = {"context-switches": 100.0, "cpu-migrations": 0.0, "interrupts.LOC": 5.0}
        counted |= {"interrupts.RES": 30.0, "interrupts.CAL": 60.0}
        machine, _ = run_script(script({1: 2.0, 4: 8.0}, ratios, counted))
        accounts = {"ledger.idle_ns": 900.0, "ledger.switch_ns": 75.0, "ledger.user_ns": 25.0}
        simulated = accounts | {"context-switches": 150.0, "interrupts.RES": 80.0}
        model, _ = run_script(script({1: 2.2, 4: 4.0}, predicted, simulated))
        counters = [reader.counters(engine, run) for run in (machine, model)]
        return compare(findings(engine, machine), findings(engine, model), *counters)

    return compared


def test_levels_and_effects_are_compared_row_by_row(twin: Callable[..., Twin]) -> None:
    result = twin({1: 1.2, 4: 0.9}, {1: 1.3, 4: 1.1})
    named = {(each.question.parameters, each.variant): each for each in result.levels}
    assert [variant for _, variant in named] == ["base", "changed", "base", "changed"]
    assert {key: round(each.ratio, 2) for key, each in named.items()} == {
        ('{"groups":1}', "base"): 1.1,
        ('{"groups":1}', "changed"): 1.19,
        ('{"groups":4}', "base"): 0.5,
        ('{"groups":4}', "changed"): 0.61,
    }
    assert sorted(each.error for each in result.levels) == pytest.approx([0.1, 0.19, 0.39, 0.5], abs=0.01)
    right, wrong = result.effects
    assert (right.significant, right.right, right.near) == (True, True, False)
    assert (wrong.significant, wrong.right, wrong.near) == (True, False, False)
    assert right.error == pytest.approx(0.1, abs=0.005)


def test_skill_compares_with_predicting_no_change(twin: Callable[..., Twin]) -> None:
    perfect = twin({1: 1.2, 4: 0.9}, {1: 1.2, 4: 0.9})
    assert perfect.scores.skill == pytest.approx(1, abs=0.02)
    assert all(effect.near for effect in perfect.effects)
    none = twin({1: 1.2, 4: 0.9}, {1: 1.0, 4: 1.0})
    assert none.scores.skill == pytest.approx(0, abs=0.02)
    expected = 1 - (abs(log(1.3 / 1.2)) + abs(log(1.1 / 0.9))) / (abs(log(1.2)) + abs(log(0.9)))
    assert twin({1: 1.2, 4: 0.9}, {1: 1.3, 4: 1.1}).scores.skill == pytest.approx(expected, abs=0.02)


def test_a_perfect_model_has_the_error_of_the_measurement() -> None:
    # Half of normal deviates are within 0.6745 standard errors.
    assert median_noise([1.0, 1.0], [0.01, 0.01]) == pytest.approx(0.006745, rel=0.02)
    assert median_noise([2.0], [0.01]) == pytest.approx(0.01349, rel=0.02)
    assert median_noise([1.0, 3.0], [0.01, nan]) == median_noise([1.0], [0.01])
    assert median_noise([1.0], [nan]) is None


def test_the_noise_of_levels_and_effects_comes_from_their_blocks(twin: Callable[..., Twin]) -> None:
    result = twin({1: 1.2, 4: 0.9}, {1: 1.2, 4: 0.9})
    # The noise of the fixture's values is uniform within 0.6 %.
    assert result.error.median_noise == pytest.approx(0.6745 * 0.006 / 12**0.5 / 6**0.5, rel=0.6)
    assert result.scores.median_noise is not None
    assert result.error.median_noise is not None
    assert result.scores.median_noise > result.error.median_noise


def test_counters_of_both_are_compared_and_the_largest_misses_have_the_simulated_cpu_time(
    twin: Callable[..., Twin],
) -> None:
    result = twin({1: 1.2, 4: 0.9}, {1: 1.3, 4: 1.1})
    assert {(each.name, each.measured, each.predicted) for each in result.counters} == {
        ("context-switches", 100, 150),
        ("interrupts.RES+CAL", 90, 80),
    }
    assert len(result.counters) == 8
    switches = result.counter_totals[0]
    assert (switches.name, switches.measured, switches.predicted) == ("context-switches", 100, 150)
    assert switches.factor == pytest.approx(1.5)
    assert [(miss.question.parameters, miss.variant) for miss in result.misses] == [
        ('{"groups":4}', "base"),
        ('{"groups":4}', "changed"),
        ('{"groups":1}', "changed"),
    ]
    assert list(result.misses[0].accounts.items()) == [("switch", 0.75), ("user", 0.25)]


def test_runs_without_a_common_row_are_an_error(engine: Engine, run_script: RunScript) -> None:
    other = TWO_VARIANTS.replace("groups = [1, 4]", "groups = 2")
    runs = [run_script(lambda trial: 1.0)[0], run_script(lambda trial: 1.0, other)[0]]
    frames = [reader.counters(engine, run) for run in runs]
    with pytest.raises(SchedlabError, match="no row and variant in common"):
        compare(findings(engine, runs[0]), findings(engine, runs[1]), *frames)


def test_intervals_of_predictions_are_the_errors_of_earlier_comparisons(twin: Callable[..., Twin]) -> None:
    one = twin({1: 1.2, 4: 0.9}, {1: 1.3, 4: 0.95})
    backtest = Backtest.of([one] * 5)
    assert (len(backtest.levels), len(backtest.effects)) == (20, 10)
    # With ten errors, the bound at 90 % is the tenth smallest: the largest.
    assert backtest.effect_factor == pytest.approx(1.3 / 1.2, abs=0.01)
    assert backtest.level_factor == pytest.approx(2, abs=0.02)
    base, changed, *_ = predictions(one.predicted, backtest).rows
    assert (base.ratio, base.ratio_low) == (None, None)
    assert (base.low, base.high) == pytest.approx((2.2 / 2, 2.2 * 2), rel=0.02)
    assert changed.ratio is not None
    assert (changed.ratio_low, changed.ratio_high) == pytest.approx((1.2, 1.3 * 1.3 / 1.2), abs=0.02)


def test_models_without_comparisons_or_without_skill_predict_nothing(twin: Callable[..., Twin]) -> None:
    good = twin({1: 1.2, 4: 0.9}, {1: 1.3, 4: 0.95})
    with pytest.raises(CannotRunHere, match=f"2 measured effects .* {FEWEST} are needed"):
        require_skill(Backtest.of([good]), "box")
    require_skill(Backtest.of([good] * 5), "box")
    bad = twin({1: 1.2, 4: 0.9}, {1: 0.8, 4: 1.1})
    with pytest.raises(CannotRunHere, match=r"no skill: -\d"):
        require_skill(Backtest.of([bad] * 5), "box")


@pytest.mark.parametrize("compared", [9, 12, 40])
def test_nine_of_ten_new_errors_are_within_the_bound_whatever_their_distribution(compared: int) -> None:
    draws = np.random.default_rng(5).standard_cauchy((4000, compared + 1))
    inside = np.mean([abs(row[-1]) <= bound(list(abs(row[:-1]))) for row in draws])
    assert inside + 0.01 >= 0.9
    assert bound([1.0] * (FEWEST - 1)) == float("inf")
    assert exp(bound([0.0] * FEWEST)) == 1
