"""A connection to another machine by the user's own OpenSSH client: one TCP connection for all commands."""

from __future__ import annotations

import os
import re
import select
import shlex
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import CannotRunHere, SchedlabError
from schedlab.files import pipes, scratch
from schedlab.targets.boots.shell import Done, Shell, Unreachable

CONFIG = "SCHEDLAB_SSH_CONFIG"
"""Environment variable with the path of an ssh_config(5) file in place of the user's."""

SECONDS = 60.0
"""Limit of a short command on the remote machine."""

_OPTIONS = {
    # No prompt can appear: nobody answers during a run.
    "BatchMode": "yes", "RequestTTY": "no", "ForwardAgent": "no", "ForwardX11": "no", "PermitLocalCommand": "no",
    "ControlPersist": "no", "ConnectTimeout": "60",
    "ServerAliveInterval": "10", "ServerAliveCountMax": "3", "LogLevel": "ERROR",
}  # fmt: skip

SSH_FAILED = 255
"""Exit status of ssh(1) when it has no connection; remote commands seldom have it."""

_SHARED = "echo; exec cat >/dev/null"
"""Command of the ssh that opens the TCP connection: it says when others can share the connection, and ends when the
pipe from this process ends, however this process ends."""

LARGEST_OUTPUT = 16 << 20
"""Limit in bytes of the output of a short command."""


class BadAddress(SchedlabError):
    """A text that is not ``[user@]host[:port]``."""


@dataclass(frozen=True)
class Address:
    """A machine: host, and optionally user and port. Without them OpenSSH's configuration decides."""

    host: str
    user: str | None = None
    port: int | None = None

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parse ``[user@]host[:port]``; an IPv6 address with a port has brackets. BadAddress for any other text."""
        match = re.fullmatch(
            r"(?:(?P<user>[^@\s:-][^@\s:]*)@)?(?:\[(?P<six>[0-9A-Fa-f:.%\w]+)\]|(?P<host>[^@\s:\[\]/,-][^@\s:\[\]/,]*))(?::(?P<port>\d{1,5}))?",
            text,
        )
        port = int(match["port"]) if match and match["port"] else None
        if "," in text:
            todo = f"name one of the machines: ssh:{text.partition(',')[0]}"
            raise BadAddress(f"{text!r} names several machines", where="ssh:", todo=todo)
        if match is None or (port is not None and not 0 < port < 65536):
            raise BadAddress(f"{text!r} names no machine", where="ssh:", todo="write ssh:[user@]host[:port]")
        return cls(match["host"] or match["six"], match["user"], port)

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{user}{host}" + (f":{self.port}" if self.port else "")


CLOSING = 10.0
"""Limit in seconds for the end of a connection."""


class Connection(Shell):
    """Commands on the machine at ``address``. All commands share a TCP connection, which the first command opens.

    The connection ends with this process, even if this process is killed.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._resources = ExitStack()
        # A socket's path has at most 108 bytes (unix(7)), so the folder is not below a long TMPDIR.
        self._folder = self._resources.enter_context(scratch.locked_folder("schedlab-connection-", Path("/tmp")))
        self._master: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """End the TCP connection."""
        self.drop()
        self._resources.close()

    def drop(self) -> None:
        """End the TCP connection; the next command opens another."""
        master, self._master = self._master, None
        if master is None:
            return
        for pipe in (master.stdin, master.stdout):
            assert pipe is not None
            pipe.close()
        master.terminate()
        try:
            master.wait(CLOSING)
        except subprocess.TimeoutExpired:
            master.kill()
            master.wait()

    def run(self, script: str, data: bytes = b"", timeout: float = SECONDS) -> Done:
        """Run a POSIX shell script there with this input. Unreachable without a connection or after the timeout;
        CannotRunHere for endless output."""
        began = time.monotonic()
        try:
            self._open(timeout)
            left = max(timeout - (time.monotonic() - began), 0.0)
            status, *texts = pipes.output(self._argv(script), data, left, LARGEST_OUTPUT)
        except subprocess.TimeoutExpired as error:
            raise self._silent(timeout) from error
        except pipes.TooMuch as error:
            what = f"the machine answered a short command with more than {LARGEST_OUTPUT >> 20} MiB"
            todo = f"look at what this command prints there: {script[:60]}"
            raise CannotRunHere(what, where=f"ssh:{self.address}", todo=todo) from error
        output, errors = (text.decode(errors="replace") for text in texts)
        if status == SSH_FAILED:
            raise self.failure(status, errors)
        return Done(status, output, errors)

    def start(self, script: str, timeout: float = SECONDS) -> subprocess.Popen[bytes]:
        """Start a script with pipes as input, output and standard error.

        The process has its own session: Ctrl-C at the terminal reaches schedlab alone, which ends the agent in order.
        """
        try:
            self._open(timeout)
        except subprocess.TimeoutExpired as error:
            raise self._silent(timeout) from error
        return _started(self._argv(script), subprocess.PIPE)

    def _open(self, timeout: float) -> None:
        """Open the TCP connection unless it is open. Where that fails, the next command fails with the reason.

        subprocess.TimeoutExpired after the timeout.
        """
        if self._master is not None:
            if self._master.poll() is None:
                return
            self.drop()
        argv = self._argv(_SHARED, master=True)
        self._master = master = _started(argv, subprocess.DEVNULL)
        assert master.stdout is not None
        if not select.select([master.stdout], [], [], timeout)[0]:
            self.drop()
            raise subprocess.TimeoutExpired(argv, timeout)

    def _silent(self, timeout: float) -> Unreachable:
        todo = "check that the machine runs and its network works"
        return Unreachable(f"no answer in {timeout:.0f} s", where=f"ssh:{self.address}", todo=todo)

    def failure(self, status: int, stderr: str) -> CannotRunHere:
        """Return the error for a command that ended with this status; Unreachable for OpenSSH's own failure."""
        lines = [line for line in stderr.strip().splitlines() if line.strip()]
        reason = lines[-1].strip() if lines else f"status {status}"
        if status == SSH_FAILED:
            command = shlex.join([*self._words(), self.address.host, "true"])
            todo = f"check that '{command}' works without a prompt"
            return Unreachable(f"the connection failed: {reason}", where=f"ssh:{self.address}", todo=todo)
        todo = "log in there as the same user, and check its rights and the free space"
        return CannotRunHere(f"a command failed there: {reason}", where=f"ssh:{self.address}", todo=todo)

    def _argv(self, script: str, *, master: bool = False) -> list[str]:
        # The login shell may be any shell. Each shell reads a single-quoted word; a script with a quote or a line
        # break, as for boots, needs a login shell with the quoting of POSIX.
        sharing = {"ControlMaster": "yes" if master else "no", "ControlPath": str(self._folder / "c")}
        options = (word for name, value in (_OPTIONS | sharing).items() for word in ("-o", f"{name}={value}"))
        return [*self._words(), *options, "-T", self.address.host, f"exec sh -c {shlex.quote(script)}"]

    def _words(self) -> list[str]:
        words = ["ssh"]
        if config := os.environ.get(CONFIG):
            words += ["-F", config]
        if self.address.port:
            words += ["-p", str(self.address.port)]
        if self.address.user:
            words += ["-l", self.address.user]
        return words


def _started(argv: Sequence[str], errors: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
        )
    except FileNotFoundError as error:
        raise CannotRunHere("there is no program 'ssh' here", todo="apt-get install openssh-client") from error
