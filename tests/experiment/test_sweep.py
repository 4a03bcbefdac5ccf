"""The table [sweep], and the points that a design makes from it."""

from __future__ import annotations

import pytest

from schedlab.errors import ExperimentError
from schedlab.experiment.load import parse
from schedlab.experiment.plan import plan
from schedlab.experiment.sweep import Sweep, sweep

FILE = """
[experiment]
name = "s"
[target]
kind = "sim"
machine = "laptop-4"
[design]
blocks = 2
{sweep}
[[variant]]
name = "base"
tunables = {{ "sched.wakeup_granularity_ns" = 1_000_000 }}
[[workload]]
use = "hackbench"
loops = 10
"""


def of(text: str, seed: int = 1) -> Sweep:
    return sweep(parse(FILE.format(sweep=text), "f"), seed)


def refusal(text: str) -> str:
    with pytest.raises(ExperimentError) as error:
        of(text)
    return str(error.value)


def test_a_grid_combines_all_values_and_the_last_factor_varies_fastest() -> None:
    found = of('[sweep.factors]\n"workload.groups" = [1, 2]\nmachine = ["laptop-4", "i7-3770"]')
    pairs = [(point.values["workload.groups"], point.machine) for point in found.points]
    assert pairs == [(1, "laptop-4"), (1, "i7-3770"), (2, "laptop-4"), (2, "i7-3770")]
    assert found.points[2].row.parameters == {"loops": 10, "groups": 2}


def test_scheduling_attributes_are_factors() -> None:
    found = of('[sweep.factors]\n"variant.slice" = ["1ms", "20ms"]\n"variant.nice" = { from = -5, to = 5, count = 2 }')
    pairs = [(point.variant.slice, point.variant.nice) for point in found.points]
    assert pairs == [(1_000_000, -5), (1_000_000, 5), (20_000_000, -5), (20_000_000, 5)]
    assert "variant.slice or variant.nice" in refusal('[sweep.factors]\n"variant.cpus" = ["0", "1"]')
    assert "outside the range of a slice" in refusal('[sweep.factors]\n"variant.slice" = ["1s"]')


def test_the_cells_are_all_points_under_each_seed() -> None:
    found = of('[sweep.factors]\n"workload.groups" = [1, 2, 3]')
    assert [(trial.index, trial.block, trial.variant.name) for trial in found.plan.trials] == [
        (0, 1, "p1"), (1, 1, "p2"), (2, 1, "p3"), (3, 2, "p1"), (4, 2, "p2"), (5, 2, "p3"),
    ]  # fmt: skip
    assert found.point_of(found.plan.trials[4]) is found.points[1]


def test_a_tunable_is_set_beside_the_tunables_of_the_variant() -> None:
    (first, _) = of('[sweep.factors]\n"sched.migration_cost_ns" = ["0.1ms", 500_000]').points
    assert {name: setting.text for name, setting in first.variant.tunables.items()} == {
        "sched.wakeup_granularity_ns": "1000000",
        "sched.migration_cost_ns": "100000",
    }


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("{ from = 1, to = 64, count = 7, scale = 'log' }", [1, 2, 4, 8, 16, 32, 64]),
        ("{ from = 1, to = 10, step = 4 }", [1, 5, 9]),
        ("{ from = 1, to = 3, count = 9 }", [1, 2, 3]),
    ],
)
def test_a_range_of_whole_numbers_has_whole_numbers(written: str, values: list[int]) -> None:
    assert [
        point.values["workload.groups"] for point in of(f'[sweep.factors]\n"workload.groups" = {written}').points
    ] == values


def test_the_ends_of_a_range_may_have_units() -> None:
    text = '[sweep.factors]\n"sched.migration_cost_ns" = { from = "0.1ms", to = "10ms", count = 3, scale = "log" }'
    assert [point.values["sched.migration_cost_ns"] for point in of(text).points] == [100_000, 1_000_000, 10_000_000]


@pytest.mark.parametrize("design", ["latin-hypercube", "sobol"])
def test_drawn_points_cover_each_range_evenly_and_follow_the_seed(design: str) -> None:
    text = f'[sweep]\ndesign = "{design}"\nsamples = 16\n[sweep.factors]\n"workload.groups" = [1, 2]\n'
    text += '"sched.migration_cost_ns" = { from = 1000, to = 16_000_000, scale = "log" }'
    points = of(text).points
    assert [point.values["workload.groups"] for point in points].count(1) == 8
    assert sum(point.values["sched.migration_cost_ns"] < 126_491 for point in points) == 8
    assert [point.values for point in of(text).points] == [point.values for point in points]
    assert [point.values for point in of(text, 2).points] != [point.values for point in points]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file has no [sweep]"),
        ("[sweep.factors]\n\"workload.groups\" = { from = 1, to = 4 }", "a range of a grid needs step or count"),
        ("[sweep.factors]\n\"workload.group\" = [1]", "workload.group: the workload has no such parameter"),
        ("[sweep.factors]\n\"sched.migration_cost\" = [1, 'x']", "sched.migration_cost"),
        ("[sweep.factors]\n\"workload.groups\" = [1, 1]", "contains a value twice"),
        ("[sweep.factors]\n\"machine_model.costs.switch\" = [1, 1.0]", "contains a value twice"),
        ("[sweep.factors]\n\"variant.slice\" = ['1ms', '1000us']", "'1ms' and '1000us' are the same value"),
        ("[sweep.factors]\n\"workload.groups\" = { from = 0, to = 4, count = 2, scale = 'log' }", "begins above 0"),
        ("[sweep.factors]\n\"workload.groups\" = { from = 1, to = 4, steps = 2 }", "a range has no key 'steps'"),
        ("[sweep]\ndesign = 'sobol'\nsamples = 10\n[sweep.factors]\n\"workload.groups\" = [1, 2]", "a power of 2"),
        ("[sweep]\nsamples = 16\n[sweep.factors]\n\"workload.groups\" = [1, 2]", "samples go with latin-hypercube"),
        ("iterations = 2\n[sweep.factors]\n\"workload.groups\" = [1, 2]", "a sweep has no iterations"),
        ("[sweep]\n", "sweep.factors: is missing"),
    ],
)  # fmt: skip
def test_a_sweep_with_a_mistake_is_refused(text: str, message: str) -> None:
    assert message in refusal(text)


def test_a_sweep_is_no_ordinary_experiment() -> None:
    experiment = parse(FILE.format(sweep='[sweep.factors]\n"workload.groups" = [1]'), "f")
    with pytest.raises(ExperimentError, match="describes a sweep"):
        plan(experiment, 1)
