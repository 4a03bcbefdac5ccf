"""The stored part of a plan: what a report needs to know of it."""

from __future__ import annotations

from schedlab.analysis.rows import Layout, Question
from schedlab.experiment.factorial import runs
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import CONTROL, Plan
from schedlab.store.design import StoredDesign
from schedlab.workloads.registry import adapter


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
        family=judging.family,
        interval=judging.interval,
        looks=list(experiment.design.look_blocks),
        stack=experiment.attribution.stack if experiment.attribution else [],
        factorial=_layout(experiment),
    )


def _layout(experiment: Experiment) -> Layout | None:
    """Which switches are on in each of a factorial's variants."""
    if experiment.factorial is None:
        return None
    return Layout(tuple(experiment.factorial.switches), runs(experiment.factorial, experiment.baseline.name))


def asked(plan: Plan) -> list[Question]:
    """The judged metrics of every row, in the file's order."""
    questions = []
    for row in plan.rows:
        found = adapter(row.use)
        for name in row.judged:
            spec = found.spec(name)
            questions.append(Question(row.label, row.parameters_json, name, spec.unit, spec.direction))
    return questions
