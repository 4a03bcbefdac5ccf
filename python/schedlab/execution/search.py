"""The search for the first changed state: blocks of the reference and one other state, chosen by the earlier blocks.

Every decision is made from the store, so that a resumed search chooses the same states as an uninterrupted search.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import Engine

from schedlab.analysis.changepoint import next_state
from schedlab.errors import CannotRunHere
from schedlab.execution.bisection import Bisection, bisection
from schedlab.execution.loop import Measure, Progress, pause_of, recorded, require_runnable
from schedlab.execution.pairs import Build, Pairs
from schedlab.execution.runs import Request, begin, resumed, target_of
from schedlab.execution.states import States
from schedlab.execution.watch import Watch, measuring
from schedlab.experiment.plan import Plan, of_one_row
from schedlab.store.file import open_store
from schedlab.targets.protocol import Target

REFERENCE_FAILURES = 3
"""Successive blocks in which the reference may fail before the search ends."""


@dataclass(frozen=True)
class Budget:
    """Most blocks and seconds of a search. A block that has begun is completed."""

    blocks: int
    seconds: float


def bisect(request: Request, states: States, budget: Budget, watch: Watch) -> tuple[Engine, int]:
    """Search the first changed state; return the store and the run's number.

    Args:
        request: the experiment of the states; with ``resume`` the newest search of the same text goes on.
        states: the states, which are made when the search measures them.
        budget: see :func:`search`.
        watch: gets the progress.
    """
    experiment = request.source.experiment
    begun = None
    if request.resume:
        begun = resumed(open_store(request.store, create=False), request, watch=watch, complete=True)
    plan = of_one_row(experiment, begun.seed if begun else request.seed)
    target = target_of(request, experiment)
    with watch.interruptible(), measuring(watch, target), states.builds(plan, watch) as build:
        require_runnable(plan, target, watch.download)
        engine = open_store(request.store, create=True)
        run_id = begun.id if begun else begin(engine, request, plan, target)
        search(plan, target, engine, run_id, budget, watch.points({plan.variants[0].name}), build)
    return engine, run_id


def search(
    plan: Plan,
    target: Target,
    engine: Engine,
    run_id: int,
    budget: Budget,
    progress: Progress,
    build: Build = lambda variant: "",
) -> Bisection:
    """Measure states until the first changed state is known, or the budget is spent; return the result.

    Args:
        plan: a plan without trials. Its variants are the states in order, and it has one row with one judged metric.
        target: the target.
        engine: the store.
        run_id: the run, new or interrupted.
        budget: limits, which count from the beginning of the run, but seconds from this call.
        progress: see :data:`schedlab.execution.loop.Progress`.
        build: called before each block for both of its states.
    """
    end = time.monotonic() + budget.seconds
    with recorded(plan, target, engine, run_id) as session:
        blocks = Pairs(plan, Measure(session, pause_of(plan, target), engine, run_id, progress), build)
        blocks.warm_up()
        while True:
            result = bisection(engine, run_id)
            if result.reference_failed >= REFERENCE_FAILURES:
                raise CannotRunHere(
                    f"{result.states[0].name!r} failed in {result.reference_failed} successive blocks: "
                    f"{result.states[0].reason}",
                    todo=(
                        "without the good state, nothing can be compared: correct the state, or name another good state"
                    ),
                )
            if result.decided or result.attempts >= budget.blocks or time.monotonic() >= end:
                return result
            if len(result.skipped) == len(result.states) - 1:
                return result
            state = next_state(result.posterior, result.blocks, blocks.costs(), result.skipped)
            blocks.measure(state)
