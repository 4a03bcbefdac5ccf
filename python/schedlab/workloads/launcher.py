"""Commands under the launcher, ``schedload exec``.

The launcher applies scheduling attributes, starts servers, times the command alone, and kills every descendant when
the command ends or schedlab dies.
"""

from __future__ import annotations

import errno
import json
import os
import select
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

    ``argv`` lacks the option ``--parent``, whose value is the number of a process of this run.
    """

    argv: tuple[str, ...]
    report: Mapping[str, Any] | None
    status: int
    stdout: str
    stderr: str


def command_line(launcher: str, command: Command, options: Sequence[str], timeout: float, report: str) -> list[str]:
    """Return the launcher's command line; ``report`` is a file descriptor's number or a path."""
    words = [launcher, "exec", *options, f"--timeout={timeout:.3f}s", f"--report={report}"]
    if command.repeat > 1:
        words.append(f"--repeat={command.repeat}")
    for server in command.servers:
        words += ["--server", shlex.join(server.argv), "--ready", server.ready]
    return [*words, "--", *command.argv]


def run(
    command: Command,
    timeout: float,
    options: Sequence[str] = (),
    every_second: Callable[[], object] = lambda: None,
) -> Launched:
    """Run a command and return when all its processes have ended. The processes are killed when schedlab ends, even by
    SIGKILL.

    Output goes to memory files, so that no process reads output during a trial.

    Args:
        command: the command, its servers, environment and folder.
        timeout: seconds until the command is killed.
        options: further options of ``schedload exec``.
        every_second: called about once a second while the command runs.
    """
    with _memory_files() as (out, err, report):
        argv = command_line(need(SCHEDLOAD), command, options, timeout, str(report))
        process = subprocess.Popen(
            [*argv[:2], _parent(), *argv[2:]],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            pass_fds=(report,),
            env=os.environ | dict(command.environment),
            cwd=command.cwd,
        )

        def watch() -> None:
            every_second()
            if max(os.fstat(out).st_size, os.fstat(err).st_size) > LARGEST_OUTPUT:
                process.terminate()

        try:
            status = _wait(process, timeout + GRACE, watch)
        finally:
            for group in reversed(command.groups):
                # The journal names a group that stays: the end of the run removes or reports the group.
                with suppress(OSError):
                    remove_group(group)
        return Launched(tuple(argv), _report(_read(report)), status, _read(out), _read(err))


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


def _report(text: str) -> Mapping[str, Any] | None:
    """Parse the launcher's report; None when the launcher ended before it wrote the complete report."""
    try:
        report: Mapping[str, Any] = json.loads(text)
    except ValueError:
        return None
    return report


def _wait(process: subprocess.Popen[bytes], limit: float, every_second: Callable[[], object]) -> int:
    """Sleep until the process ends. ``Popen.wait`` with a timeout would wake up 20 times a second."""
    try:
        with _end_of(process.pid) as wait_for_end:
            deadline = time.monotonic() + limit
            while (left := deadline - time.monotonic()) > 0 and not wait_for_end(min(left, 1.0)):
                every_second()
        return process.wait(GRACE if left > 0 else 0)
    except subprocess.TimeoutExpired:
        _end(process)
        return process.returncode
    except BaseException:
        _end(process)
        raise


@contextmanager
def _end_of(pid: int) -> Iterator[Callable[[float], bool]]:
    """Yield a function that waits up to the given seconds for the child's end and returns whether it has ended."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:  # Linux before 5.3 has no pidfd_open(2)

        def poll_child(seconds: float) -> bool:
            time.sleep(min(seconds, 0.01))
            return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

        yield poll_child
        return
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    try:
        yield lambda seconds: bool(poll.poll(1000 * seconds))
    finally:
        os.close(handle)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the launcher to kill its command. Kill the launcher only when it does not react."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
        return
    process.kill()
    process.wait()


@contextmanager
def _memory_files() -> Iterator[tuple[int, int, int]]:
    files = [os.memfd_create(name) for name in ("stdout", "stderr", "report")]
    try:
        yield files[0], files[1], files[2]
    finally:
        for file in files:
            os.close(file)


def _read(file: int) -> str:
    return os.pread(file, LARGEST_OUTPUT, 0).decode(errors="replace")
