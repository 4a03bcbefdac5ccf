"""The size of a design: blocks that a verdict needs, levels of interim analyses, and ``--quick``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schedlab.analysis.resolution import blocks_for_a_verdict
from schedlab.analysis.signflip import smallest_p
from schedlab.analysis.verdicts import Options, tests_of
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import Plan, Row, rows


def number_of_tests(experiment: Experiment, rows: Sequence[Row]) -> int:
    """Return the number of tests that the judging of these rows corrects together."""
    judging = experiment.analysis
    options = Options(correction=judging.correction, family=judging.family)
    return tests_of(sum(len(row.judged) for row in rows), max(len(experiment.variant) - 1, 1), options)


def quick(experiment: Experiment) -> Experiment:
    """Return the experiment in its smallest useful size: the blocks that a verdict needs, one iteration, one warm-up.

    Fewer blocks would still give figures, but no difference, however large, could be significant. The file's number
    of blocks is never exceeded. The run is of fixed size, because with so few blocks it cannot stop early.
    """
    judging = Options(experiment.analysis.alpha, correction=experiment.analysis.correction)
    needed = blocks_for_a_verdict(judging.rule(number_of_tests(experiment, rows(experiment, quick=True))))
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

    ``first`` and ``last`` are the two-sided nominal levels of the first and the last row that the correction tests;
    a joint test has one level for all rows. ``smallest`` is the smallest possible p value of this number of blocks:
    at a lower level, no difference is significant, however large.
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
    """Return the interim analyses of a plan; [] for a fixed run. Every analysis can show equivalence, by t tests."""
    blocks, options = plan.experiment.design.look_blocks, _options(plan)
    tests = number_of_tests(plan.experiment, plan.rows)
    last = tests if options.correction == "max-t" else 1
    rules = [(options.rule(tests, i), options.rule(last, i)) for i in range(len(blocks))]
    return [
        InterimAnalysis(n, first.level, last.level, smallest_p(n, first.rows))
        for n, (first, last) in zip(blocks, rules, strict=True)
    ]


def _options(plan: Plan) -> Options:
    judging = plan.experiment.analysis
    return Options(judging.alpha, correction=judging.correction, looks=plan.experiment.design.look_blocks)


def blocks_at_least(plan: Plan) -> int:
    """Return the fewest blocks with which a difference can be significant when a single row differs.

    Under Benjamini-Hochberg, assume instead that all rows differ, because small p values support each other.
    """
    options = _options(plan)
    tests = 1 if options.correction == "benjamini-hochberg" else number_of_tests(plan.experiment, plan.rows)
    return blocks_for_a_verdict(options.rule(tests))
