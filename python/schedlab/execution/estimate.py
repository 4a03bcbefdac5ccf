"""How long a plan will take: from earlier runs where the store has some, else from the adapters' guesses."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine

from schedlab.experiment.plan import Plan
from schedlab.store.reading import typical_boot, typical_seconds
from schedlab.targets.protocol import Boots
from schedlab.units import counted, format_time
from schedlab.workloads.registry import adapter

OVERHEAD = 0.01
"""Seconds that a trial takes beside its workload; the harness' own bench measures it."""


@dataclass(frozen=True)
class Estimate:
    """Seconds for the whole plan, and what that rests on."""

    seconds: float
    basis: str


def estimate(
    plan: Plan, engine: Engine | None, target: str = "host", *, virtual: bool = False, boots: Boots | None = None
) -> Estimate:
    """Estimate a plan; ``engine`` is a store whose earlier trials of the same rows on the same target are used.

    On a ``virtual`` target no pause is waited for, and a row that was never simulated is guessed to take as long as it
    would on a real machine: simulations of small machines are quicker, those of large ones slower. A target that boots
    machines has ``boots``; a boot takes as long as it typically did, with its first trial's pause.
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
    pause = 0.0 if virtual and not (boots and boots.waits) else plan.experiment.design.pause
    total = sum(cost[trial.row.key] + pause for trial in plan.trials)
    basis = _basis(guessed, len(plan.rows), virtual=virtual)
    if boots is None or not boots.count:
        return Estimate(total, basis)
    measured = typical_boot(engine, target) if engine is not None else None
    booting = boots.seconds if measured is None else boots.count * max(0.0, measured - pause)
    each = f"{format_time(booting / boots.count)}{' each' if boots.count > 1 else ''}"
    guess = " by a guess" if measured is None else ""
    return Estimate(total + booting, f"{basis}; {counted(boots.count, 'boot')} of {each}{guess}")


def _basis(guessed: int, rows: int, *, virtual: bool) -> str:
    if not guessed:
        return "from earlier runs"
    part = "a guess" if guessed == rows else f"{guessed} of {rows} rows guessed"
    return f"{part}, as long as on a real machine" if virtual else f"{part}, without preparing"
