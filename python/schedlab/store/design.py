"""What a report needs to know of a run's plan, kept beside it: a report must not depend on reading the file again."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from schedlab.analysis.verdicts import Options, Question
from schedlab.experiment.plan import CONTROL, Plan
from schedlab.workloads.registry import adapter


class StoredDesign(BaseModel):
    """A run's question, variants (the first is the baseline), rows to judge, and how to judge them."""

    model_config = ConfigDict(extra="forbid")

    question: str
    blocks: int
    iterations: int
    variants: list[str]
    control: str | None
    questions: list[Question]
    alpha: float
    delta: float
    correction: Literal["holm", "benjamini-hochberg", "none"]

    def options(self, seed: int) -> Options:
        """The analysis' options; the run's seed draws its flips."""
        return Options(self.alpha, self.delta, self.correction, seed)


def describe(plan: Plan) -> StoredDesign:
    """The stored part of a plan."""
    experiment, judging = plan.experiment, plan.experiment.analysis
    return StoredDesign(
        question=experiment.experiment.question,
        blocks=experiment.design.blocks,
        iterations=experiment.design.iterations,
        variants=[variant.name for variant in plan.variants],
        control=CONTROL if experiment.design.control else None,
        questions=asked(plan),
        alpha=judging.alpha,
        delta=judging.delta,
        correction=judging.correction,
    )


def asked(plan: Plan) -> list[Question]:
    """The judged metrics of every row, in the file's order."""
    questions = []
    for row in plan.rows:
        found = adapter(row.use)
        for name in row.judged:
            spec = found.spec(name)
            questions.append(Question(row.label, row.parameters_json, name, spec.unit, spec.direction))
    return questions
