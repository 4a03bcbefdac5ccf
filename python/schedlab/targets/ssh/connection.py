"""A connection to another machine by the user's own OpenSSH client: one TCP connection for all commands."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from schedlab.errors import CannotRunHere, SchedlabError
from schedlab.files import scratch, shipped
from schedlab.targets.boots.shell import Done, Shell, Unreachable
from schedlab.workloads.tools import SCHEDLOAD, find

CONFIG = "SCHEDLAB_SSH_CONFIG"
"""Environment variable with the path of an ssh_config(5) file in place of the user's."""

SECONDS = 60.0
"""Limit of a short command on the remote machine."""

_OPTIONS = {
    # No prompt can appear: nobody answers during a run.
    "BatchMode": "yes", "RequestTTY": "no", "ForwardAgent": "no", "ForwardX11": "no", "PermitLocalCommand": "no",
    "ControlMaster": "auto", "ControlPersist": "60", "ConnectTimeout": "60",
    "ServerAliveInterval": "10", "ServerAliveCountMax": "3", "LogLevel": "ERROR",
}  # fmt: skip

SSH_FAILED = 255
"""Exit status of ssh(1) when it has no connection; remote commands seldom have it."""

_ELF_MACHINE = {62: "x86_64", 183: "aarch64"}
"""``e_machine`` of an ELF file (elf(5)) as a name of uname(2)."""

_PREPARE = (
    "umask 077; uname -sm; "
    'for d in "${TMPDIR:-/tmp}" /tmp /var/tmp "$HOME"; do f="$d/schedlab-NONCE"; '
    'mkdir "$f" 2>/dev/null && printf "#\\041/bin/sh\\nexit 0\\n" >"$f/x" && chmod 700 "$f/x" && '
    '"$f/x" 2>/dev/null && rm "$f/x" && echo "$f" && exit 0; rm -rf "$f"; done; exit 9'
)
"""Makes a private folder whose programs can be executed, and prints the machine and the folder."""


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
    """Commands on the machine at ``address``. All commands share a TCP connection, which the first command opens."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._resources = ExitStack()
        # A socket's path has at most 108 bytes (unix(7)), so the folder is not below a long TMPDIR.
        self._folder = self._resources.enter_context(scratch.locked_folder("schedlab-connection-", Path("/tmp")))

    def close(self) -> None:
        """End the TCP connection."""
        if self._folder.exists():
            self.drop()
        self._resources.close()

    def drop(self) -> None:
        """End the TCP connection; the next command opens another."""
        argv = [*self._words(), "-O", "exit", self.address.host]
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=CLOSING, check=False)

    def shell(self, script: str, data: bytes = b"", seconds: float = SECONDS) -> str:
        """Run a POSIX shell script there with this input; return its output. CannotRunHere when it fails."""
        done = self.run(script, data, seconds)
        if done.status != 0:
            raise self.failure(done.status, done.errors)
        return done.output

    def run(self, script: str, data: bytes = b"", timeout: float = SECONDS) -> Done:
        """Run a POSIX shell script there with this input. Unreachable without a connection or after the timeout."""
        try:
            done = subprocess.run(
                self._argv(script),
                input=data,
                capture_output=True,
                timeout=timeout,
                start_new_session=True,
                check=False,
            )
        except FileNotFoundError as error:
            raise CannotRunHere("there is no program 'ssh' here", todo="apt-get install openssh-client") from error
        except subprocess.TimeoutExpired as error:
            todo = "check that the machine runs and its network works"
            raise Unreachable(f"no answer in {timeout:.0f} s", where=f"ssh:{self.address}", todo=todo) from error
        output, errors = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        if done.returncode == SSH_FAILED:
            raise self.failure(done.returncode, errors)
        return Done(done.returncode, output, errors)

    def start(self, script: str, errors: int) -> subprocess.Popen[bytes]:
        """Start a script with pipes as input and output; ``errors`` is a file descriptor for standard error.

        The process has its own session: Ctrl-C at the terminal reaches schedlab alone, which ends the agent in order.
        """
        return subprocess.Popen(
            self._argv(script),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )

    def failure(self, status: int, stderr: str) -> CannotRunHere:
        """Return the error for a command that ended with this status; Unreachable for OpenSSH's own failure."""
        lines = [line for line in stderr.strip().splitlines() if line.strip()]
        reason = lines[-1].strip() if lines else f"status {status}"
        if status == SSH_FAILED:
            command = shlex.join([*self._words(user_only=True), self.address.host, "true"])
            todo = f"check that '{command}' works without a prompt"
            return Unreachable(f"the connection failed: {reason}", where=f"ssh:{self.address}", todo=todo)
        todo = "log in there as the same user, and check its rights and the free space"
        return CannotRunHere(f"a command failed there: {reason}", where=f"ssh:{self.address}", todo=todo)

    def _argv(self, script: str) -> list[str]:
        # The login shell may be any shell. Each shell reads a single-quoted word; a script with a quote or a line
        # break, as for boots, needs a login shell with the quoting of POSIX.
        return [*self._words(), "-T", self.address.host, f"exec sh -c {shlex.quote(script)}"]

    def _words(self, *, user_only: bool = False) -> list[str]:
        words = ["ssh"]
        if config := os.environ.get(CONFIG):
            words += ["-F", config]
        if self.address.port:
            words += ["-p", str(self.address.port)]
        if self.address.user:
            words += ["-l", self.address.user]
        if user_only:
            return words
        options = _OPTIONS | {"ControlPath": str(self._folder / "c")}
        return [*words, *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]

    def install(self, copy: str | None = None) -> str:
        """Copy schedload to a private folder of the machine, and return the folder. CannotRunHere.

        ``copy`` is the path of a schedload there, from an earlier command. The agent deletes the folder at its end, and
        compares its program with the program here.
        """
        program = find(SCHEDLOAD)
        if program is None:
            raise CannotRunHere("schedload is missing", todo=shipped.repair())
        *_, system, folder = self._prepared()
        name, _, machine = system.partition(" ")
        data = program.read_bytes()
        ours = _ELF_MACHINE.get(int.from_bytes(data[18:20], "little"), "an unknown architecture")
        try:
            if (name, machine) != ("Linux", ours):
                raise CannotRunHere(
                    f"the machine is {system}, this schedload is for Linux {ours}",
                    where=f"ssh:{self.address}",
                    todo="let SCHEDLOAD name a static schedload for that machine (cargo build --target …-linux-musl)",
                )
            if copy is None or self.run(f'cp "{copy}" "{folder}/schedload"').status != 0:
                self._copy(data, f"{folder}/schedload")
        except BaseException:
            with suppress(CannotRunHere):
                self.shell(f'rm -rf "{folder}"')
            raise
        return folder

    def _copy(self, data: bytes, path: str) -> None:
        script = f'cat >"{path}" && chmod 700 "{path}" && wc -c <"{path}"'
        if (size := self.shell(script, data, seconds=600).strip()) != str(len(data)):
            reason = f"schedload could not be copied: {size or 0} of {len(data)} bytes arrived"
            raise CannotRunHere(reason, where=f"ssh:{self.address}", todo="free space on the machine")

    def _prepared(self) -> Sequence[str]:
        output = self.shell(_PREPARE.replace("NONCE", secrets.token_hex(8)))
        lines = output.splitlines()
        if len(lines) < 2 or not re.fullmatch(r"/[\w./+@-]*", lines[-1]):
            todo = "let the start files of the login shell print nothing without a terminal"
            raise CannotRunHere(
                "the remote shell printed something else than a folder", where=f"ssh:{self.address}", todo=todo
            )
        return lines
