"""The state of a run is correct, for every kind of end and while another process executes the run."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from sqlalchemy import Engine, event

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
    # Another process continues the run.
    with subprocess.Popen(["sleep", "100"]) as other:
        words = this_process().split()
        words[3:] = [str(other.pid), other_start(other.pid)]
        edit_run(engine, run_id, state="running", process=" ".join(words))
        assert state_after(engine, run_plan, run_id, Busy(CannotRunHere("another run is going on"))) == "running"
        other.kill()
        other.wait()
    assert reader.run(engine, run_id).state == "interrupted"


@pytest.mark.slow
def test_a_run_that_another_process_runs_is_not_resumed(engine: Engine, experiment: Experiment) -> None:
    """Simulated targets have no machine to lock, so that the store excludes the second process."""

    def script(trial: Trial) -> float:
        if trial.index == 9:
            raise ZeroDivisionError
        return 1.0

    run_plan = plan(experiment, 1)
    run_id = begin(engine, run_plan)
    state_after(engine, run_plan, run_id, Scripted(script))
    done, target = writer.done(engine, run_id), Scripted(lambda trial: 1.0)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as other:
        words = this_process().split()
        words[3:] = [str(other.pid), other_start(other.pid)]
        edit_run(engine, run_id, state="running", process=" ".join(words))
        with pytest.raises(CannotRunHere, match=f"another process runs run {run_id}"):
            execute(run_plan, target, engine, run_id, lambda trial, measurement: None)
    assert writer.done(engine, run_id) == done, "nothing is measured and nothing is marked to be repeated"
    assert state_after(engine, run_plan, run_id, target) == "complete"


def test_a_run_whose_process_was_killed_is_resumed(engine: Engine, experiment: Experiment) -> None:
    run_id = begin(engine, plan(experiment, 1))
    edit_run(engine, run_id, process="the killed process")
    assert reader.run(engine, run_id).state == "interrupted"
    writer.resume(engine, run_id)
    assert reader.run(engine, run_id).state == "running"


def test_of_two_resumptions_at_once_the_second_is_refused(
    engine: Engine, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other process records its identity after this process has read the row."""
    run_id = begin(engine, plan(experiment, 1))
    edit_run(engine, run_id, process="the killed process")
    monkeypatch.setattr(writer, "this_process", lambda: "the second process")
    statements: list[str] = []

    def meanwhile(connection: object, cursor: sqlite3.Cursor, statement: str, *_: object) -> None:
        if statement.startswith("UPDATE run") and not statements:
            statements.append(statement)
            cursor.connection.execute("UPDATE run SET process = 'the first process'")

    event.listen(engine, "before_cursor_execute", meanwhile)
    with pytest.raises(CannotRunHere, match=f"another process runs run {run_id}"):
        writer.resume(engine, run_id)
    assert statements


@pytest.mark.parametrize(("trials", "blocks"), [(3, 0), (6, 0), (11, 0), (12, 1), (17, 1), (18, 2)])
def test_the_last_complete_block_of_an_interrupted_run_counts(
    engine: Engine, experiment: Experiment, trials: int, blocks: int
) -> None:
    run_plan = plan(experiment, 1)
    assert [trial.block for trial in run_plan.trials[:18]] == [0] * 6 + [1] * 6 + [2] * 6

    def script(trial: Trial) -> float:
        if trial.index == trials:
            raise ZeroDivisionError
        return 1.0

    run_id = begin(engine, run_plan)
    state_after(engine, run_plan, run_id, Scripted(script))
    assert reader.blocks_done(engine, reader.run(engine, run_id)) == blocks


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
