"""Starting a command under the launcher ``schedload exec``.

The launcher applies a variant's attributes, starts servers, times the command alone, and kills every descendant at
the end, also when it is this process that dies. Output goes to memory files: nobody reads along while a trial runs.
"""

from __future__ import annotations

import json
import os
import select
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from schedlab.experiment.model import Variant
from schedlab.workloads.base import Command
from schedlab.workloads.tools import SCHEDLOAD, need

GRACE = 15.0
"""Seconds that the launcher gets beyond a trial's timeout, to kill and reap what it started."""

LARGEST_OUTPUT = 64 << 20
"""Bytes of a stream beyond which a trial is ended: what a benchmark prints is kept in memory until it is read."""


@dataclass(frozen=True)
class Launched:
    """What came of a launch. ``report`` is the launcher's account, None when it could not even start the command."""

    argv: tuple[str, ...]
    report: Mapping[str, Any] | None
    status: int
    stdout: str
    stderr: str


def attributes(variant: Variant) -> list[str]:
    """The launcher's options for a variant."""
    options: list[str] = []
    named = {
        "--policy": variant.policy,
        "--priority": variant.priority,
        "--nice": variant.nice,
        "--slice": None if variant.slice is None else f"{variant.slice}ns",
        "--cpus": variant.cpus,
    }
    for option, value in named.items():
        if value is not None:
            # One word: a negative nice would else be taken for an option.
            options.append(f"{option}={value}")
    return options


def launcher_words(launcher: str, command: Command, variant: Variant, timeout: float, report: str) -> list[str]:
    """The launcher's whole command line; ``report`` is a file descriptor's number or a path."""
    words = [launcher, "exec", *attributes(variant), f"--timeout={timeout:.3f}s", f"--report={report}"]
    for server in command.servers:
        words += ["--server", shlex.join(server.argv), "--ready", server.ready]
    return [*words, "--", *command.argv]


def launch(
    command: Command, variant: Variant, timeout: float, every_second: Callable[[], object] = lambda: None
) -> Launched:
    """Run a command under a variant's attributes; returns when it and everything it started are gone.

    ``every_second`` is called about once a second while it runs.
    """
    with _memory_files() as (out, err, report):
        argv = launcher_words(need(SCHEDLOAD), command, variant, timeout, str(report))
        environment = os.environ | dict(command.environment) | variant.environment
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            pass_fds=(report,),
            env=environment,
            cwd=command.cwd,
        )

        def look() -> None:
            every_second()
            if max(os.fstat(out).st_size, os.fstat(err).st_size) > LARGEST_OUTPUT:
                process.terminate()  # output is kept in memory, and this would fill it

        status = _wait(process, timeout + GRACE, look)
        return Launched(tuple(argv), _report(_read(report)), status, _read(out), _read(err))


def _report(text: str) -> Mapping[str, Any] | None:
    """The launcher's report; None when it ended before it had written all of it."""
    try:
        told: Mapping[str, Any] = json.loads(text)
    except ValueError:
        return None
    return told


def _wait(process: subprocess.Popen[bytes], limit: float, every_second: Callable[[], object]) -> int:
    """Sleep until the process has ended: ``Popen.wait`` with a timeout would wake up 20 times a second to look."""
    try:
        with _ending(process.pid) as ended:
            deadline = time.monotonic() + limit
            while (left := deadline - time.monotonic()) > 0 and not ended(min(left, 1.0)):
                every_second()
        return process.wait(GRACE if left > 0 else 0)
    except subprocess.TimeoutExpired:
        _end(process)
        return process.returncode
    except BaseException:
        _end(process)
        raise


@contextmanager
def _ending(pid: int) -> Iterator[Callable[[float], bool]]:
    """A function that waits up to so many seconds for the end of a child, and tells whether it has come."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:  # Linux before 5.3 has no pidfd_open(2)

        def look(seconds: float) -> bool:
            time.sleep(min(seconds, 0.01))
            return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

        yield look
        return
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    try:
        yield lambda seconds: bool(poll.poll(1000 * seconds))
    finally:
        os.close(handle)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Have the launcher kill what it started; only if it does not answer, kill the launcher itself."""
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
