"""How long a plan will take: from earlier runs where the store has some, else from the adapters' guesses."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine

from schedlab.experiment.plan import Plan
from schedlab.store.reading import typical_seconds
from schedlab.workloads.registry import adapter

OVERHEAD = 0.01
"""Seconds that a trial takes beside its workload; the harness' own bench measures it."""


@dataclass(frozen=True)
class Estimate:
    """Seconds for the whole plan, and what that rests on."""

    seconds: float
    basis: str


def estimate(plan: Plan, engine: Engine | None, target: str = "host", *, virtual: bool = False) -> Estimate:
    """Estimate a plan; ``engine`` is a store whose earlier trials of the same rows on the same target are used.

    On a ``virtual`` target no pause is waited for, and a row that was never simulated is guessed to take as long as it
    would on a real machine: simulations of small machines are quicker, those of large ones slower.
    """
    known = typical_seconds(engine, target) if engine is not None else {}
    cost, guessed = {}, 0
    for row in plan.rows:
        found = adapter(row.use)
        if row.key in known:
            cost[row.key] = known[row.key]
        else:
            guessed += 1
            cost[row.key] = OVERHEAD + found.seconds(found.parameters.model_validate(row.parameters))
    pause = 0.0 if virtual else plan.experiment.design.pause
    total = sum(cost[trial.row.key] + pause for trial in plan.trials)
    if not guessed:
        return Estimate(total, "from earlier runs")
    part = "a guess" if guessed == len(plan.rows) else f"{guessed} of {len(plan.rows)} rows guessed"
    return Estimate(total, f"{part}, as long as on a real machine" if virtual else f"{part}, without preparing")
