"""will-it-scale's CSV: operations a second of as many processes, or threads, as there are tasks.

tasks,processes,processes_idle,threads,threads_idle,linear
1,1234567,87.50,1200000,87.40,1234567
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from schedlab.importers.logs.base import NUMBER, WHOLE, Log, Reader, Reading, Samples
from schedlab.workloads.base import MetricSpec

_HEADER = "tasks,processes,processes_idle,threads,threads_idle,linear"
_ROW = re.compile(rf"({WHOLE}),({NUMBER}),{NUMBER},({NUMBER}),{NUMBER},{NUMBER}\Z")
_CASE = re.compile(
    r"(?<![a-z])(?:brk|context_switch|dup|eventfd|fallocate|futex|getppid|lock|lseek|malloc|mmap|open|page_fault|pipe|poll|"
    r"posix_semaphore|pread|pthread_mutex|pwrite|read|readseek|sched_yield|signal|tlb_flush|unix|unlink|write|writeseek)"
    r"\d*(?![a-z\d])"
)
"""Names of its tests (github.com/antonblanchard/will-it-scale, tests/); only the file's name tells which one ran."""

_OPERATIONS = MetricSpec("operations", "ops/s", "higher")


def recognises(head: str) -> bool:
    """Its header."""
    return head.startswith(_HEADER)


def read(log: Log) -> Reading:
    """Rates by model and tasks; a line that is none of its own is an ImportProblem."""
    found = _CASE.search(Path(log.name).name)
    case = {"case": found[0]} if found else {}
    notes = [f"{log.name}: left out: the shares of idle time, and what would be linear"]
    if not found:
        notes.append(
            f"{log.name}: its name tells no test of will-it-scale; rows of several tests would be taken for one"
        )
    return Reading(list(_rows(log, case)), notes=notes)


def _rows(log: Log, case: dict[str, str]) -> Iterator[Samples]:
    for number, line in enumerate(log.lines, start=1):
        if line == _HEADER or not line:
            continue
        match = _ROW.match(line)
        if match is None:
            raise log.problem("a line is cut off, or none of will-it-scale's", number)
        tasks = int(match[1])
        for model, rate in (("processes", match[2]), ("threads", match[3])):
            # The row of no task is an anchor for plots; a model that was not run has zeros.
            if tasks and float(rate):
                yield Samples("will-it-scale", _OPERATIONS, {**case, "model": model, "tasks": tasks}, (float(rate),))


READER = Reader("will-it-scale", "will-it-scale's CSV: operations/s", recognises, read, in_mails=False)
