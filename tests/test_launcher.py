"""Commands under the launcher end with the process that started the launcher."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.waiting import eventually

pytestmark = pytest.mark.slow

MARK = "SCHEDLAB_LAUNCHER_TEST"

STARTER = """
import os, subprocess, sys
from functools import partial
from pathlib import Path
from schedlab.workloads import launcher
from schedlab.workloads.base import Command

reached, proceed, how, started = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]

def stop():
    os.write(reached, b"x")
    os.read(proceed, 1)

subprocess.Popen = partial(subprocess.Popen, preexec_fn=stop)
command = ("sh", "-c", 'echo > "$0"; sleep 1000', started)
if how == "run":
    launcher.run(Command(command), timeout=1000)
else:
    with launcher.background(command, Path("/dev/null"), Path("/dev/null")):
        raise SystemExit("the block is entered after the exec")
"""
"""Stops the child of ``Popen`` before its exec: the child writes to ``reached`` and reads from ``proceed``."""


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[str]:
    """An entry of the environment for all processes of a test, which kills the remaining processes."""
    entry = f"{MARK}={tmp_path}"
    yield entry
    for process in processes(entry):
        with suppress(ProcessLookupError):
            os.kill(process, 9)


def processes(mark: str) -> list[int]:
    """Return the live processes with an entry in their environment."""
    numbers = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                numbers.append(int(folder.name))
    return numbers


def is_alive(process: int) -> bool:
    """Whether the process exists and is not a zombie. Only its parent can remove a zombie."""
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("how", ["run", "background"])
def test_nothing_starts_when_schedlab_is_killed_between_fork_and_exec_of_the_launcher(
    how: str, tmp_path: Path, mark: str
) -> None:
    started = tmp_path / "started"
    (reached, reached_end), (proceed, proceed_end) = os.pipe(), os.pipe()
    words = [sys.executable, "-c", STARTER, str(reached_end), str(proceed), how, str(started)]
    name, _, value = mark.partition("=")
    try:
        with subprocess.Popen(words, pass_fds=(reached_end, proceed), env=os.environ | {name: value}) as starter:
            assert os.read(reached, 1) == b"x"
            starter.kill()
        # The process number identifies the child: a process in the middle of its exec has no environment.
        (child,) = processes(mark)
        os.write(proceed_end, b"x")
        eventually(lambda: started.exists() or not is_alive(child), "the launcher did not end")
        assert not started.exists()
        assert [process for process in processes(mark) if is_alive(process)] == []
    finally:
        for descriptor in (reached, reached_end, proceed, proceed_end):
            os.close(descriptor)
