"""Levels of the interim analyses of a plan, before any trial runs."""

from __future__ import annotations

from itertools import pairwise

import pytest

from schedlab.execution.design_size import InterimAnalysis, blocks_at_least, interim_analyses, quick
from schedlab.experiment.load import parse
from schedlab.experiment.plan import plan
from schedlab.targets.selection import table_of
from tests.conftest import TWO_VARIANTS

SEQUENTIAL = TWO_VARIANTS.replace("blocks = 8", 'blocks = 24\nstopping = "sequential"\nlooks = 3')


def analyses(groups: str, correction: str) -> list[InterimAnalysis]:
    text = SEQUENTIAL.replace("groups = [1, 4]", f"groups = {groups}")
    return interim_analyses(plan(parse(f'{text}\n[analysis]\ncorrection = "{correction}"\n', "f"), 1))


def test_under_holm_the_last_of_several_rows_has_the_level_of_a_single_row() -> None:
    alone, several = analyses("1", "holm"), analyses("[1, 2, 3, 4]", "holm")
    assert [analysis.last for analysis in several] == [analysis.first for analysis in alone]
    assert all(analysis.first < analysis.last for analysis in several)


def test_a_joint_test_has_one_level_for_all_rows() -> None:
    assert all(analysis.first == analysis.last for analysis in analyses("[1, 2, 3, 4]", "max-t"))


def test_later_interim_analyses_have_higher_levels_and_more_blocks() -> None:
    planned = analyses("[1, 4]", "holm")
    assert [analysis.blocks for analysis in planned] == [8, 16, 24]
    assert all(earlier.first < later.first for earlier, later in pairwise(planned))


def test_a_fixed_run_has_no_interim_analyses() -> None:
    assert interim_analyses(plan(parse(TWO_VARIANTS, "f"), 1)) == []


def test_more_rows_need_more_blocks_under_holm_and_not_under_benjamini_hochberg() -> None:
    """The smallest p of n blocks is 2 / 2^n without a control, 2 / 3^n with a control."""

    def blocks(groups: str, correction: str, control: str = "") -> int:
        text = TWO_VARIANTS.replace("groups = [1, 4]", f"groups = {groups}").replace("[design]", f"[design]\n{control}")
        return blocks_at_least(plan(parse(f'{text}\n[analysis]\ncorrection = "{correction}"\n', "f"), 1))

    eight = "[1, 2, 3, 4, 5, 6, 7, 8]"
    assert (blocks("1", "holm"), blocks(eight, "holm"), blocks(eight, "benjamini-hochberg")) == (4, 6, 4)
    without = "control = false"
    assert (blocks("1", "holm", without), blocks(eight, "holm", without)) == (6, 9)
    assert (blocks("1", "max-t"), blocks(eight, "max-t"), blocks(eight, "max-t", without)) == (4, 5, 6)


@pytest.mark.parametrize(
    ("target", "needed"),
    [("", 4), ('kind = "sim"\nmachine = "laptop-4"', 6), ('kind = "vm"\nkernel = "6.12"\ndeterministic = true', 6)],
)
def test_four_blocks_are_enough_if_the_control_is_a_second_measurement(target: str, needed: int) -> None:
    """All variants of a simulated or deterministic block share a random seed."""
    experiment = parse(TWO_VARIANTS + f"\n[target]\n{target}\n" if target else TWO_VARIANTS, "f")
    assert blocks_at_least(plan(experiment, 1)) == needed
    assert quick(experiment).design.blocks == needed


@pytest.mark.parametrize("change", ["control = false", 'stopping = "sequential"'])
def test_without_a_control_and_in_sequential_runs_six_blocks_are_needed(change: str) -> None:
    experiment = parse(TWO_VARIANTS.replace("[design]", f"[design]\n{change}"), "f")
    assert quick(experiment).design.blocks == (6 if "control" in change else 4)
    assert blocks_at_least(plan(experiment, 1)) == 6


def test_the_steps_of_a_stack_need_six_blocks() -> None:
    text = f'{TWO_VARIANTS}\n[attribution]\nstack = ["base", "changed"]\n'
    assert blocks_at_least(plan(parse(text, "f"), 1)) == 6


def test_a_target_of_the_command_line_replaces_the_target_of_the_file() -> None:
    experiment = parse(TWO_VARIANTS, "f")
    assert quick(experiment, table_of("sim:laptop-4", experiment)).design.blocks == 6
