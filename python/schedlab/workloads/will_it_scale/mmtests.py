"""will-it-scale in MMTests: ``benchlog-CASE_MODEL-TASKS``, or ``wis-CASE-MODEL-TASKS.log`` before 2025-12."""

from __future__ import annotations

import re
from pathlib import Path

from schedlab.workloads.mmtests_logs import Row, logs_named, open_log
from schedlab.workloads.will_it_scale.log import OPERATIONS

_SECOND = re.compile(r"^min:\d+ max:\d+ total:(\d+)\s*?\n", re.M)
_LINE = re.compile(r"(?:min:\d+ max:\d+ total:\d+|testcase:[^\n]*|average:\d+|warmup|measurement)\s*$")
_NAMES = r"benchlog-([^-]+)_([^-_]+)-(\d+)|wis-([^-]+)-([^-]+)-(\d+)\.log"


def read(folder: Path) -> list[Row]:
    """Return operations a second of all tasks together, a row for each test case, model and number of tasks."""
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
