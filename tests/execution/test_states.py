"""The state of a run is true: whatever ended it, and while another process runs it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from sqlalchemy import Engine

from schedlab.errors import CannotRunHere
from schedlab.execution.loop import execute
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import Plan, Trial, plan
from schedlab.files.processes import this_process
from schedlab.store import reader, writer
from schedlab.targets.protocol import Session
from schedlab.targets.scripted import Scripted
from schedlab.tunables import restore_on_signals
from tests.conftest import begin, edit_run


class Busy(Scripted):
    """A target whose session ends with an exception before its first trial."""

    def __init__(self, reason: BaseException) -> None:
        super().__init__(lambda trial: 1.0)
        self.reason = reason

    @contextmanager
    def session(self, plan: Plan, run_id: int) -> Iterator[Session]:
        """Raise the exception."""
        raise self.reason
        yield


def state_after(engine: Engine, run_plan: Plan, run_id: int, target: Scripted) -> str:
    with suppress(CannotRunHere, KeyboardInterrupt, ZeroDivisionError):
        execute(run_plan, target, engine, run_id, lambda trial, measurement: None)
    return reader.run(engine, run_id).state


@pytest.mark.parametrize(
    ("reason", "state"), [(CannotRunHere("another run is going on"), "refused"), (KeyboardInterrupt(), "interrupted")]
)
def test_a_run_without_a_session_is_refused_or_interrupted(
    engine: Engine, experiment: Experiment, reason: BaseException, state: str
) -> None:
    run_plan = plan(experiment, 1)
    run_id = begin(engine, run_plan)
    assert reader.run(engine, run_id).state == "running"
    assert state_after(engine, run_plan, run_id, Busy(reason)) == state
    assert reader.run(engine, run_id).finished is not None


def test_a_refused_resumption_leaves_the_run_as_it_is(engine: Engine, experiment: Experiment) -> None:
    def script(trial: Trial) -> float:
        if trial.index == 9:
            raise ZeroDivisionError
        return 1.0

    run_plan = plan(experiment, 1)
    run_id = begin(engine, run_plan)
    assert state_after(engine, run_plan, run_id, Scripted(script)) == "interrupted"
    # Another process goes on with the run.
    with subprocess.Popen(["sleep", "100"]) as other:
        words = this_process().split()
        words[3:] = [str(other.pid), other_start(other.pid)]
        edit_run(engine, run_id, state="running", process=" ".join(words))
        assert state_after(engine, run_plan, run_id, Busy(CannotRunHere("another run is going on"))) == "running"
        other.kill()
        other.wait()
    assert reader.run(engine, run_id).state == "interrupted"


def other_start(pid: int) -> str:
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[19]


class Interrupting(Scripted):
    """A target that gets a signal in a trial, and one more in each step of the end."""

    def changes(self, fingerprint: Mapping[str, Any]) -> Sequence[str]:
        """Get a signal."""
        os.kill(os.getpid(), signal.SIGTERM)
        return super().changes(fingerprint)

    @contextmanager
    def session(self, plan: Plan, run_id: int) -> Iterator[Session]:
        """Get a signal at the exit."""
        try:
            with super().session(plan, run_id) as session:
                yield session
        finally:
            os.kill(os.getpid(), signal.SIGINT)


def test_a_burst_of_signals_leaves_an_interrupted_run(engine: Engine, experiment: Experiment) -> None:
    def script(trial: Trial) -> float:
        if trial.index == 9:
            os.kill(os.getpid(), signal.SIGTERM)
        return 1.0

    run_plan = plan(experiment, 1)
    run_id = begin(engine, run_plan)
    with pytest.raises(KeyboardInterrupt), restore_on_signals():
        execute(run_plan, Interrupting(script), engine, run_id, lambda trial, measurement: None)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT state FROM run").scalar_one() == "interrupted"
    assert writer.done(engine, run_id) >= set(range(9))
