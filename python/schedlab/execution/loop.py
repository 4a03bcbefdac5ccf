"""Running a plan: each trial's variant is put in place, the trial runs, and its row is in the store before the next.

Nothing here waits, measures or judges; a scripted target takes the same path as a kernel.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from sqlalchemy import Engine

from schedlab.errors import CannotRunHere
from schedlab.experiment.plan import Plan, Trial
from schedlab.measurement import Measurement
from schedlab.store import writing
from schedlab.targets.protocol import Obstacle, Target

Progress = Callable[[Trial, "Measurement | None"], None]
"""Called before each trial (with None) and after it."""


def require_runnable(plan: Plan, target: Target) -> None:
    """Raise CannotRunHere, with every reason at once, before anything was touched."""
    found = target.obstacles(plan)
    if found:
        raise CannotRunHere(
            _refusal(found), todo="'schedlab doctor' tells what this machine can run; nothing was changed"
        )


def _refusal(found: Sequence[Obstacle]) -> str:
    return "this experiment cannot run here\n" + "\n".join(
        f"  {str(item).replace(chr(10), chr(10) + '  ')}" for item in found
    )


def execute(plan: Plan, target: Target, engine: Engine, run_id: int, progress: Progress) -> None:
    """Run every trial of the plan that the store does not hold yet.

    The run's state ends as ``complete``, or as ``interrupted`` when an exception (Ctrl-C among them) passes through;
    the target's session has then been left, and with it everything undone.
    """
    already = writing.done(engine, run_id)
    todo = [trial for trial in plan.trials if trial.index not in already]
    writing.set_state(engine, run_id, "running")
    state = "interrupted"
    try:
        with target.session(plan, run_id) as session:
            try:
                for trial in todo:
                    progress(trial, None)
                    session.put_in_place(trial.variant)
                    measurement = session.run(trial)
                    writing.record(engine, run_id, trial, measurement)
                    progress(trial, measurement)
                    if plan.experiment.design.pause:
                        time.sleep(plan.experiment.design.pause)
            finally:
                writing.set_notes(engine, run_id, session.notes)
        state = "complete"
    finally:
        writing.set_state(engine, run_id, state)
