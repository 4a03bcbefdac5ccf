"""The interface of a root shell on a remote machine; :class:`schedlab.targets.ssh.connection.Connection` has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from schedlab.errors import CannotRunHere


class Unreachable(CannotRunHere):
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
