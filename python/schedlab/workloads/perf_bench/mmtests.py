"""``perf bench sched pipe`` in MMTests (``benchlog-_-_-N``, ``pipe-N.log``), and the older ``pipetest.log``."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from schedlab.workloads.mmtests_logs import Row, logs_named, open_log
from schedlab.workloads.perf_bench.log import LATENCY

_PER_OP = re.compile(r"^\s*(\d+(?:\.\d+)?)\s+usecs/op\s*?$", re.M)
_END = re.compile(r"(?:usecs/op|ops/sec)\Z")

_PER_LOOP = re.compile(r"^\s*(\d+(?:\.\d+)?)(?:\s+usecs/loop\.?)?\s*?$", re.M)
_LOOP_END = re.compile(r"usecs/loop\.?\Z")


def read_perfpipe(folder: Path) -> list[Row]:
    """Return one row of samples, in microseconds per operation."""
    files = [path for _, path in logs_named(folder, r"benchlog-[^-]+-[^-]+(?:-\d+)?|pipe-\d+\.log")]
    values = [
        open_log(path, "perf bench sched pipe log", _END).find(_PER_OP, "“MICROSECONDS usecs/op”") for path in files
    ]
    return [Row(LATENCY, 4, "usecs-op", {}, np.concatenate(values), files[0])] if files else []


def read_pipetest(folder: Path) -> list[Row]:
    """Return one row of samples, in unrounded microseconds per loop.

    MMTests has rounded these values to half microseconds since 2016-09.
    """
    rows = []
    for _, path in logs_named(folder, r"pipetest\.log"):
        values = open_log(path, "pipetest log", _LOOP_END).each_line(_PER_LOOP, "“MICROSECONDS usecs/loop”")[:, 0]
        rows.append(Row(LATENCY, 2, "Time", {}, values, path))
    return rows
