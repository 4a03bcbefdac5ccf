"""Commands on a remote machine through the user's OpenSSH client, over one connection."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from schedlab.errors import SchedlabError

SSH_FAILED = 255
"""Exit status of ssh(1) when it has no connection; remote commands seldom have it."""

ALIVE = 10
"""A third of the seconds after which a silent connection ends, and the seconds in which a connection is closed."""


class Unreachable(SchedlabError):
    """A machine without a connection."""


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    status: int
    output: str
    errors: str


class Shell(Protocol):
    """A POSIX shell on the machine, as root."""

    def run(self, script: str, data: bytes = b"", timeout: float = 60.0) -> Done:
        """Run a script with ``data`` as its standard input; Unreachable without a connection or after the timeout."""

    def drop(self) -> None:
        """End the connection: the machine restarts."""


class OpenSsh(Shell):
    """A connection that stays open between commands.

    Args:
        destination: ``[user@]host[:port]`` or a name of the user's configuration.
        sockets: private folder for the connection's socket.
        config: OpenSSH's configuration file, None for the user's.
    """

    def __init__(self, destination: str, sockets: Path, config: Path | None = None) -> None:
        self.destination = destination
        host, colon, port = destination.rpartition(":")
        self._host = host if colon else destination
        self._options = [
            *(["-F", str(config)] if config else []),
            *(["-p", port] if colon else []),
            *("-o", "BatchMode=yes", "-o", f"ServerAliveInterval={ALIVE}", "-o", "ServerAliveCountMax=3"),
            *("-o", "ControlMaster=auto", "-o", f"ControlPath={sockets}/%C", "-o", "ControlPersist=60"),
        ]

    def run(self, script: str, data: bytes = b"", timeout: float = 60.0) -> Done:
        """See :class:`Shell`."""
        connect = f"ConnectTimeout={round(timeout)}"
        argv = ["ssh", *self._options, "-o", connect, self._host, f"exec sh -c {shlex.quote(script)}"]
        try:
            done = subprocess.run(argv, input=data, capture_output=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired as error:
            raise Unreachable(f"no answer within {timeout:g} s", where=self.destination) from error
        output, errors = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        if done.returncode == SSH_FAILED:
            words = errors.strip().splitlines()
            raise Unreachable(
                f"ssh has no connection: {words[-1] if words else 'no reason given'}",
                where=self.destination,
                todo="try 'ssh' with the same name; it must log in as root without a question",
            )
        return Done(done.returncode, output, errors)

    def drop(self) -> None:
        """See :class:`Shell`."""
        argv = ["ssh", *self._options, "-O", "exit", self._host]
        subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=ALIVE, check=False)
