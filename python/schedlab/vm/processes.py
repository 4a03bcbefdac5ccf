"""Processes that a boot needs, which end with it, and with schedlab however that ends."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from schedlab.workloads.tools import SCHEDLOAD, need

GRACE = 15.0
"""Seconds that the launcher gets to kill what it started."""


@contextmanager
def kept(
    argv: Sequence[str], report: Path, errors: Path, descriptors: Sequence[int] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    """A command under the launcher, which kills it when schedlab ends, also by SIGKILL, or has ended meanwhile.

    What it says goes to the end of ``errors``; ``descriptors`` stay open in it; ``report`` is the launcher's.
    """
    launcher = [need(SCHEDLOAD), "exec", f"--parent={os.getpid()}", f"--report={report}", "--"]
    with errors.open("ab") as stderr:
        process = subprocess.Popen(
            [*launcher, *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            pass_fds=descriptors,
        )
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Have the launcher kill the command; only if it does not answer, kill the launcher, and with it the command."""
    process.terminate()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
