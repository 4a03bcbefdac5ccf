"""Running a plan: each trial's variant is put in place, the trial runs, and its row is in the store before the next.

Nothing here waits, measures or judges; a scripted target takes the same path as a kernel.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from sqlalchemy import Engine

from schedlab.errors import CannotRunHere
from schedlab.execution.resume import WARM_UP, again
from schedlab.execution.stopping import Looks
from schedlab.experiment.plan import Plan, Trial
from schedlab.measurement import Measurement
from schedlab.store import reading, writing
from schedlab.targets.protocol import MissingRequirement, Session, Target

Progress = Callable[[Trial, "Measurement | None"], None]
"""Called before each trial (with None) and after it."""


def require_runnable(plan: Plan, target: Target, tell: Callable[[str], None] = lambda what: None) -> None:
    """Raise CannotRunHere, with every reason at once, before anything was touched.

    What the target lacks and can be had is downloaded, and told before that, once nothing else is in the way.
    """
    _refuse(target.missing_requirements(plan))
    if download(target, tell):
        _refuse(target.missing_requirements(plan))


def download(target: Target, tell: Callable[[str], None]) -> bool:
    """Bring here what the target lacks; whether there was something. CannotRunHere when that fails."""
    wanted = target.downloads()
    for each in wanted:
        tell(each.what)
        each.fetch()
    return bool(wanted)


def _refuse(found: Sequence[MissingRequirement]) -> None:
    if found:
        todo = "'schedlab doctor' tells what this machine can run; nothing was changed"
        raise CannotRunHere(_refusal(found), todo=todo)


def _refusal(found: Sequence[MissingRequirement]) -> str:
    lines = (line for item in found for line in str(item).splitlines())
    return "\n  ".join(["this experiment cannot run here", *lines])


def execute(plan: Plan, target: Target, engine: Engine, run_id: int, progress: Progress) -> None:
    """Run every trial of the plan that the store does not hold yet; a torn block is measured again as a whole.

    A sequential run ends at the look at which every row is decided, with a remark that says so. The run's state ends
    as ``complete``, or as ``interrupted`` when an exception (Ctrl-C among them) passes through; the target's session
    has then been left, and with it everything undone.
    """
    with target.session(plan, run_id) as session:
        looks = Looks(plan, engine, run_id)
        todo = _todo(plan, engine, run_id, looks, warms=target.warms)
        writing.set_state(engine, run_id, "running")
        try:
            pause = 0.0 if target.virtual else plan.experiment.design.pause
            _run(todo, pause, session, engine, run_id, progress, looks)
        except BaseException:
            _close(target, session, engine, run_id, "interrupted")
            raise
        _close(target, session, engine, run_id, "complete")


def _todo(plan: Plan, engine: Engine, run_id: int, looks: Looks, *, warms: bool) -> list[Trial]:
    """The trials left to do, after marking those that have to be measured again; none where a look ended the run."""
    done = writing.done(engine, run_id)
    if stop := looks.stopped(done):
        writing.add_remarks(engine, run_id, notes=[stop])
        return []
    if repeated := again(plan, done, warms=warms):
        writing.supersede(engine, run_id, repeated)
        blocks = sorted({trial.block for trial in plan.trials if trial.index in repeated})
        parts = [f"block {block}" if block != WARM_UP else "the warm-up" for block in blocks]
        note = f"interrupted after {len(done)} trials; {' and '.join(parts)} had to be measured again"
        writing.add_remarks(engine, run_id, notes=[note])
    return [trial for trial in plan.trials if trial.index not in done or trial.index in repeated]


def _run(
    todo: Sequence[Trial],
    pause: float,
    session: Session,
    engine: Engine,
    run_id: int,
    progress: Progress,
    looks: Looks,
) -> None:
    for trial in todo:
        if stop := looks.before(trial):
            writing.add_remarks(engine, run_id, notes=[stop])
            return
        progress(trial, None)
        session.put_in_place(trial.variant)
        # Here, so that a setting which takes effect with a delay has done so, as well as for the machine to cool.
        if pause:
            time.sleep(pause)
        measurement = session.run(trial)
        writing.record(engine, run_id, trial, measurement)
        progress(trial, measurement)


def _close(target: Target, session: Session, engine: Engine, run_id: int, state: str) -> None:
    """Record how the run ended. Where the store is what failed, the first error is told and not this one."""
    changed = target.changes(reading.run(engine, run_id).fingerprint)
    writing.add_remarks(engine, run_id, notes=session.notes, changed=changed)
    writing.set_state(engine, run_id, state)
