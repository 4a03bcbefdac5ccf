"""Preparation of trials on the machine under test, by its agent: on this machine and on others alike.

    adapter ──Preparation──▶ steps ──agent──▶ state ──before each trial──▶ restored state ──at the end──▶ nothing

Adapters state steps; the agent's launcher runs each step, so that no process of a step outlives schedlab. The journal
names each folder and each other resource before a step makes it.
"""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from schedlab.errors import CannotRunHere, TrialFailure
from schedlab.files.scratch import FOLDER, PREFIX
from schedlab.tunables.journal.client import Client
from schedlab.tunables.signals import deferred_signals
from schedlab.workloads.base import AnyAdapter, Command, Parameters, Place, Resource, Step
from schedlab.workloads.launcher import PREPARING_SECONDS, run_by
from schedlab.workloads.machine import Machine

K = TypeVar("K", bound=Hashable)

SHOWN = 300
"""Characters at the end of a step's output, and of its command, that an error quotes."""

_FOLDERS = """
first() { for folder; do [ -d "$folder" ] && [ -w "$folder" ] && break; done; echo "$folder"; }
echo "${XDG_CACHE_HOME:-$HOME/.cache}/schedlab"; first /dev/shm /tmp; first /var/tmp /tmp
"""


def place_of(agent: Client) -> Place:
    """Return the folders of a run on the agent's machine, which do not exist yet."""
    machine = Machine(agent)
    folders = machine.output(_FOLDERS).splitlines()
    if len(folders) != 3:
        raise CannotRunHere(
            "the machine names no folders for a run", where=agent.where, todo="set HOME and TMPDIR there"
        )
    cache, memory, disk = map(Path, folders)
    name = f"{PREFIX}{secrets.token_hex(8)}"
    return Place(cache, memory / name, disk / f"{name}-disk", machine)


class Row(Protocol):
    """A row of a plan."""

    @property
    def adapter(self) -> AnyAdapter:
        """The workload."""

    @property
    def parameters(self) -> Parameters:
        """The validated parameters."""


class Prepared(Generic[K]):
    """The prepared rows of a run."""

    def __init__(self, place: Place, rows: Mapping[K, Row], before: Mapping[K, Sequence[Step]]) -> None:
        self.place = place
        self._rows = rows
        self._before = before

    def command(self, name: K) -> Command:
        """Restore the state that the row's trials need, and return a trial's command; TrialFailure names a step that
        failed."""
        for step in self._before.get(name, ()):
            if failure := _failure(self.place.machine.agent, step):
                raise TrialFailure(f"{step.name} {failure}")
        row = self._rows[name]
        return row.adapter.trial_command(row.parameters, self.place)


@contextmanager
def prepared(agent: Client, rows: Mapping[K, Row]) -> Iterator[Prepared[K]]:
    """Run the steps of all rows, and at the exit the steps at the end; CannotRunHere names the step that failed."""
    place = place_of(agent)
    before: dict[K, Sequence[Step]] = {}
    done = set()
    with ExitStack() as stack:
        stack.enter_context(_folders(agent, place))
        for name, row in rows.items():
            if (preparation := row.adapter.preparation(row.parameters, place)) is None:
                continue
            before[name] = preparation.before_trial
            if (key := (row.adapter.name, preparation.key)) not in done:
                done.add(key)
                stack.callback(_end, agent, preparation.at_end)
                carry_out(agent, preparation.steps)
        yield Prepared(place, rows, before)


def carry_out(agent: Client, steps: Iterable[Step | Resource]) -> None:
    """Run steps one after another, and record resources; CannotRunHere names the step that failed."""
    for step in steps:
        if isinstance(step, Resource):
            agent.made(step.what, step.name)
        elif failure := _failure(agent, step):
            command = shlex.join(step.command.argv)[:SHOWN]
            where = f"{agent.where}: {command}" if agent.where else command
            raise CannotRunHere(f"{step.name} {failure}", where=where, todo=step.todo)


def _failure(agent: Client, step: Step) -> str:
    """Run a step; return how it failed, and an empty text for a success."""
    launched = run_by(agent, step.command, PREPARING_SECONDS, ["--keep-strays"] if step.leaves else [])
    if launched.changed:
        return "; ".join(map(str, launched.changed))
    if launched.status == 0:
        return ""
    words = (launched.stderr.strip() or launched.stdout.strip())[-SHOWN:]
    return f"ended with status {launched.status}" + (f": {words}" if words else "")


def _end(agent: Client, steps: Sequence[Step]) -> None:
    if agent.answers():
        # A second Ctrl-C waits until the steps have ended.
        with deferred_signals():
            carry_out(agent, steps)


@contextmanager
def _folders(agent: Client, place: Place) -> Iterator[None]:
    """Make the folders of the run; remove them at the exit."""
    folders = [str(place.scratch), str(place.disk)]
    todo = "free space in the parents of these folders"
    make = Step("the making of folders", Command(("mkdir", "-m", "711", *folders), cwd=Path("/")), todo)
    # Removed by a step, because the end of an agent has a time limit; the agent removes what the step leaves.
    remove = Step("the removal of folders", Command(("rm", "-rf", *folders), cwd=Path("/")))
    try:
        carry_out(agent, [*(Resource(FOLDER, folder) for folder in folders), make])
        yield
    finally:
        if agent.answers():
            with deferred_signals():
                _failure(agent, remove)
