"""Output of kernel builds. A trial has the launcher's times; MMTests keeps the output of GNU time."""

from __future__ import annotations

from pathlib import Path

from schedlab.workloads.log_reader import Reader
from schedlab.workloads.mmtests_logs import Row, gnu_time_rows

READERS: tuple[Reader, ...] = ()


def read_mmtests(folder: Path) -> list[Row]:
    """Return elapsed, system and user seconds by number of jobs.

    The logs of MMTests are ``time-JOBS-N`` (since 2025-12) or ``kernbench-JOBS-N.time``.
    """
    return gnu_time_rows(folder, r"(?:time|kernbench)-(\d+)-\d+(?:\.time)?", "kernel build", "jobs")
