"""The controller's side of ``schedload agent``: requests, replies, and the lease."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import threading
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from schedlab.errors import CannotRunHere
from schedlab.targets.ssh.connection import Connection
from schedlab.tunables import deferred_signals
from schedlab.workloads.tools import SCHEDLOAD, find

PROTOCOL = 1
"""Version of the messages (``crates/load/src/agent/protocol.rs``)."""

LEASE = 30.0
"""Seconds without a message after which an agent undoes everything and ends."""

SECONDS = 60.0
"""Limit for the reply to a request that runs no trial."""

ENDING_SECONDS = 60.0
"""Limit for the end of an agent: the trial's last words, and the undo."""

LEASE_VARIABLE = "SCHEDLAB_LEASE"
"""Environment variable with another lease in seconds."""


class Refusal(CannotRunHere):
    """A request that the agent refused; ``kind`` is its word for the reason."""

    def __init__(self, kind: str, text: str, where: str) -> None:
        todo = {
            "changed": "put the value back, then continue the run with --resume",
            "busy": "wait for it: two runs at once would measure each other",
            "journal": "make room on that machine",
        }.get(kind, "")
        super().__init__(text, where=where, todo=todo)
        self.kind = kind


class Lost(CannotRunHere):
    """The end of the connection to an agent, which then undoes everything by itself."""


class Agent:
    """An agent on another machine. One thread may use it; a second thread renews the lease."""

    def __init__(self, connection: Connection, root: Path = Path("/"), program: str | None = None) -> None:
        """Copy schedload to the machine and start the agent; CannotRunHere. ``root``: see ``schedload agent``.

        ``program`` is the path of a copy that is there already.
        """
        self.where = f"ssh:{connection.address}"
        self._connection = connection
        self.folder = connection.install(program)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as the agent
        script = f'exec "{self.folder}/schedload" agent --folder "{self.folder}" --root "{root}"'
        self._process = connection.start(script, self._errors.fileno())
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._buffer = bytearray()
        self._last = 0
        self._sending = threading.Lock()
        self._ended = threading.Event()
        self.facts = self._hello()
        """The agent's description of its machine."""

    def _hello(self) -> Mapping[str, Any]:
        facts = self.ask("hello")
        program = find(SCHEDLOAD)
        if facts["protocol"] != PROTOCOL:
            raise CannotRunHere(
                f"schedload speaks version {facts['protocol']} of the agent's protocol, not {PROTOCOL}",
                todo=SCHEDLOAD.package,
            )
        if program is not None and facts["checksum"] != zlib.crc32(program.read_bytes()):
            todo = "run the command again; the copy is made anew"
            raise CannotRunHere("the copy of schedload there differs from this machine's", where=self.where, todo=todo)
        return facts

    @property
    def alive(self) -> bool:
        """Whether the agent runs, as far as this process has noticed."""
        return not self._ended.is_set() and self._process.poll() is None

    def ask(self, op: str, seconds: float = SECONDS, **fields: object) -> Mapping[str, Any]:
        """Send a request and return the reply. Refusal; Lost when the connection ends or no reply comes in time."""
        self._last += 1
        self._send({"id": self._last, "op": op} | fields)
        deadline = time.monotonic() + seconds
        while True:
            reply = self._reply(deadline)
            if reply.get("id") != self._last:
                continue  # the reply to a request that an exception has interrupted, or a greeting of the login shell
            if (error := reply.get("error")) is not None:
                raise Refusal(error["kind"], error["text"], self.where)
            answer: Mapping[str, Any] = reply["ok"]
            return answer

    def begin(self, run: str) -> Sequence[Mapping[str, Any]]:
        """Lock the machine, undo what dead agents left, and start the lease; return the outcomes."""
        lease = float(os.environ.get(LEASE_VARIABLE) or LEASE)
        outcomes: Sequence[Mapping[str, Any]] = self.ask("begin", run=run, lease=lease)["outcomes"]
        threading.Thread(target=self._beat, args=(lease / 5,), daemon=True).start()
        return outcomes

    def read(self, paths: Sequence[str]) -> tuple[dict[str, bytes], dict[str, int]]:
        """Return the contents of files, and the error numbers of unreadable files. A path may contain ``*``."""
        reply = self.ask("read", paths=list(paths))
        return contents(reply), dict(reply["errors"])

    def end(self) -> Sequence[Mapping[str, Any]]:
        """End the trial, undo everything, and end the agent; return the outcomes. Lost if the agent does not answer."""
        if self._ended.is_set():
            return []
        with deferred_signals():
            try:
                outcomes: Sequence[Mapping[str, Any]] = self.ask("end", seconds=ENDING_SECONDS)["outcomes"]
                return outcomes
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

    def _reply(self, deadline: float) -> Mapping[str, Any]:
        """Return the next line that is a JSON object."""
        while True:
            line, newline, rest = self._buffer.partition(b"\n")
            if newline:
                self._buffer = rest
                with suppress(ValueError):
                    body = json.loads(line)
                    if isinstance(body, dict):
                        return body
                continue
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._output], [], [], left)[0]:
                raise Lost(f"no answer in time; {UNDOES}", where=self.where, todo=CONTINUE)
            data = os.read(self._output, 1 << 20)
            if not data:
                raise self._lost()
            self._buffer += data

    def _lost(self) -> Lost:
        self._ended.set()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(2)
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        reason = f" ({lines[-1].strip()})" if lines else ""
        return Lost(f"the connection to the agent is lost{reason}; {UNDOES}", where=self.where, todo=CONTINUE)


UNDOES = "the agent ends the trial and puts every value back"
CONTINUE = "continue the run with --resume"


def contents(reply: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files of a reply: texts, or bytes as hexadecimal digits."""
    return {
        path: text.encode() if isinstance(text, str) else bytes.fromhex(text["hex"])
        for path, text in reply["files"].items()
    }
