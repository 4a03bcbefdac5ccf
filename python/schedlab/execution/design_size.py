"""The size of a design: blocks that a verdict needs, levels of interim analyses, and ``--quick``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schedlab.analysis.resolution import Rule, blocks_for_a_verdict
from schedlab.analysis.verdicts import Options, tests_of
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import Plan, Row, plan
from schedlab.experiment.target_table import TargetTable
from schedlab.results.kinds import DETERMINISTIC, REAL, SIMULATED
from schedlab.store.writer import describe


def number_of_rows(experiment: Experiment, rows: Sequence[Row]) -> tuple[int, int]:
    """Return the number of judged rows, and of variants that are compared with the baseline."""
    return sum(len(row.judged) for row in rows), max(len(experiment.variant) - 1, 1)


def number_of_tests(experiment: Experiment, rows: Sequence[Row]) -> int:
    """Return the number of tests that the judging of these rows corrects together."""
    judging = experiment.analysis
    options = Options(correction=judging.correction, family=judging.family)
    return tests_of(*number_of_rows(experiment, rows), options)


def kind_of(table: TargetTable) -> str:
    """Return the kind of a target's figures; real figures of every origin are judged alike."""
    return SIMULATED if table.kind == "sim" else DETERMINISTIC if table.deterministic else REAL


def options_of(trial_plan: Plan, table: TargetTable | None = None) -> Options:
    """Return the options of the analysis of a plan's run on a target; None for the target of the file."""
    return describe(trial_plan).options(trial_plan.seed, kind_of(table or trial_plan.experiment.target))


def quick(experiment: Experiment, table: TargetTable | None = None) -> Experiment:
    """Return the experiment in its smallest useful size: the blocks that a verdict needs, one iteration, one warm-up.

    Fewer blocks would still give figures, but no difference, however large, could be significant. The file's number
    of blocks is never exceeded. The run is of fixed size, because with so few blocks it cannot stop early. ``table``
    is the target; None for the target of the file.
    """
    smallest = {"iterations": 1, "warmup": min(1, experiment.design.warmup), "stopping": "fixed", "looks": None}
    design = experiment.design.model_copy(update=smallest)
    one_block = experiment.model_copy(update={"design": design.model_copy(update={"blocks": 1})})
    needed = blocks_for_a_verdict(_rule(plan(one_block, 0, quick=True), table))
    design = design.model_copy(update={"blocks": min(needed, design.blocks)})
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
    blocks, options = plan.experiment.design.look_blocks, options_of(plan)
    size = number_of_rows(plan.experiment, plan.rows)
    last = size if options.correction == "max-t" else (1, 1)
    rules = [(options.rule(*size, i), options.rule(*last, i)) for i in range(len(blocks))]
    return [
        InterimAnalysis(n, first.level, last.level, first.smallest_p(n))
        for n, (first, last) in zip(blocks, rules, strict=True)
    ]


def blocks_at_least(plan: Plan) -> int:
    """Return the fewest blocks with which a difference can be significant when a single row differs.

    Under Benjamini-Hochberg, assume instead that all rows differ, because small p values support each other.
    """
    return blocks_for_a_verdict(_rule(plan))


def _rule(trial_plan: Plan, table: TargetTable | None = None) -> Rule:
    options = options_of(trial_plan, table)
    together = options.correction != "benjamini-hochberg"
    return options.rule(*(number_of_rows(trial_plan.experiment, trial_plan.rows) if together else (1, 1)))
