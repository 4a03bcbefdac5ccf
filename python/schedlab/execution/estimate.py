"""The time that a plan will take: from earlier runs in the store, otherwise from the estimates of the workloads'
adapters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Engine

from schedlab.experiment.plan import Plan
from schedlab.notation.units import counted, format_time
from schedlab.store.reader import typical_boot, typical_seconds
from schedlab.targets.protocol import Boots

OVERHEAD = 0.01
"""Seconds that schedlab adds to the workload of a trial, measured by ``benches/overhead.py``."""


@dataclass(frozen=True)
class Estimate:
    """Seconds for the plan, and a description of the estimate's source.

    ``boot`` has the seconds of a boot for each variant that boots. The time of simulated trials is not ``known`` before
    the first of them, however long the same workload takes on a real machine.
    """

    seconds: float
    basis: str
    boot: Mapping[str, float] = field(default_factory=dict)
    known: bool = True

    @property
    def text(self) -> str:
        """The time and its source."""
        return f"{format_time(self.seconds)} ({self.basis})" if self.known else "not known before the first trials"


def estimate(
    plan: Plan, engine: Engine | None, target: str = "host", *, virtual: bool = False, boots: Boots | None = None
) -> Estimate:
    """Estimate the time of a plan.

    Args:
        engine: a store with earlier trials; trials of the same rows on the same target are used.
        virtual: whether the target simulates time. There are then no pauses. A row without earlier trials is assumed to
            take as long as on a real machine: simulations of small machines are quicker, of large machines slower.
        boots: boots of a target that boots machines. A boot takes its typical time in earlier runs, which includes
            the pause before its first trial.
    """
    measured = typical_seconds(engine, target) if engine is not None else {}
    seconds, guessed = {}, 0
    for row in plan.rows:
        if row.key in measured:
            seconds[row.key] = measured[row.key]
        else:
            guessed += 1
            seconds[row.key] = OVERHEAD + row.adapter.seconds(row.validated)
    pause = 0.0 if virtual and not (boots and boots.waits) else plan.experiment.design.pause
    total = sum(seconds[trial.row.key] + pause for trial in plan.trials)
    basis = _basis(guessed, len(plan.rows), virtual=virtual)
    known = not virtual or guessed < len(plan.rows)
    if boots is None or not boots.count:
        return Estimate(total, basis, known=known)
    typical = typical_boot(engine, target) if engine is not None else None
    booting = boots.seconds if typical is None else boots.count * max(0.0, typical - pause)
    boot = dict.fromkeys(boots.variants, booting / boots.count)
    each = f"{format_time(booting / boots.count)}{' each' if boots.count > 1 else ''}"
    guess = " by a guess" if typical is None else ""
    return Estimate(total + booting, f"{basis}; {counted(boots.count, 'boot')} of {each}{guess}", boot, known)


def _basis(guessed: int, rows: int, *, virtual: bool) -> str:
    if not guessed:
        return "from earlier runs"
    part = "a guess" if guessed == rows else f"{guessed} of {rows} rows guessed"
    return f"{part}, as long as on a real machine" if virtual else f"{part}, without preparing"
