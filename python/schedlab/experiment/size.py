"""What a plan's size allows, whatever it measures: the blocks that a verdict takes, and what each look can decide."""

from __future__ import annotations

from dataclasses import dataclass

from schedlab.analysis.resolution import blocks_for_a_verdict
from schedlab.analysis.sequential import nominal
from schedlab.analysis.signflip import smallest_p
from schedlab.experiment.plan import Plan


@dataclass(frozen=True)
class Look:
    """One look of a sequential run.

    ``first`` is the nominal level that the first row of the correction is held against, ``last`` the one for the last
    row left, both two-sided. ``smallest`` is the smallest p that so many blocks can have: where it is above a level no
    difference can be found there, however large.
    """

    blocks: int
    first: float
    last: float
    smallest: float

    @property
    def can_decide(self) -> bool:
        """Whether any difference can be found at this look, in the first row of the correction."""
        return self.smallest <= self.first


def looks(plan: Plan) -> list[Look]:
    """The looks of a plan; none for a fixed one. Sameness is shown by t tests, which any look can."""
    blocks, alpha = plan.experiment.design.look_blocks, plan.experiment.analysis.alpha
    if not blocks:
        return []
    first, last = nominal(blocks, alpha / plan.tests), nominal(blocks, alpha)
    return [Look(n, one, other, smallest_p(n)) for n, one, other in zip(blocks, first, last, strict=True)]


def blocks_at_least(plan: Plan) -> int:
    """The blocks below which no difference could be called one, however large, if only one row differs.

    Under Benjamini–Hochberg, if all rows do: those with the smallest p possible carry each other.
    """
    found, judging = looks(plan), plan.experiment.analysis
    alpha = judging.alpha * (plan.tests if judging.correction == "benjamini-hochberg" else 1)
    return blocks_for_a_verdict(found[-1].first if found else alpha / plan.tests, 1)
