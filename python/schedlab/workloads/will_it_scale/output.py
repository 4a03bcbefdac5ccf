"""Output of will-it-scale: operations a second by number of tasks, for processes and for threads, as CSV::

tasks,processes,processes_idle,threads,threads_idle,linear
1,1234567,87.50,1200000,87.40,1234567
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from schedlab.results.metrics import MetricSpec
from schedlab.workloads.log_reader import NUMBER, WHOLE, Log, Reader, Reading, Samples
from schedlab.workloads.mmtests_logs import Row, logs_named, open_log

_HEADER = "tasks,processes,processes_idle,threads,threads_idle,linear"
_ROW = re.compile(rf"({WHOLE}),({NUMBER}),{NUMBER},({NUMBER}),{NUMBER},{NUMBER}\Z")
_CASE = re.compile(
    r"(?<![a-z])(?:brk|context_switch|dup|eventfd|fallocate|futex|getppid|lock|lseek|malloc|mmap|open|page_fault|pipe|poll|"
    r"posix_semaphore|pread|pthread_mutex|pwrite|read|readseek|sched_yield|signal|tlb_flush|unix|unlink|write|writeseek)"
    r"\d*(?![a-z\d])"
)
"""Names of the tests (github.com/antonblanchard/will-it-scale, tests/); only the file's name contains one."""

OPERATIONS = MetricSpec("operations", "ops/s", "higher")


def _read(log: Log) -> Reading:
    """Return rates by model and tasks; ImportProblem for any other line."""
    match = _CASE.search(Path(log.name).name)
    case = {"case": match[0]} if match else {}
    notes = [f"{log.name}: left out: the shares of idle time, and the linear extrapolation"]
    if match is None:
        notes.append(
            f"{log.name}: the file's name contains no test of will-it-scale; rows of different tests are "
            f"indistinguishable"
        )
    return Reading(list(_rows(log, case)), notes=notes)


def _rows(log: Log, case: dict[str, str]) -> Iterator[Samples]:
    for number, line in enumerate(log.lines, start=1):
        if line == _HEADER or not line:
            continue
        match = _ROW.match(line)
        if match is None:
            raise log.problem("a line is cut off, or not of will-it-scale", number)
        tasks = int(match[1])
        for model, rate in (("processes", match[2]), ("threads", match[3])):
            # The row of 0 tasks is an anchor for plots; a model that was not run has zeros.
            if tasks and float(rate):
                yield Samples("will-it-scale", OPERATIONS, {**case, "model": model, "tasks": tasks}, (float(rate),))


READERS = (
    Reader(
        "will-it-scale",
        "will-it-scale's CSV: operations/s",
        lambda head: head.startswith(_HEADER),
        _read,
        in_mails=False,
        within=lambda text: _HEADER in text,
        line=lambda line: line == _HEADER or bool(_ROW.match(line)),
        begins=re.compile(_HEADER),
    ),
)

_SECOND = re.compile(r"^min:\d+ max:\d+ total:(\d+)\s*?\n", re.M)
_LINE = re.compile(r"(?:min:\d+ max:\d+ total:\d+|testcase:[^\n]*|average:\d+|warmup|measurement)\s*$")
_NAMES = r"benchlog-([^-]+)_([^-_]+)-(\d+)|wis-([^-]+)-([^-]+)-(\d+)\.log"


def read_mmtests(folder: Path) -> list[Row]:
    """Return operations a second of all tasks together, a row for each test case, model and number of tasks.

    The logs of MMTests are ``benchlog-CASE_MODEL-TASKS``, or ``wis-CASE-MODEL-TASKS.log`` before 2025-12.
    """
    rows = []
    for match, path in logs_named(folder, _NAMES):
        case, model, tasks = (group for group in match.groups() if group is not None)
        log = open_log(path, "will-it-scale log")
        wanted = "“min:N max:N total:N”"
        log.require_lines(_LINE.match, wanted)
        values = log.find(_SECOND, wanted)
        parameters = {"case": case, "model": model, "tasks": int(tasks)}
        rows.append(Row(OPERATIONS, 2, f"ops-{case}_{model}-{tasks}", parameters, values, path))
    return rows
