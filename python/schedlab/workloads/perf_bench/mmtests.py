"""``perf bench sched pipe`` in MMTests (``benchlog-_-_-N``, ``pipe-N.log``), and the older ``pipetest.log``."""

from __future__ import annotations

import re
from pathlib import Path

from schedlab.workloads.log_reader import floats
from schedlab.workloads.mmtests_logs import Row, logs_named, open_log
from schedlab.workloads.perf_bench.log import LATENCY

_PER_OP = re.compile(r"^\s*(\d+(?:\.\d+)?)\s+usecs/op\s*?$", re.M)
_END = re.compile(r"(?:usecs/op|ops/sec)\Z")

_PER_LOOP = re.compile(r"^\s*(\d+(?:\.\d+)?)(?:\s+usecs/loop\.?)?\s*?$", re.M)
_LOOP_END = re.compile(r"usecs/loop\.?\Z")


def read_perfpipe(folder: Path) -> list[Row]:
    """Return one row of samples, in microseconds per operation."""
    values: list[str] = []
    files = [path for _, path in logs_named(folder, r"benchlog-[^-]+-[^-]+(?:-\d+)?|pipe-\d+\.log")]
    for path in files:
        values += open_log(path, "perf bench sched pipe log", _END).find(_PER_OP, "“MICROSECONDS usecs/op”")
    return [Row(LATENCY, 4, "usecs-op", {}, floats(values), files[0])] if files else []


def read_pipetest(folder: Path) -> list[Row]:
    """Return one row of samples, in unrounded microseconds per loop.

    MMTests has rounded these values to half microseconds since 2016-09.
    """
    rows = []
    for _, path in logs_named(folder, r"pipetest\.log"):
        values = open_log(path, "pipetest log", _LOOP_END).each_line(_PER_LOOP, "“MICROSECONDS usecs/loop”")
        rows.append(Row(LATENCY, 2, "Time", {}, floats(values), path))
    return rows
