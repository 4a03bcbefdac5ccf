"""Commands under the launcher, ``schedload exec``, which ``schedload agent`` starts.

The launcher applies scheduling attributes, starts servers, times the command alone, and kills every descendant when
the command ends or schedlab dies.
"""

from __future__ import annotations

import errno
import os
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

from schedlab.tunables.journal.client import Client
from schedlab.tunables.journal.local import LocalAgent
from schedlab.tunables.journal.replies import ChangedInTrial, Report, Trial
from schedlab.workloads.base import Command
from schedlab.workloads.tools import SCHEDLOAD, need

GRACE = 15.0
"""Seconds that the launcher gets beyond a command's timeout to kill and reap its descendants."""

PREPARING_SECONDS = 86_400.0
"""Limit of each step before a run: loading the largest database takes hours."""

ENDING_SECONDS = 5.0
"""Limit for the processes of a control group to leave the group."""

LARGEST_OUTPUT = 64 << 20
"""Largest size in bytes of an output stream. A command that prints more is ended, because the output is kept in
memory."""


@dataclass(frozen=True)
class Launched:
    """A finished command. ``report`` is the launcher's account, None when the command could not be started.

    ``argv`` lacks the options ``--parent`` and ``--report``, whose values are numbers of this run.
    """

    argv: tuple[str, ...]
    report: Report | None
    status: int
    stdout: str
    stderr: str
    changed: Sequence[ChangedInTrial] = ()
    """Tunables of the experiment that changed while the command ran."""
    reply: Trial | None = field(default=None, repr=False)
    """The reply of the agent of this machine or of a machine reached by ssh: times, resources of the process ``tree``,
    and the files that the request names."""


def command_words(command: Command, options: Sequence[str], timeout: float) -> list[str]:
    """Return the words after ``schedload exec`` that run a command; ``options`` are further options."""
    words = [*options, f"--timeout={timeout:.3f}s"]
    if command.repeat > 1:
        words.append(f"--repeat={command.repeat}")
    return [*words, *_with_servers(command)]


def load_option(command: Command, options: Sequence[str]) -> str:
    """Return the launcher's option that runs another command as a load, under a launcher with these ``options``."""
    folder = "" if command.cwd is None else f"cd {shlex.quote(str(command.cwd))} && "
    variables = shlex.join(f"{name}={value}" for name, value in command.environment.items())
    return f'--beside={folder}exec env {variables} "$0" exec "$1" {shlex.join([*options, *_with_servers(command)])}'


def _with_servers(command: Command) -> list[str]:
    words: list[str] = []
    for server in command.servers:
        words += ["--server", shlex.join(server.argv), "--ready", server.ready]
    return [*words, "--", *command.argv]


def request(
    command: Command,
    timeout: float,
    folder: str,
    options: Sequence[str] = (),
    files: Sequence[str] = (),
    samples: Sequence[str] = (),
) -> dict[str, object]:
    """Return the fields of an agent's request to run a command (``Trial`` in ``protocol.rs``); see :func:`run_by`."""
    return {
        "argv": command_words(command, options, timeout),
        "environment": dict(command.environment),
        "folder": folder,
        "files": list(files),
        "samples": list(samples),
        "limit": timeout + GRACE,
        "largest_output": LARGEST_OUTPUT,
    }


def run_by(
    agent: Client,
    command: Command,
    timeout: float,
    options: Sequence[str] = (),
    every_second: Callable[[], object] = lambda: None,
    files: Sequence[str] = (),
    samples: Sequence[str] = (),
) -> Launched:
    """Let an agent run a command, and return when all its processes have ended. An exception ends the command.

    Output goes to memory files, so that no process reads output during a trial.

    Args:
        agent: the agent, on this machine or on another machine.
        command: the command, its servers, environment and folder.
        timeout: seconds until the command is killed.
        options: further options of ``schedload exec``.
        every_second: called about once a second while the command runs.
        files: paths or patterns of files to read just before and just after the command.
        samples: paths or patterns of files to read about once a second.
    """
    trial = request(command, timeout, str(command.cwd or agent.folder), options, files, samples)
    reply = agent.run(timeout + 3 * GRACE, every_second, **trial)
    with agent.fitting():
        reply.check(files, samples)
    argv = (agent.program, "exec", *command_words(command, options, timeout))
    return Launched(argv, Report.parse(reply.report), reply.status, reply.stdout, reply.stderr, reply.changed, reply)


def run(
    command: Command,
    timeout: float,
    options: Sequence[str] = (),
    every_second: Callable[[], object] = lambda: None,
    agent: LocalAgent | None = None,
    files: Sequence[str] = (),
) -> Launched:
    """Run a command on this machine; see :func:`run_by`. The command is killed when schedlab ends, even by SIGKILL.

    Without an agent, a new agent runs the command.
    """
    with nullcontext(agent) if agent else closing(LocalAgent()) as here:
        try:
            return run_by(here, command, timeout, options, every_second, files)
        finally:
            for group in reversed(command.groups):
                # The journal names a group that stays: the end of the run removes or reports the group.
                with suppress(OSError):
                    remove_group(group)


def remove_group(path: Path) -> None:
    """Remove a control group, if there is one. OSError while the group contains processes or groups.

    A process leaves its group a moment after its end was reported.
    """
    deadline = time.monotonic() + ENDING_SECONDS
    while True:
        try:
            path.rmdir()
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def error_of(argv: Sequence[str], environment: Mapping[str, str] | None = None, cwd: Path | None = None) -> str:
    """Run a preparing command, which ends with schedlab. Return an empty text on success, otherwise the end of the
    errors.

    Without the launcher, a copy of gigabytes would go on after a kill, in a folder that the next start removes.
    """
    launched = run(Command(tuple(argv), environment=environment or {}, cwd=cwd), PREPARING_SECONDS)
    return "" if launched.status == 0 else launched.stderr.strip()[-300:] or f"status {launched.status}"


@contextmanager
def background(
    argv: Sequence[str],
    report: Path,
    errors: Path,
    descriptors: Sequence[int] = (),
    folder: Path | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command during the block; the launcher kills it when the block or schedlab ends, even by SIGKILL.

    Args:
        argv: the command line.
        report: file for the launcher's report.
        errors: file to which the command's stderr is appended.
        descriptors: open files that the command inherits.
        folder: the command's working folder; by default the folder of this process.
    """
    launcher = [need(SCHEDLOAD), "exec", _parent(), f"--report={report}", "--"]
    with errors.open("ab") as stderr:
        process = subprocess.Popen(
            [*launcher, *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            pass_fds=descriptors,
            cwd=folder,
        )
    try:
        yield process
    finally:
        _end(process)


def _parent() -> str:
    """Return the launcher's option that names this process.

    A launcher with another parent starts nothing: this process was killed before the launcher could watch it.
    """
    return f"--parent={os.getpid()}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the launcher to kill its command. Kill the launcher only when it does not react."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
        return
    process.kill()
    process.wait()
