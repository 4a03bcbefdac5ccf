"""The agent on a machine that is reached by ssh, and the files of this machine for the code that looks for tunables."""

from __future__ import annotations

import errno
import os
import re
import secrets
import select
import time
import zlib
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import ClassVar

from schedlab.errors import CannotRunHere
from schedlab.files import pipes, shipped
from schedlab.targets.ssh.connection import SECONDS, Connection
from schedlab.tunables.journal.client import (
    CONTINUE,
    LARGEST_ERRORS,
    WAIT,
    BadReply,
    Client,
    Lost,
    Refusal,
)
from schedlab.tunables.journal.frames import SHOWN, Garbled
from schedlab.tunables.journal.replies import Outcome
from schedlab.tunables.kernel_files import fixed_part
from schedlab.workloads.tools import SCHEDLOAD, find

__all__ = ["CONTINUE", "Agent", "BadReply", "Lost", "Outcome", "Refusal"]

LEASE = 30.0
"""Default lease in seconds."""

LEASE_VARIABLE = "SCHEDLAB_LEASE"
"""Environment variable with another lease in seconds."""

COPYING = 600.0
"""Limit in seconds for the copy of schedload."""

LARGEST_GREETING = 1 << 20
"""Limit in bytes of what the start files of the login shell print."""

_ELF_MACHINE = {62: "x86_64", 183: "aarch64"}
"""``e_machine`` of an ELF file (elf(5)) as a name of uname(2)."""

START = (
    "umask 077; "
    'for d in "${TMPDIR:-/tmp}" /tmp /var/tmp "$HOME"; do '
    '[ -n "$d" ] && [ -z "$(printf %s "$d" | tr -d A-Za-z0-9_./+@-)" ] || continue; f="$d/schedlab-NONCE"; '
    'mkdir "$f" 2>/dev/null && printf "#\\041/bin/sh\\nexit 0\\n" >"$f/x" && chmod 700 "$f/x" && '
    '"$f/x" 2>/dev/null && rm "$f/x" && break; rm -rf "$f"; f=; done; '
    r'trap "[ -z \"\$f\" ] || rm -rf \"\$f\"" EXIT; trap "exit 1" HUP INT PIPE TERM; '
    'echo "NONCE folder $(uname -sm) $f"; [ -n "$f" ] || exit 9; p="$f/schedload"; '
    'if cp "COPY" "$p" 2>/dev/null; then echo "NONCE copied"; else echo "NONCE send"; head -c SIZE >"$p"; fi; '
    'chmod 700 "$p"; n=$(($(wc -c <"$p"))); echo "NONCE size $n"; [ $n = SIZE ] || exit 9; '
    'exec "$p" agent --folder "$f" --root "ROOT"'
)
"""Makes a private folder whose programs can be executed, puts schedload there, and starts the agent.

Parents whose path has other than plain characters are left out: the path is a word of the reply and of commands.
The folder is removed if the connection ends before the agent begins; from then on the agent removes its folder.
"""


class Agent(Client):
    """An agent on another machine, which locks that machine for its run."""

    todo: ClassVar = {
        "changed": "put the value back, then continue the run with --resume",
        "busy": WAIT,
        "lock": "remove it",
        "journal": "make room on that machine",
    }
    alone = True
    name = "the machine"
    ending = 2.0

    def __init__(self, connection: Connection, root: Path = Path("/"), program: str | None = None) -> None:
        """Copy schedload to the machine and start the agent; CannotRunHere. ``root``: see ``schedload agent``.

        ``program`` is the path of a copy that is there already.
        """
        here = find(SCHEDLOAD)
        if here is None:
            raise CannotRunHere("schedload is missing", todo=shipped.repair())
        data, self._nonce = here.read_bytes(), secrets.token_hex(8)
        words = {"NONCE": self._nonce, "SIZE": str(len(data)), "COPY": program or "/dev/null/none", "ROOT": str(root)}
        process = connection.start(re.sub("|".join(words), lambda match: words[match[0]], START))
        assert process.stderr is not None
        errors = pipes.Tail(process.stderr, LARGEST_ERRORS)
        super().__init__(process, lambda: errors.bytes(1.0), "", "", f"ssh:{connection.address}")
        self._connection = connection
        try:
            self._install(data)
            if self.facts.checksum != zlib.crc32(data):
                todo = "run the command again; the copy is made anew"
                raise CannotRunHere(
                    "the copy of schedload there differs from this machine's", where=self.where, todo=todo
                )
        except BaseException:
            self.close()
            raise

    def _install(self, data: bytes) -> None:
        """Send schedload to the folder that the machine has made for it."""
        system, _, self.folder = self._step("folder", SECONDS).rpartition(" ")
        name, _, machine = system.partition(" ")
        ours = _ELF_MACHINE.get(int.from_bytes(data[18:20], "little"), "an unknown architecture")
        if (name, machine) != ("Linux", ours):
            raise CannotRunHere(
                f"the machine is {system[:SHOWN]}, this schedload is for Linux {ours}",
                where=self.where,
                todo="let SCHEDLOAD name a static schedload for that machine (cargo build --target …-linux-musl)",
            )
        if not self.folder:
            todo = "free space there, or let TMPDIR there name a folder whose programs can be executed"
            raise CannotRunHere("the machine has no folder for schedload", where=self.where, todo=todo)
        if not re.fullmatch(rf"/[\w./+@-]{{0,300}}/schedlab-{self._nonce}", self.folder):
            raise self._bad(Garbled(f"{self.folder[:SHOWN]!r}, which is not the folder for schedload"))
        self.program = f"{self.folder}/schedload"
        if self._step("copied|send", SECONDS) == "send":
            self._write(data, time.monotonic() + COPYING)
        if (size := self._step("size", COPYING)) != str(len(data)):
            reason = f"schedload could not be copied: {size[:SHOWN] or 0} of {len(data)} bytes arrived"
            raise CannotRunHere(reason, where=self.where, todo="free space on the machine")

    def _step(self, names: str, seconds: float) -> str:
        """Return the words of the script's next line, or its name for a line without words.

        The start files of the login shell may print other lines before.
        """
        deadline, greeting = time.monotonic() + seconds, 0
        while True:
            try:
                line = self._line(deadline, LARGEST_GREETING).decode(errors="replace")
            except BadReply:
                raise
            except Lost as error:
                if (status := self._process.poll()) is None:
                    raise
                raise self._connection.failure(status, self._errors().decode(errors="replace")) from error
            if match := re.fullmatch(rf"{self._nonce} ({names})(?: (.*))?", line):
                return match[1] if match[2] is None else match[2]
            greeting += len(line)
            if greeting > LARGEST_GREETING:
                raise self._bad(Garbled(f"{line[:SHOWN]!r}, which is not schedload"))

    def _write(self, data: bytes, deadline: float) -> None:
        """Send the program; a machine that takes no more of it has an answer, or is lost."""
        rest = memoryview(data)
        os.set_blocking(self._input, False)
        try:
            while rest:
                left = max(deadline - time.monotonic(), 0.0)
                readable, writable, _ = select.select([self._output], [self._input], [], left)
                if readable or not writable:
                    return
                rest = rest[os.write(self._input, rest) :]
        except BrokenPipeError:
            return
        finally:
            os.set_blocking(self._input, True)

    @property
    def lease(self) -> float:  # type: ignore[override]
        """Seconds without a message after which the agent undoes everything and ends."""
        return float(os.environ.get(LEASE_VARIABLE) or LEASE)


class RemoteFiles:
    """Files that an agent reads."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def read(self, path: Path) -> str:
        return self.read_bytes(path).decode(errors="replace")

    def read_bytes(self, path: Path) -> bytes:
        files, errors = self._agent.read([str(path)])
        _raise(errors)
        return files[str(path)]

    def check_writable(self, path: Path) -> None:
        _raise(self._agent.unwritable([str(path)]))

    def matches(self, folder: Path, pattern: str) -> Iterable[Path]:
        # Reading a folder fails with EISDIR; any other error says why the folder cannot be opened.
        fixed = str(folder / fixed_part(pattern))
        _, errors = self._agent.read([fixed])
        if errors.get(fixed) != errno.EISDIR:
            _raise(errors)
        files, unreadable = self._agent.read([str(folder / pattern)])
        return map(Path, (*files, *unreadable))

    def has_debugfs(self, place: Path) -> bool:
        # The folder is empty unless debugfs is mounted there.
        return any(self._agent.read([str(place / "sched*")]))

    def debugfs(self) -> AbstractContextManager[object]:
        # The mount ends with the agent, which has a separate mount namespace.
        try:
            self._agent.mount_debugfs()
        except Refusal as error:
            raise OSError(errno.EPERM, error.what) from error
        return nullcontext()


def _raise(errors: Mapping[str, int]) -> None:
    for path, number in errors.items():
        raise OSError(number, os.strerror(number), path)
