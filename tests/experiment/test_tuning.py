"""The search space of a file, the names of its points, and the experiment that confirms a winner."""

from __future__ import annotations

import pytest

from schedlab.errors import ExperimentError
from schedlab.experiment.load import parse
from schedlab.experiment.tuning import (
    Wanted,
    confirmation,
    point_name,
    point_variant,
    roles,
    space,
    tunable_file,
    values_of,
)

FILE = """
[experiment]
name = "t"
[target]
kind = "sim"
machine = "laptop-4"
[sweep.factors]
"sched.migration_cost_ns" = { from = "1us", to = "10ms", scale = "log" }
"kernel.numa_balancing" = [0, 1]
[[variant]]
name = "default"
tunables = { "sched.migration_cost_ns" = 500_000 }
[[workload]]
use = "tbench-native"
"""
VALUES = {"sched.migration_cost_ns": 65_000, "kernel.numa_balancing": 1}


def test_the_name_of_a_point_gives_its_values_again() -> None:
    assert values_of(point_name(VALUES), space(parse(FILE, "f"))) == VALUES


def test_a_point_is_the_default_with_other_tunables() -> None:
    baseline = parse(FILE, "f").baseline
    changed = point_variant(baseline, space(parse(FILE, "f")), VALUES)
    assert {name: setting.text for name, setting in changed.tunables.items()} == {
        "sched.migration_cost_ns": "65000",
        "kernel.numa_balancing": "1",
    }


def test_the_confirmation_compares_the_default_with_the_winner() -> None:
    experiment, text = confirmation(FILE, space(parse(FILE, "f")), [VALUES], 12, 0.04)
    assert [variant.name for variant in experiment.variant] == ["default", "winner"]
    assert experiment.variant[1].tunables["sched.migration_cost_ns"].text == "65000"
    assert (experiment.design.blocks, experiment.sweep) == (12, None)
    assert (experiment.analysis.family, experiment.analysis.alpha) == ("run", 0.04)
    assert parse(text, "again") == experiment


def test_scheduling_attributes_are_searched_and_confirmed() -> None:
    text = FILE.replace(
        '"kernel.numa_balancing" = [0, 1]', '"variant.slice" = { from = "0.1ms", to = "100ms", scale = "log" }'
    )
    factors, values = space(parse(text, "f")), {"sched.migration_cost_ns": 65_000, "variant.slice": 3_000_000}
    assert point_variant(parse(text, "f").baseline, factors, values).slice == 3_000_000
    experiment, _ = confirmation(text, factors, [values], None, 0.04)
    assert [variant.slice for variant in experiment.variant] == [None, 3_000_000]


def test_a_slice_that_no_variant_can_have_is_refused() -> None:
    text = FILE.replace('"kernel.numa_balancing" = [0, 1]', '"variant.slice" = ["1ms", "1s"]')
    experiment = parse(text, "f")
    with pytest.raises(ExperimentError, match="outside the range of a slice"):
        point_variant(experiment.baseline, space(experiment), {"variant.slice": "1s"})


def test_a_tunable_of_the_catalogue_has_the_range_of_the_catalogue() -> None:
    text = tunable_file(FILE, "f", Wanted(tunables=["sched.base_slice_ns"]))
    factor = space(parse(text, "f"))["sched.base_slice_ns"]
    assert (factor.low, factor.high, factor.log) == (100_000, 1_000_000_000, True)


def test_a_metric_replaces_the_judged_metrics() -> None:
    (workload,) = parse(tunable_file(FILE, "f", Wanted(["latency-p99"])), "f").workload
    assert workload.metrics == ["latency-p99"]


def test_the_workload_judges_objectives_and_constraints_of_the_file_or_the_command_line() -> None:
    text = FILE.replace("[[variant]]", '[tune]\nconstraints = ["latency-p99"]\n[[variant]]')
    for wanted in (Wanted(), Wanted(["operations"])):
        experiment = parse(tunable_file(text, "f", wanted), "f")
        objectives, constraints = roles(experiment)
        assert (objectives, constraints) == (tuple(wanted.objectives) or ("throughput",), ("latency-p99",))
        assert experiment.workload[0].metrics == [*objectives, *constraints]


def test_a_file_without_search_keys_is_unchanged() -> None:
    assert tunable_file(FILE, "f", Wanted()) == FILE


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (FILE[: FILE.index("[sweep")] + FILE[FILE.index("[[variant") :], "the file has no search space"),
        (FILE.replace('"kernel.numa_balancing"', '"workload.clients"'), "workload.clients is not a tunable"),
        (FILE + '[[variant]]\nname = "b"\n', "a search has one variant"),
    ],
)
def test_a_file_that_is_no_search_is_refused(changed: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        space(parse(changed, "f"))
