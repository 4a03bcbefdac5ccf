"""The controller's side of ``schedload agent``: requests, replies, and the lease.

The agent (``crates/load/src/agent``) keeps the journal on the machine that it changes: this machine, or a machine
reached by ssh.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any, ClassVar

from schedlab.errors import CannotRunHere
from schedlab.tunables.signals import deferred_signals

PROTOCOL = 5
"""Version of the messages (``crates/load/src/agent/protocol.rs``)."""

SECONDS = 60.0
"""Limit for the reply to a request that runs no trial."""

ENDING_SECONDS = 60.0
"""Limit for the end of an agent: the trial's last words, and the undo."""

UNDOES = "the agent ends the trial and puts every value back"
CONTINUE = "continue the run with --resume"
WAIT = "wait for it: two runs at once would measure each other"


class Refusal(CannotRunHere):
    """A request that the agent refused; ``kind`` is the agent's word for the reason (``Kind`` in ``protocol.rs``)."""

    def __init__(self, kind: str, text: str, *, where: str = "", todo: str = "") -> None:
        super().__init__(text, where=where, todo=todo)
        self.kind = kind


class Lost(CannotRunHere):
    """The end of the connection to an agent, which then undoes everything by itself."""


@dataclass(frozen=True)
class Outcome:
    """What happened to a value, a resource or a journal at the end of a run.

    ``how``: ``restored``, ``removed``; ``left`` (another process changed the value), ``failed`` (the journal is kept),
    ``damaged`` (the journal is damaged and kept), ``rebooted`` (the boot has undone the changes). ``name`` is the
    tunable or the kind of the resource, ``path`` the file or the name of the resource.
    """

    how: str
    name: str
    path: str
    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def is_leftover(self) -> bool:
        """Whether something is not as before the run."""
        return self.how in {"left", "failed", "damaged"}


class Client:
    """Requests to an agent. One thread may use the client; a second thread renews the lease."""

    todo: ClassVar[Mapping[str, str]] = {}
    """The remedy for each kind of refusal."""

    alone = False
    """Whether a run locks the machine, and undoes the changes of dead agents."""

    lease = 0.0
    """Seconds without a message after which the agent undoes everything and ends; 0 for no lease."""

    def __init__(
        self, process: subprocess.Popen[bytes], errors: IO[bytes], program: str, folder: str, where: str = ""
    ) -> None:
        """Speak to the agent over a process's pipes.

        Args:
            process: the agent, or ssh.
            errors: the file of its standard error.
            program: the agent's ``schedload``.
            folder: the working folder of trials.
            where: the name of the machine in messages; empty for this machine.
        """
        self.program = program
        self.folder = folder
        self.where = where
        self._errors = errors
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._input, self._output = process.stdin.fileno(), process.stdout.fileno()
        self._parts: list[bytes] = []
        self._lines: deque[bytes] = deque()
        self._last = 0
        self._sending = threading.Lock()
        self._ended = threading.Event()

    @property
    def alive(self) -> bool:
        """Whether the agent runs, as far as this process has noticed."""
        return not self._ended.is_set() and self._process.poll() is None

    def check(self) -> None:
        """Raise Lost if the agent has ended."""
        if not self.alive:
            raise self._lost()

    def ask(
        self, op: str, seconds: float = SECONDS, every_second: Callable[[], object] | None = None, **fields: object
    ) -> Mapping[str, Any]:
        """Send a request and return the reply. Refusal; Lost when the connection ends or no reply comes in time.

        ``every_second`` is called about once a second during the wait.
        """
        self._last += 1
        self._send({"id": self._last, "op": op} | fields)
        deadline = time.monotonic() + seconds
        while True:
            reply = self._reply(deadline, every_second)
            if reply.get("id") != self._last:
                continue  # the reply to a request that an exception has interrupted, or a greeting of the login shell
            if (error := reply.get("error")) is not None:
                kind = error["kind"]
                raise Refusal(kind, error["text"], where=self.where, todo=self.todo.get(kind, ""))
            answer: Mapping[str, Any] = reply["ok"]
            return answer

    def run(self, seconds: float, every_second: Callable[[], object], **trial: object) -> Mapping[str, Any]:
        """Run a trial and return the reply (``Trial`` in ``protocol.rs``). An exception ends the trial first."""
        try:
            return self.ask("run", seconds, every_second, **trial)
        except (Lost, Refusal):
            raise
        except BaseException:
            with deferred_signals(), suppress(Lost):
                self.ask("cancel", seconds=ENDING_SECONDS)
            raise

    def begin(self, run: str) -> list[Outcome]:
        """Begin a run and start the lease; return the outcomes for the changes of dead agents, if ``alone``."""
        lease = self.lease
        outcomes = _outcomes(self.ask("begin", run=run, lease=lease, alone=self.alone))
        if lease:
            threading.Thread(target=self._beat, args=(lease / 5,), daemon=True).start()
        return outcomes

    def holder(self) -> str | None:
        """Return who has locked the machine (``process 17 of user root``), and None when the machine is free.

        Refusal when the machine cannot be locked. Changes nothing.
        """
        holder: str | None = self.ask("holder")["holder"]
        return holder

    def recover(self) -> list[Outcome]:
        """Undo the changes of dead agents; return the outcomes."""
        return _outcomes(self.ask("recover"))

    def read(self, paths: Sequence[str]) -> tuple[dict[str, bytes], dict[str, int]]:
        """Return the contents of files, and the error numbers of unreadable files. A path may contain ``*``."""
        reply = self.ask("read", paths=list(paths))
        return contents(reply), dict(reply["errors"])

    def end(self) -> list[Outcome]:
        """End the trial, undo everything, and end the agent; return the outcomes. Lost if the agent does not answer."""
        if self._ended.is_set():
            return []
        with deferred_signals():
            try:
                return _outcomes(self.ask("end", seconds=ENDING_SECONDS))
            finally:
                self.close()

    def close(self) -> None:
        """Close the connection to the agent, which then ends by itself."""
        self._ended.set()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        try:
            self._process.wait(ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _beat(self, period: float) -> None:
        while not self._ended.wait(period):
            with suppress(Lost):
                self._send({"id": 0, "op": "beat"})

    def _send(self, body: Mapping[str, object]) -> None:
        data = memoryview(json.dumps(body).encode() + b"\n")
        with self._sending:
            try:
                while data:
                    data = data[os.write(self._input, data) :]
            except OSError as error:
                raise self._lost() from error

    def _reply(self, deadline: float, every_second: Callable[[], object] | None = None) -> Mapping[str, Any]:
        """Return the next line that is a JSON object."""
        while True:
            while self._lines:
                with suppress(ValueError):
                    body = json.loads(self._lines.popleft())
                    if isinstance(body, dict):
                        return body
            left = deadline - time.monotonic()
            wait = left if every_second is None else min(left, 1.0)
            if left > 0 and select.select([self._output], [], [], wait)[0]:
                self._receive()
            elif left <= 0:
                raise Lost(f"no answer in time; {UNDOES}", where=self.where, todo=CONTINUE)
            elif every_second is not None:
                every_second()

    def _receive(self) -> None:
        """Read available output. A line may have many megabytes, so each byte is copied once."""
        data = os.read(self._output, 1 << 20)
        if not data:
            raise self._lost()
        first, *rest = data.split(b"\n")
        self._parts.append(first)
        for part in rest:
            self._lines.append(b"".join(self._parts))
            self._parts = [part]

    def _lost(self) -> Lost:
        self._ended.set()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(2)
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        reason = f" ({lines[-1].strip()})" if lines else ""
        return Lost(f"the connection to the agent is lost{reason}; {UNDOES}", where=self.where, todo=CONTINUE)


def contents(reply: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files of a reply: texts, or bytes as hexadecimal digits."""
    return {
        path: text.encode() if isinstance(text, str) else bytes.fromhex(text["hex"])
        for path, text in reply["files"].items()
    }


def _outcomes(reply: Mapping[str, Any]) -> list[Outcome]:
    return [Outcome(**outcome) for outcome in reply["outcomes"]]
