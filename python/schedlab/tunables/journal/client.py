"""The controller's side of ``schedload agent``: requests, replies, and the lease.

The agent (``crates/load/src/agent``) keeps the journal on the machine that it changes: this machine, or a machine
reached by ssh.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import ClassVar, TypeVar

from schedlab.errors import CannotRunHere
from schedlab.tunables.journal.frames import LARGEST, Body, Declined, Garbled, Reply, too_large
from schedlab.tunables.journal.replies import (
    Described,
    Errors,
    Facts,
    Files,
    Found,
    Holder,
    Journals,
    MadeGroups,
    Nothing,
    Outcome,
    Outcomes,
    Put,
    Trial,
    Undo,
)
from schedlab.tunables.signals import deferred_signals

T = TypeVar("T", bound=Body)
L = TypeVar("L", bound="Lost")

SECONDS = 60.0
"""Limit for the reply to a request that runs no trial."""

ENDING_SECONDS = 60.0
"""Limit for the end of an agent: the trial's last words, and the undo."""

SILENT_SECONDS = 1.0
"""Limit for the end of an agent that did not answer, because it is stopped or hangs."""

LARGEST_SHORT = 64 << 20
"""Limit in bytes of a reply without the output of a command; the files of the largest machines take a few megabytes."""

LARGEST_ERRORS = 64 << 10
"""Bytes at the end of the agent's standard error that are read for its last line."""

LONGEST_HOOK = 600.0
"""Longest time limit of a hook's command in seconds. The next command of schedlab waits for the undo of a killed
run."""

RECOVERING_SECONDS = SECONDS + 2 * LONGEST_HOOK
"""Limit for the undo of the changes of dead agents, which may include the hooks of a run and of its variant."""

UNDOES = "the agent, or the next run on its machine, puts every value back"
CONTINUE = "continue the run with --resume"
WAIT = "wait for it: two runs at once would measure each other"


class Refusal(CannotRunHere):
    """A request that the agent refused; ``kind`` is the agent's word for the reason (``Kind`` in ``protocol.rs``)."""

    def __init__(self, kind: str, text: str, *, where: str = "", todo: str = "") -> None:
        super().__init__(text, where=where, todo=todo)
        self.kind = kind


class Lost(CannotRunHere):
    """The end of the connection to an agent, which then undoes everything by itself."""


class BadReply(Lost):
    """A reply that is not a reply to the request. The connection to the agent ends."""


class Client:
    """Requests to an agent. One thread may use the client; a second thread renews the lease."""

    todo: ClassVar[Mapping[str, str]] = {}
    """The remedy for each kind of refusal."""

    alone = False
    """Whether a run locks the machine, and undoes the changes of dead agents."""

    lease = 0.0
    """Seconds without a message after which the agent undoes everything and ends; 0 for no lease."""

    ending = ENDING_SECONDS
    """Seconds that an agent has to end after a fault of the connection."""

    name = "schedload"
    """The agent, as the subject of a message."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        errors: Callable[[], bytes],
        program: str,
        folder: str,
        where: str = "",
    ) -> None:
        """Speak to the agent over a process's pipes.

        Args:
            process: the agent, or ssh.
            errors: returns the end of its standard error.
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
        self._size = 0
        self._lines: deque[bytes] = deque()
        self._last = 0
        self._allowed = 0
        self._fault: Lost | None = None
        self._is_silent = False
        self._hooks: dict[tuple[str, str], Undo] = {}
        self._sending = threading.Lock()
        self._ended = threading.Event()

    @property
    def alive(self) -> bool:
        """Whether the agent runs, as far as this process has noticed."""
        return not self._ended.is_set() and self._process.poll() is None

    @cached_property
    def facts(self) -> Facts:
        """The agent's description of its machine."""
        return self._ask("hello", Facts)

    def check(self) -> None:
        """Raise Lost if the agent has ended."""
        if not self.alive:
            raise self._lost()

    def _ask(
        self,
        op: str,
        kind: type[T],
        seconds: float = SECONDS,
        every_second: Callable[[], object] | None = None,
        largest: int = LARGEST_SHORT,
        **fields: object,
    ) -> T:
        """Send a request and return the content of the reply, which has this kind and at most ``largest`` bytes.

        ``every_second`` is called about once a second during the wait. Refusal when the agent refuses the request,
        BadReply for any other content; Lost when the connection ends or no reply comes in time.
        """
        self._last += 1
        # The reply to an interrupted request may precede the reply to this request.
        self._allowed = max(self._allowed, largest)
        self._send({"id": self._last, "op": op} | fields)
        deadline = time.monotonic() + seconds
        while True:
            line = self._line(deadline, self._allowed, every_second)
            try:
                if (reply := Reply.of(line)).number < self._last:
                    continue  # the reply to a request that an exception has interrupted
                if reply.number > self._last:
                    raise Garbled(f"request {reply.number}, which was not sent")
                self._allowed = 0
                return reply.content(kind)
            except Declined as refusal:
                todo = self.todo.get(refusal.kind, "")
                raise Refusal(refusal.kind, refusal.text, where=self.where, todo=todo) from None
            except Garbled as error:
                raise self._bad(error) from None

    def _bad(self, error: Garbled) -> BadReply:
        """Return the error for a reply that does not fit its request; the connection ends."""
        todo = "look at what answers there in place of schedload, such as a start file of the login shell"
        return self._failed(BadReply(f"{self.name} answered {error}; {UNDOES}", where=self.where, todo=todo))

    def _failed(self, error: L) -> L:
        """Note the error that ends the connection, and return the error."""
        self._ended.set()
        self._fault = self._fault or error
        return error

    def run(self, seconds: float, every_second: Callable[[], object], **trial: object) -> Trial:
        """Run a trial and return the reply (``Trial`` in ``protocol.rs``). An exception ends the trial first."""
        try:
            return self._ask("run", Trial, seconds, every_second, LARGEST, **trial)
        except (Lost, Refusal):
            raise
        except BaseException:
            with deferred_signals(), suppress(Lost):
                self._ask("cancel", Nothing, ENDING_SECONDS)
            raise

    def output(self, argv: Sequence[str]) -> str:
        """Return what a short command prints on standard output, however the command ends."""
        words = [f"--timeout={SECONDS:.0f}s", "--", *argv]
        return self.run(2 * SECONDS, lambda: None, argv=words, limit=2 * SECONDS, largest_output=1 << 20).stdout.strip()

    def answers(self) -> bool:
        """Return whether the agent still answers. The connection to a silent agent ends."""
        if self.alive:
            with suppress(Lost):
                self._ask("holder", Holder, ENDING_SECONDS)
                return True
        return False

    def begin(self, run: str) -> list[Outcome]:
        """Begin a run and start the lease; return the outcomes for the changes of dead agents, if ``alone``."""
        lease = self.lease
        seconds = RECOVERING_SECONDS if self.alone else SECONDS
        outcomes = self._ask("begin", Outcomes, seconds, run=run, lease=lease, alone=self.alone).outcomes
        if lease:
            threading.Thread(target=self._beat, args=(lease / 5,), daemon=True).start()
        return outcomes

    def holder(self) -> str | None:
        """Return who has locked the machine (``process 17 of user root``), and None when the machine is free.

        Refusal when the machine cannot be locked. Changes nothing.
        """
        return self._ask("holder", Holder).holder

    def recover(self) -> list[Outcome]:
        """Undo the changes of dead agents; return the outcomes."""
        return self._ask("recover", Outcomes, RECOVERING_SECONDS).outcomes

    def read(self, paths: Sequence[str]) -> tuple[dict[str, bytes], dict[str, int]]:
        """Return the contents of files, and the error numbers of unreadable files. A path may contain ``*``."""
        reply = self.files(paths)
        return reply.files, reply.errors

    def files(self, paths: Sequence[str]) -> Files:
        """Return the reply to the request to read files."""
        reply = self._ask("read", Files, paths=list(paths))
        with self.fitting():
            reply.check(paths)
        return reply

    @contextmanager
    def fitting(self) -> Iterator[None]:
        """In the block, a reply that does not fit its request ends the connection: BadReply."""
        try:
            yield
        except Garbled as error:
            raise self._bad(error) from None

    def unwritable(self, paths: Sequence[str]) -> dict[str, int]:
        """Return the number of the error for each file that cannot be opened for writing."""
        return self._ask("writable", Errors, paths=list(paths)).errors

    def find(self, programs: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """Return the paths of the programs that the machine has; ``programs`` are patterns of their paths by name."""
        return self._ask("find", Found, programs=dict(programs)).paths

    def mount_debugfs(self) -> None:
        """Let the agent see debugfs; Refusal."""
        self._ask("debugfs", Nothing)

    def journals(self) -> list[Described]:
        """Return a description of each journal. Changes nothing."""
        return self._ask("journals", Journals).journals

    def watch(self, files: Sequence[Mapping[str, object]]) -> None:
        """Watch all files that the run will change, with their original values (``Original`` in ``protocol.rs``)."""
        self._ask("watch", Nothing, files=list(files))

    def rehearse(self, files: Sequence[Mapping[str, object]]) -> None:
        """Write the original values of files; Refusal if a file does not take its value."""
        self._ask("rehearse", Nothing, files=list(files))

    def put(self, wanted: Sequence[Mapping[str, object]]) -> Put:
        """Give files their new values, and the other files of the run their original values; Refusal."""
        return self._ask("put", Put, wanted=list(wanted))

    def groups(self, names: Sequence[str], controllers: Sequence[str], *, make: bool) -> MadeGroups:
        """Return the directories of control groups, and make them if wanted; Refusal."""
        return self._ask("groups", MadeGroups, names=list(names), controllers=list(controllers), make=make)

    def made(self, what: str, name: str, undo: Undo | None = None) -> None:
        """Record that the run is about to make a resource, or to apply a hook; Refusal."""
        self._ask("made", Nothing, what=what, name=name, undo=undo and undo.model_dump())
        if undo:
            self._hooks[what, name] = undo

    def gone(self, what: str, name: str) -> None:
        """Record that the run has removed a resource, or has undone a hook."""
        undo = self._hooks.pop((what, name), None)
        self._ask("gone", Nothing, what=what, name=name, undo=undo and undo.model_dump())

    @property
    def undo_seconds(self) -> float:
        """Limit for the undo of the hooks that are in place."""
        return sum(undo.limit_ms / 1000 for undo in self._hooks.values())

    def end(self) -> list[Outcome]:
        """End the trial, undo everything, and end the agent; return the outcomes.

        Lost if the agent does not answer, or did not answer an earlier request: what was undone is then not known.
        """
        if self._fault is not None:
            raise self._fault
        if self._ended.is_set():
            return []
        with deferred_signals():
            try:
                return self._ask("end", Outcomes, ENDING_SECONDS + self.undo_seconds).outcomes
            finally:
                self.close()

    def close(self) -> None:
        """Close the connection to the agent, which then ends by itself. An agent that does not end is killed."""
        self._ended.set()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        seconds = self.undo_seconds + (ENDING_SECONDS if self._fault is None else self.ending)
        try:
            self._process.wait(SILENT_SECONDS if self._is_silent else seconds)
        except subprocess.TimeoutExpired:
            # The process is not reaped, so that no other process has its number or leads a group of this number.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
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

    def _line(self, deadline: float, largest: int, every_second: Callable[[], object] | None = None) -> bytes:
        """Return the next line of at most ``largest`` bytes; BadReply for a longer line, Lost after the deadline."""
        while not self._lines:
            left = deadline - time.monotonic()
            wait = left if every_second is None else min(left, 1.0)
            if left > 0 and select.select([self._output], [], [], wait)[0]:
                self._receive(largest)
            elif left <= 0:
                self._is_silent = True
                raise self._failed(Lost(f"no answer in time; {UNDOES}", where=self.where, todo=CONTINUE))
            elif every_second is not None:
                every_second()
        return self._lines.popleft()

    def _receive(self, largest: int) -> None:
        """Read available output. A line may have many megabytes, so each byte is copied once."""
        data = os.read(self._output, 1 << 20)
        if not data:
            raise self._lost()
        first, *rest = data.split(b"\n")
        self._parts.append(first)
        self._size += len(first)
        if self._size > largest:
            raise self._bad(too_large(largest))
        for part in rest:
            self._lines.append(b"".join(self._parts))
            self._parts, self._size = [part], len(part)

    def _lost(self) -> Lost:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(2)
        lines = self._errors()[-LARGEST_ERRORS:].decode(errors="replace").strip().splitlines()
        reason = f" ({lines[-1].strip()})" if lines else ""
        text = f"the connection to the agent is lost{reason}; {UNDOES}"
        return self._failed(Lost(text, where=self.where, todo=CONTINUE))
