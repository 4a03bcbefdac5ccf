"""hackbench in MMTests: perf's (``hackbench-GROUPS``), or rt-tests' (``hackbench-GROUPS-N``)."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from schedlab.workloads.hackbench.log import TIME
from schedlab.workloads.mmtests_logs import Row, TreeLog, logs_named, open_log

_SECONDS = re.compile(r"^\s*(?:Total time|Time):\s+(\d+(?:\.\d+)?)(?:\s+\[sec\])?\s*?$", re.M)
_END = re.compile(r"(?:\[sec\]|Time: \d+\.\d{3})\Z")


def read(folder: Path) -> list[Row]:
    """Return seconds of every repetition, a row for each number of groups."""
    groups: dict[int, list[TreeLog]] = {}
    for match, path in logs_named(folder, r"hackbench-(\d+)(?:-\d+)?"):
        groups.setdefault(int(match[1]), []).append(open_log(path, "hackbench log", _END))
    return [_row(count, groups[count]) for count in sorted(groups)]


def _row(groups: int, logs: list[TreeLog]) -> Row:
    # A repetition that exceeded the time limit leaves a heading without a time and is tried again: no error.
    wanted = "“Total time: SECONDS [sec]” and no “Time: SECONDS”"
    values = np.concatenate([log.find(_SECONDS, wanted) for log in logs])
    return Row(TIME, 4, f"time-{groups}", {"groups": groups}, values, logs[0].path)
