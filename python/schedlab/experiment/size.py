"""The size of a design: blocks that a verdict needs, levels of interim analyses, and ``--quick``."""

from __future__ import annotations

from dataclasses import dataclass

from schedlab.analysis.resolution import blocks_for_a_verdict
from schedlab.analysis.sequential import nominal
from schedlab.analysis.signflip import smallest_p
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import Plan, rows, tests


def quick(experiment: Experiment) -> Experiment:
    """Return the experiment in its smallest useful size: the blocks that a verdict needs, one iteration, one warm-up.

    Fewer blocks would still give figures, but no difference, however large, could be significant. The file's number
    of blocks is never exceeded. The run is of fixed size, because with so few blocks it cannot stop early.
    """
    needed = blocks_for_a_verdict(experiment.analysis.alpha, tests(experiment, rows(experiment, quick=True)))
    design = experiment.design.model_copy(
        update={
            "blocks": min(needed, experiment.design.blocks),
            "iterations": 1,
            "warmup": min(1, experiment.design.warmup),
            "stopping": "fixed",
            "looks": None,
        }
    )
    return experiment.model_copy(update={"design": design})


@dataclass(frozen=True)
class InterimAnalysis:
    """An interim analysis of a sequential run, after ``blocks`` blocks.

    ``first`` and ``last`` are the two-sided nominal levels for the first row of the correction and for the last row
    that is left. ``smallest`` is the smallest p value of so many blocks: no difference, however large, reaches a level
    below it.
    """

    blocks: int
    first: float
    last: float
    smallest: float

    @property
    def can_decide(self) -> bool:
        """Whether a difference can be significant here, in the first row of the correction."""
        return self.smallest <= self.first


def interim_analyses(plan: Plan) -> list[InterimAnalysis]:
    """Return the interim analyses of a plan; [] for a fixed run. Each of them can show equivalence, by t tests."""
    blocks, alpha = plan.experiment.design.look_blocks, plan.experiment.analysis.alpha
    if not blocks:
        return []
    levels = zip(blocks, nominal(blocks, alpha / plan.tests), nominal(blocks, alpha), strict=True)
    return [InterimAnalysis(n, first, last, smallest_p(n)) for n, first, last in levels]


def blocks_at_least(plan: Plan) -> int:
    """Return the fewest blocks with which a difference can be significant when a single row differs.

    Under Benjamini-Hochberg, when all rows differ: rows with the smallest possible p value support each other.
    """
    analyses, judging = interim_analyses(plan), plan.experiment.analysis
    alpha = judging.alpha * (plan.tests if judging.correction == "benjamini-hochberg" else 1)
    return blocks_for_a_verdict(analyses[-1].first if analyses else alpha / plan.tests, 1)
