"""hackbench logs: ``perf bench sched messaging`` (one ``hackbench-GROUPS``), or rt-tests' (``hackbench-GROUPS-N``)."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from schedlab.importers.mmtests.logs import Log, logs_named, open_log
from schedlab.importers.mmtests.rows import Row, Scale, numbers

_TIME = Scale("time", "s", "lower", 4)
_SECONDS = re.compile(rb"^\s*(?:Total time|Time):\s+(\d+(?:\.\d+)?)(?:\s+\[sec\])?\s*?$", re.M)
_END = re.compile(rb"(?:\[sec\]|Time: \d+\.\d{3})\Z")


def read(folder: Path) -> list[Row]:
    """Seconds of every repetition, a row for each number of groups."""
    groups: dict[int, list[Log]] = {}
    for match, path in logs_named(folder, r"hackbench-(\d+)(?:-\d+)?"):
        groups.setdefault(int(match[1]), []).append(open_log(path, "hackbench log", _END))
    return [_row(count, groups[count]) for count in sorted(groups)]


def _row(groups: int, logs: list[Log]) -> Row:
    values = np.concatenate([_seconds(log) for log in logs])
    return Row(_TIME, f"time-{groups}", {"groups": groups}, values, logs[0].path)


def _seconds(log: Log) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    # A repetition that ran into the time limit leaves its heading without a time and is tried again: no error.
    return numbers(log.find(_SECONDS, "“Total time: SECONDS [sec]” and no “Time: SECONDS”"))
