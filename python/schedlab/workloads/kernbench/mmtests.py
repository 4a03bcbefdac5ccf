"""kernbench in MMTests: times of kernel builds, ``time-JOBS-N`` (since 2025-12) or ``kernbench-JOBS-N.time``."""

from __future__ import annotations

from pathlib import Path

from schedlab.workloads.mmtests_logs import Row, gnu_time_rows


def read(folder: Path) -> list[Row]:
    """Return elapsed, system and user seconds by number of jobs."""
    return gnu_time_rows(folder, r"(?:time|kernbench)-(\d+)-\d+(?:\.time)?", "kernel build", "jobs")
