"""The load generator writes the memory of programs, also in its optimised build: the page of zeros does not count."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

import pytest

from schedlab.workloads.tools import SCHEDLOAD, need

PAGES = 4000
LONG = str(10**12)
"""Rounds of computation: longer than any test."""


def faults(*words: str) -> int:
    """Run schedload, and return the page faults of its processes."""
    process = subprocess.Popen([need(SCHEDLOAD), *words], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_minflt


def anonymous_kib(pid: int) -> int:
    """Return the written private memory of a process, in KiB; 0 for a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except ProcessLookupError:
        return 0
    return next(int(line.split()[1]) for line in lines if line.startswith("Anonymous:"))


def test_an_image_writes_to_its_memory() -> None:
    with subprocess.Popen([need(SCHEDLOAD), "image-work", LONG, str(PAGES * 4096)]) as process:
        # The image writes before it computes. An image that has not written ends by this limit of its CPU time.
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (20, 20))
        try:
            while anonymous_kib(process.pid) < PAGES * 4:
                assert process.poll() is None, "the image computes and has not written its memory"
        finally:
            process.kill()


def test_processes_write_their_part_of_the_inherited_pages_at_their_end() -> None:
    hackbench = ["hackbench", "-g", "1", "-f", "2", "-l", "5", "--main-mappings", "7", "--main-pages", str(PAGES)]
    inherits, writes = faults(*hackbench), faults(*hackbench, "--written-pages", "1000")
    assert writes - inherits == pytest.approx(4 * 1000, rel=0.1)
