"""The loop that runs a plan: put a trial's variant in place, run the trial, and store the trial before the next trial
begins.

This module neither measures nor judges, so that a scripted target takes the same path as a kernel.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Engine

from schedlab.errors import CannotRunHere
from schedlab.execution.interim import InterimAnalyses
from schedlab.experiment.plan import Plan, Trial
from schedlab.results.measurement import Measurement
from schedlab.store import reader, writer
from schedlab.targets.protocol import Identity, MissingRequirement, Session, Target
from schedlab.tunables import deferred_signals

Progress = Callable[[Trial, "Measurement | None"], None]
"""Function that is called before each trial (with None) and after each trial (with the measurement)."""

WARM_UP = 0
"""Block number of the warm-up."""


def require_runnable(plan: Plan, target: Target, announce: Callable[[str], None] = lambda file: None) -> None:
    """Raise CannotRunHere, with all missing requirements, before anything is changed.

    Files that the target can download are downloaded once no other requirement is missing; ``announce`` is called with
    a description of each file before its download.
    """
    _refuse(target.missing_requirements(plan))
    if download(target, announce):
        _refuse(target.missing_requirements(plan))


def download(target: Identity, announce: Callable[[str], None]) -> bool:
    """Download the files that the target lacks; return whether any was missing. CannotRunHere if a download fails."""
    downloads = target.downloads()
    for file in downloads:
        announce(file.what)
        file.fetch()
    return bool(downloads)


def _refuse(missing: Sequence[MissingRequirement]) -> None:
    if missing:
        lines = (line for requirement in missing for line in str(requirement).splitlines())
        message = "\n  ".join(["this experiment cannot run here", *lines])
        raise CannotRunHere(
            message, todo=("'schedlab doctor' lists the capabilities of this machine; nothing was changed")
        )


@contextmanager
def recorded(plan: Plan, target: Target, engine: Engine, run_id: int) -> Iterator[Session]:
    """Yield the target's session, and record the run's state at its end.

    The state becomes ``complete``, ``interrupted`` when an exception such as Ctrl-C passes through, or ``refused`` when
    the target could not begin a session for a new run. Before that, the session ends and undoes its changes.
    """
    state: Literal["complete", "interrupted", "refused"] = "refused"
    try:
        with target.session(plan, run_id) as session:
            state = "interrupted"
            writer.resume(engine, run_id)
            try:
                yield session
            finally:
                notes, changed = _at_end(target, session, reader.run(engine, run_id).fingerprint)
                writer.add_remarks(engine, run_id, notes=notes, changed=changed)
        state = "complete"
    except KeyboardInterrupt:
        state = "interrupted"
        raise
    finally:
        # Several signals may end the process before this line, so readers also check whether the process lives.
        with deferred_signals():
            writer.end(engine, run_id, state)


@contextmanager
def running(engine: Engine, run_id: int) -> Iterator[Callable[[], None]]:
    """Record the state of a run whose sessions are those of workers: ``interrupted``, or ``complete`` if the block
    calls the function that it gets."""
    complete = False

    def finish() -> None:
        nonlocal complete
        complete = True

    writer.resume(engine, run_id)
    try:
        yield finish
    finally:
        with deferred_signals():
            writer.end(engine, run_id, "complete" if complete else "interrupted")


def _at_end(target: Target, session: Session, fingerprint: Mapping[str, Any]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the session's notes, and what changed on the machine during the run.

    A machine that is lost must not replace the error that ends the run by another.
    """
    try:
        return session.notes, target.changes(fingerprint)
    except CannotRunHere as error:
        return [*session.notes, f"whether the machine changed during the run is not known: {error.what}"], ()


def execute(plan: Plan, target: Target, engine: Engine, run_id: int, progress: Progress) -> None:
    """Run every trial of the plan that is not in the store; measure an interrupted block again as a whole.

    A sequential run ends at the interim analysis that decides every row, and gets a note about its early end.
    """
    with recorded(plan, target, engine, run_id) as session:
        interim = InterimAnalyses(plan, engine, run_id)
        measure = Measure(session, pause_of(plan, target), engine, run_id, progress)
        for trial in _todo(plan, engine, run_id, interim, warms=target.warms):
            if stop := interim.before(trial):
                writer.add_remarks(engine, run_id, notes=[stop])
                return
            measure(trial)


def pause_of(plan: Plan, target: Target) -> float:
    """Return the seconds between putting a variant in place and its trial."""
    return 0.0 if target.virtual else plan.experiment.design.pause


def run_trial(session: Session, trial: Trial, pause: float) -> Measurement:
    """Put a trial's variant in place, wait, and return the trial's measurement."""
    session.put_in_place(trial.variant)
    # After the variant: a setting may take effect with a delay, and the machine cools down meanwhile.
    if pause:
        time.sleep(pause)
    return session.run(trial).checked(f"trial {trial.index} ({trial.row} under {trial.variant.name})")


@dataclass(frozen=True)
class Measure:
    """Puts a trial's variant in place, runs the trial and stores its measurement."""

    session: Session
    pause: float
    engine: Engine
    run_id: int
    progress: Progress

    def __call__(self, trial: Trial) -> None:
        """Run the trial."""
        self.progress(trial, None)
        self.store(trial, run_trial(self.session, trial, self.pause))

    def store(self, trial: Trial, measurement: Measurement) -> None:
        """Store and report a measurement."""
        writer.record(self.engine, self.run_id, trial, measurement)
        self.progress(trial, measurement)


def _todo(plan: Plan, engine: Engine, run_id: int, interim: InterimAnalyses, *, warms: bool) -> list[Trial]:
    """Mark the trials to repeat, and return the trials left to run: [] where an interim analysis decided every row."""
    done = writer.done(engine, run_id)
    if stop := interim.stopped(done):
        writer.add_remarks(engine, run_id, notes=[stop])
        return []
    if repeated := trials_to_repeat(plan, done, warms=warms):
        writer.supersede(engine, run_id, repeated)
        blocks = sorted({trial.block for trial in plan.trials if trial.index in repeated})
        parts = [f"block {block}" if block != WARM_UP else "the warm-up" for block in blocks]
        note = f"interrupted after {len(done)} trials; {' and '.join(parts)} had to be measured again"
        writer.add_remarks(engine, run_id, notes=[note])
    return [trial for trial in plan.trials if trial.index not in done or trial.index in repeated]


def trials_to_repeat(plan: Plan, done: Collection[int], *, warms: bool) -> set[int]:
    """Return the plan positions of recorded trials that a resumed run has to measure again.

    The comparison within a block assumes that its trials ran soon after each other, so a block that was interrupted is
    measured again as a whole. The warm-up is repeated too where the target cools down (``warms``, see
    :class:`schedlab.targets.protocol.Target`). Replaced trials stay in the store, marked, and are not analysed.
    """
    left = {trial.block for trial in plan.trials if trial.index not in done}
    if not left or not done:
        return set()
    repeated = left | ({WARM_UP} if warms else set())
    return {trial.index for trial in plan.trials if trial.index in done and trial.block in repeated}
