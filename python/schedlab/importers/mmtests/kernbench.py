"""kernbench: times of kernel builds, ``time-JOBS-N`` (since 2025-12) or ``kernbench-JOBS-N.time``."""

from __future__ import annotations

from pathlib import Path

from schedlab.importers.mmtests import gnutime
from schedlab.importers.mmtests.rows import Row


def read(folder: Path) -> list[Row]:
    """Elapsed, system and user seconds by number of jobs."""
    return gnutime.read(folder, r"(?:time|kernbench)-(\d+)-\d+(?:\.time)?", "kernel build", "jobs")
