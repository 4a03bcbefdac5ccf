"""Levels of the interim analyses of a plan, before any trial runs."""

from __future__ import annotations

from itertools import pairwise

from schedlab.execution.design_size import InterimAnalysis, blocks_at_least, interim_analyses
from schedlab.experiment.load import parse
from schedlab.experiment.plan import plan
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
    """The smallest p of n blocks, 2 / 2^n, is below 0.05 from 6 blocks on, and below 0.05 / 8 from 9 blocks on."""

    def blocks(groups: str, correction: str) -> int:
        text = TWO_VARIANTS.replace("groups = [1, 4]", f"groups = {groups}")
        return blocks_at_least(plan(parse(f'{text}\n[analysis]\ncorrection = "{correction}"\n', "f"), 1))

    eight = "[1, 2, 3, 4, 5, 6, 7, 8]"
    assert (blocks("1", "holm"), blocks(eight, "holm"), blocks(eight, "benjamini-hochberg")) == (6, 9, 6)
