"""will-it-scale: ``benchlog-CASE_MODEL-TASKS``, or ``wis-CASE-MODEL-TASKS.log`` before 2025-12; a line a second."""

from __future__ import annotations

import re
from pathlib import Path

from schedlab.importers.mmtests.logs import logs_named, open_log
from schedlab.importers.mmtests.rows import Row, Scale, numbers

_OPERATIONS = Scale("operations", "ops/s", "higher", 2)
_SECOND = re.compile(rb"^min:\d+ max:\d+ total:(\d+)\s*?\n", re.M)
_LINE = re.compile(rb"^(?:min:\d+ max:\d+ total:\d+|testcase:[^\n]*|average:\d+|warmup|measurement)\s*?\n", re.M)
_NAMES = r"benchlog-([^-]+)_([^-_]+)-(\d+)|wis-([^-]+)-([^-]+)-(\d+)\.log"


def read(folder: Path) -> list[Row]:
    """Operations a second of all tasks together, a row for each test case, model and number of tasks."""
    rows = []
    for match, path in logs_named(folder, _NAMES):
        case, model, tasks = (group for group in match.groups() if group is not None)
        log = open_log(path, "will-it-scale log")
        log.check_lines(_LINE, "“min:N max:N total:N”")
        values = numbers(log.find(_SECOND, "“min:N max:N total:N”"))
        parameters = {"case": case, "model": model, "tasks": int(tasks)}
        rows.append(Row(_OPERATIONS, f"ops-{case}_{model}-{tasks}", parameters, values, path))
    return rows
