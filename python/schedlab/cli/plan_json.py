"""``run --dry-run --format json``; ``docs/experiments.md`` documents the fields."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from schedlab.analysis.planning import RowPlan, Size
from schedlab.analysis.verdicts import Question
from schedlab.execution.design_size import blocks_at_least, interim_analyses, number_of_tests
from schedlab.execution.estimate import Estimate
from schedlab.execution.sample_size import Sizing
from schedlab.experiment.plan import Plan
from schedlab.results.metrics import finite
from schedlab.targets.protocol import MissingRequirement

SCHEMA = 3
"""Version of the schema. The version rises when a field is removed or changes its meaning, not for a new field."""


def fields(
    plan: Plan,
    estimate: Estimate,
    downloads: Sequence[str],
    missing: Sequence[MissingRequirement],
    sizing: Sizing | None = None,
) -> dict[str, Any]:
    """Return the size of a plan, its trials in their order, and the reasons why they cannot run; null if unknown."""
    design = plan.experiment.design
    return {
        "schema": SCHEMA,
        "name": plan.experiment.experiment.name,
        "seed": plan.seed,
        "blocks": design.blocks,
        "iterations": design.iterations,
        "variants": [variant.name for variant in plan.variants],
        "rows": len(plan.rows),
        "tests": number_of_tests(plan.experiment, plan.rows),
        "seconds": estimate.seconds if sizing is None else sizing.planned,
        "downloads": list(downloads),
        "boot_seconds": estimate.boot,
        "cannot_run": [str(requirement) for requirement in missing],
        "blocks_at_least": blocks_at_least(plan),
        "looks": [
            {"blocks": each.blocks, "first": each.first, "last": each.last, "smallest_p": each.smallest}
            for each in interim_analyses(plan)
        ],
        "from": None if sizing is None else _sizing(sizing, design.iterations),
        "trials": [
            {
                "index": trial.index,
                "phase": trial.phase,
                "block": trial.block,
                "variant": trial.variant.name,
                "workload": trial.row.label,
                "parameters": trial.row.parameters,
                "iteration": trial.iteration,
            }
            for trial in plan.trials
        ],
    }


def text(fields: Mapping[str, Any]) -> str:
    """Return fields as one JSON object."""
    return json.dumps(fields, indent=2, ensure_ascii=False)


def _sizing(sizing: Sizing, iterations: int) -> dict[str, Any]:
    return {
        "run": sizing.run.id,
        "effect": sizing.wanted.effect,
        "power": sizing.wanted.power,
        "level": sizing.wanted.rule.level,
        "place_seconds": sizing.costs.place,
        "rows": [_row(row, iterations) for row in sizing.rows],
        "unknown": [_question(question) | {"reason": reason} for question, reason in sizing.unknown],
        "as_in_file": _size(sizing.at_planned_iterations),
        "least_time": _size(sizing.best),
    }


def _row(row: RowPlan, iterations: int) -> dict[str, Any]:
    noise = row.noise
    return _question(row.question) | {
        "within": finite(noise.within),
        "between": finite(noise.between),
        "of_ratio": finite(noise.of_ratio(iterations)),
        "clamped": noise.clamped,
        "measured_blocks": noise.blocks,
        "detectable": finite(row.detectable),
        "blocks": row.blocks,
        "blocks_if_known": row.blocks_if_known,
        "best_iterations": row.best_iterations,
    }


def _question(question: Question) -> dict[str, Any]:
    return {
        "workload": question.workload,
        "parameters": json.loads(question.parameters),
        "metric": question.metric,
    }


def _size(size: Size | None) -> dict[str, Any] | None:
    return None if size is None else {"blocks": size.blocks, "iterations": size.iterations, "seconds": size.seconds}
