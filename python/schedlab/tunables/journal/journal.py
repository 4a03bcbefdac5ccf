"""The journal of a run on this machine: every change is recorded before it is made, and undone at the end."""

from __future__ import annotations

import atexit
import os
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType

from schedlab.tunables.availability import Refused
from schedlab.tunables.errors import JournalError, Unavailable
from schedlab.tunables.journal.client import Lost
from schedlab.tunables.journal.local import LocalAgent
from schedlab.tunables.journal.recovery import pending, recover
from schedlab.tunables.journal.replies import Described, Outcome
from schedlab.tunables.journal.values import Values
from schedlab.tunables.signals import deferred_signals
from schedlab.tunables.system import System

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


KILLED_SECONDS = 5.0
"""Limit for the end of the processes of an agent that was killed."""


class Journal:
    """Sets tunables and restores their values, records other resources of the run and removes leftovers.

    ``schedload agent`` keeps the journal, as a child of this process. A context manager: at the end of the block,
    whichever way it ends, every change is undone. The agent also undoes every change when this process is killed. One
    thread may use a journal, for one `System`.
    """

    def __init__(self, directory: Path, run_id: str, system: System) -> None:
        """Prefer `Journal.open`."""
        if _RUN_ID.fullmatch(run_id) is None:
            raise JournalError(f"{run_id!r} cannot name a journal: letters, digits, '.', '_', '+' and '-' only")
        self.directory = directory
        self.run_id = run_id
        self.left_alone: list[str] = []
        """Messages about values that another process changed before their variant ended."""
        self._system = system
        self._agent: LocalAgent | None = None
        self._values: Values | None = None
        self._debugfs = ExitStack()
        self._pid = os.getpid()
        atexit.register(self.close)

    @classmethod
    def open(cls, directory: Path, run_id: str, system: System) -> Journal:
        """Open a journal in `directory` for a run that changes `system`; JournalError when `run_id` is not a file name.

        The agent is started, and the file created, when they are needed: a run that changes nothing leaves no file.
        """
        return cls(directory, run_id, system)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def begin_alone(self) -> list[Outcome]:
        """Lock the machine for this run, and undo the changes of dead runs; return the outcomes.

        Refusal when another run has locked the machine.
        """
        with deferred_signals():
            self._agent = LocalAgent(self.directory, self._system.root, alone=True)
            return self._agent.begin(self.run_id)

    @property
    def agent(self) -> LocalAgent:
        """The agent that keeps the journal."""
        return self._started()

    def watch(self, variants: Iterable[Mapping[str, object]]) -> None:
        """Read the original values of everything that the variants set. See `Values.watch`."""
        if variants := [wanted for wanted in variants if wanted]:
            with deferred_signals():
                self._values = self._values or Values(self._started(), self._system)
                self._values.watch(variants)

    def put(self, wanted: Mapping[str, object]) -> int:
        """Give the system its original values except for `wanted`; return the number of writes. See `Values.put`."""
        if self._agent is None and not wanted:
            return 0
        with deferred_signals():
            agent = self._started()
            self._values = values = self._values or Values(agent, self._system)
            try:
                done = values.put(wanted)
            except Unavailable as error:
                here = error.resolution
                is_unmounted = isinstance(here, Refused) and here.unmounted
                if not (is_unmounted and self._system.real and self._system.is_root):
                    raise
                self._debugfs.enter_context(self._system.debugfs())
                done = values.put(wanted)
        self.left_alone = [left.text for left in done.left]
        return done.writes

    @property
    def remarks(self) -> list[str]:
        """See `Values.remarks`."""
        return [] if self._values is None else self._values.remarks

    def made(self, what: str, name: str) -> None:
        """Record, on disk, that the run is about to make a resource (`schedlab.files.scratch`).

        `close` removes the resource unless `gone` was called. Raises Refusal if the agent cannot record the resource.
        """
        with deferred_signals():
            self._started().made(what, name)

    def gone(self, what: str, name: str) -> None:
        """Record that the run has removed the resource."""
        # An agent that was killed has left a journal, and finds no resource of this name.
        with deferred_signals(), suppress(Lost):
            self._started().gone(what, name)

    def check(self) -> None:
        """Raise Lost if the agent was killed: the values are being put back, under a trial."""
        if self._agent is not None:
            self._agent.check()

    def close(self) -> list[Outcome]:
        """Undo every change in reverse order; return the outcomes. A second call has no effect.

        The journal is removed, because the store records the values that a run had set. The journal is kept if a change
        could not be undone, and moved to another folder if a value was left to another process.
        """
        if os.getpid() != self._pid:
            return []  # a forked child: the values are its parent's to undo
        with deferred_signals():
            atexit.unregister(self.close)
            agent, self._agent = self._agent, None
            try:
                return [] if agent is None else self._ended(agent)
            finally:
                self._debugfs.close()

    def _ended(self, agent: LocalAgent) -> list[Outcome]:
        if agent.alive:
            with suppress(Lost):
                return agent.end()
        agent.close()
        # The agent was killed, here if it did not answer. Its processes take a moment to end.
        outcomes = recover(self.directory)
        deadline = time.monotonic() + KILLED_SECONDS + agent.undo_seconds
        while (left := self._left()) and any(journal.live for journal in left) and time.monotonic() < deadline:
            time.sleep(0.05)
            outcomes += recover(self.directory)
        text = "its changes are not undone: 'schedlab tunables undo' puts the values back"
        failed = {outcome.path for outcome in outcomes if outcome.is_leftover}
        return outcomes + [
            Outcome("failed", "", str(journal.path), f"the journal {journal.path} is left, {text}")
            for journal in left
            if journal.live or not failed
        ]

    def _left(self) -> list[Described]:
        """Return the journals of this run that are left."""
        every = pending(self.directory)
        return [each for each in every if each.run_id == self.run_id and each.process == self._pid]

    def _started(self) -> LocalAgent:
        if self._agent is None:
            self._agent = LocalAgent(self.directory, self._system.root)
            self._agent.begin(self.run_id)
        return self._agent
