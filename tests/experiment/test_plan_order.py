"""The order of trials is a contract: experiment and seed determine the order on every machine."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedlab.execution.design_size import quick
from schedlab.experiment.load import parse
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import CONTROL, Plan, Row, plan
from schedlab.experiment.seeds import permutation
from tests.conftest import TWO_VARIANTS


def order(run_plan: Plan, block: int) -> list[str]:
    return [f"{t.variant.name}:{t.row.parameters['groups']}" for t in run_plan.trials if t.block == block]


def test_the_order_of_a_known_seed_never_changes(experiment: Experiment) -> None:
    run_plan = plan(experiment, seed=7)
    assert order(run_plan, 0) == ["base:1", "base:4", "control:1", "control:4", "changed:1", "changed:4"]
    # From coreutils: printf "7/1/variant/0" | sha256sum, and so on, sorted.
    assert [order(run_plan, block) for block in (1, 2, 3)] == [
        ["base:4", "base:1", "control:4", "control:1", "changed:4", "changed:1"],
        ["control:4", "control:1", "base:4", "base:1", "changed:4", "changed:1"],
        ["changed:4", "changed:1", "control:4", "control:1", "base:4", "base:1"],
    ]


def test_every_block_contains_every_cell_once(experiment: Experiment) -> None:
    run_plan = plan(experiment, seed=3)
    for block in range(1, 9):
        assert sorted(order(run_plan, block)) == sorted(order(run_plan, 0))


def test_in_a_block_each_variant_is_applied_once(experiment: Experiment) -> None:
    run_plan = plan(experiment, seed=3)
    for _, trials in groupby(run_plan.trials, key=lambda trial: trial.block):
        placed = [name for name, _ in groupby(trials, key=lambda trial: trial.variant.name)]
        assert len(placed) == 3 == len(set(placed))


def test_rows_come_in_the_same_order_for_every_variant_of_a_block(experiment: Experiment) -> None:
    for _, in_block in groupby(plan(experiment, seed=5).trials, key=lambda trial: trial.block):
        by_variant: dict[str, list[str]] = {}
        for trial in in_block:
            by_variant.setdefault(trial.variant.name, []).append(str(trial.row))
        assert len({tuple(rows) for rows in by_variant.values()}) == 1


def test_interleaved_rows_alternate_the_variants_within_a_row() -> None:
    experiment = parse(TWO_VARIANTS.replace("[design]", '[design]\ninterleave = "rows"'), "f")
    run_plan = plan(experiment, seed=3)
    for block in range(1, 9):
        assert [len(list(g)) for _, g in groupby(order(run_plan, block), key=lambda cell: cell.split(":")[1])] == [3, 3]
        assert sorted(order(run_plan, block)) == sorted(order(run_plan, 0))


def test_the_warm_up_comes_first_and_belongs_to_no_block(experiment: Experiment) -> None:
    run_plan = plan(experiment, seed=1)
    assert [trial.phase for trial in run_plan.trials] == ["warmup"] * 6 + ["measure"] * 48
    assert [trial.index for trial in run_plan.trials] == list(range(54))


def test_the_control_is_the_baseline_under_another_name(experiment: Experiment) -> None:
    base, control, changed = plan(experiment, seed=1).variants
    assert (control.name, changed.name) == (CONTROL, "changed")
    assert control.model_dump(exclude={"name", "description"}) == base.model_dump(exclude={"name", "description"})


def test_a_design_without_control_has_no_control() -> None:
    run_plan = plan(parse(TWO_VARIANTS.replace("[design]", "[design]\ncontrol = false"), "f"), seed=1)
    assert [variant.name for variant in run_plan.variants] == ["base", "changed"]


def test_quick_has_the_fewest_blocks_for_a_verdict(experiment: Experiment) -> None:
    # The smallest p of n blocks is 2 / 3^n for any number of rows, 2 / 2^n without a control. Holm's correction doubles
    # it for two rows.
    assert quick(experiment).design.blocks == 4
    alone = experiment.model_copy(update={"design": experiment.design.model_copy(update={"control": False})})
    assert quick(alone).design.blocks == 6
    holm = experiment.analysis.model_copy(update={"correction": "holm"})
    assert quick(alone.model_copy(update={"analysis": holm})).design.blocks == 7
    assert (
        quick(
            experiment.model_copy(update={"design": experiment.design.model_copy(update={"blocks": 3})})
        ).design.blocks
        == 3
    )


@pytest.mark.parametrize(("warmup", "expected"), [(0, 0), (1, 1), (5, 1)])
def test_quick_has_at_most_one_warm_up_and_adds_no_warm_up(experiment: Experiment, warmup: int, expected: int) -> None:
    design = experiment.design.model_copy(update={"warmup": warmup, "iterations": 9})
    smallest = quick(experiment.model_copy(update={"design": design})).design
    assert (smallest.warmup, smallest.iterations) == (expected, 1)


def test_quick_parameters_replace_other_parameters() -> None:
    run_plan = plan(parse(TWO_VARIANTS + "quick = { groups = 1, loops = 5 }\n", "f"), seed=1, quick=True)
    assert [dict(row.parameters) for row in run_plan.rows] == [{"groups": 1, "loops": 5}]


@given(st.integers(0, 2**63 - 1), st.integers(1, 50), st.integers(1, 20))
def test_a_permutation_contains_each_index_once(seed: int, block: int, length: int) -> None:
    assert sorted(permutation(seed, block, "variant", length)) == list(range(length))


def test_every_order_is_about_as_likely() -> None:
    counts = Counter(tuple(permutation(seed, 1, "variant", 3)) for seed in range(3000))
    assert len(counts) == 6
    # Chi-square with 5 degrees of freedom; 20.5 is exceeded once in a thousand sequences of fair draws.
    assert sum((count - 500) ** 2 / 500 for count in counts.values()) < 20.5


def test_a_row_is_the_same_whatever_the_order_of_its_parameters() -> None:
    first, second = (
        Row("hackbench", "hackbench", dict.fromkeys(names, 1), ("time",), 60.0)
        for names in (("groups", "loops"), ("loops", "groups"))
    )
    assert first.key == second.key == ("hackbench", '{"groups":1,"loops":1}')
