"""``perf bench sched pipe`` (``benchlog-_-_-N``, ``pipe-N.log``), and the older ``pipetest.log``."""

from __future__ import annotations

import re
from pathlib import Path

from schedlab.importers.mmtests.logs import logs_named, open_log
from schedlab.importers.mmtests.rows import Row, Scale, numbers

_LATENCY = Scale("latency", "us/op", "lower", 4)
_PER_OP = re.compile(rb"^\s*(\d+(?:\.\d+)?)\s+usecs/op\s*?$", re.M)
_END = re.compile(rb"(?:usecs/op|ops/sec)\Z")

_LOOP = Scale("latency", "us/op", "lower", 2)
_PER_LOOP = re.compile(rb"^\s*(\d+(?:\.\d+)?)(?:\s+usecs/loop\.?)?\s*?$", re.M)
_LOOP_END = re.compile(rb"usecs/loop\.?\Z")


def read_perfpipe(folder: Path) -> list[Row]:
    """Microseconds an operation, one row."""
    values: list[bytes] = []
    first = None
    for _, path in logs_named(folder, r"benchlog-[^-]+-[^-]+(?:-\d+)?|pipe-\d+\.log"):
        first = first or path
        values += open_log(path, "perf bench sched pipe log", _END).find(_PER_OP, "“MICROSECONDS usecs/op”")
    return [Row(_LATENCY, "usecs-op", {}, numbers(values), first)] if first else []


def read_pipetest(folder: Path) -> list[Row]:
    """Microseconds a loop, one row; as measured, where MMTests rounded to half microseconds from 2016-09 on."""
    return [
        Row(
            _LOOP,
            "Time",
            {},
            numbers(open_log(path, "pipetest log", _LOOP_END).each_line(_PER_LOOP, "“MICROSECONDS usecs/loop”")),
            path,
        )
        for _, path in logs_named(folder, r"pipetest\.log")
    ]
