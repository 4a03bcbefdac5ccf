"""Names of rows without what all rows share, and the settings of a run's variants."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from schedlab.analysis.rows import Question
from schedlab.findings.run import Findings
from schedlab.findings.settings import settings_of_columns
from schedlab.report.answer import Setting
from schedlab.report.words import parameters


def names(questions: Iterable[Question]) -> dict[Question, str]:
    """Name rows: the workload, the parameters in which its rows differ, and the metric if it has several."""
    of_workloads: dict[str, list[Question]] = {}
    for question in dict.fromkeys(questions):
        of_workloads.setdefault(question.workload, []).append(question)
    return {row: _name(row, rows) for rows in of_workloads.values() for row in rows}


def _name(row: Question, rows: Sequence[Question]) -> str:
    sets: list[Mapping[str, Any]] = [json.loads(other.parameters) for other in rows]
    own: Mapping[str, Any] = json.loads(row.parameters)
    differing = {key: value for key, value in own.items() if any(key not in s or s[key] != value for s in sets)}
    metric = row.metric if any(other.metric != row.metric for other in rows) else ""
    return " ".join(part for part in (row.workload, parameters(differing), metric) if part)


def settings(found: Findings) -> list[Setting]:
    """Return what each variant of a run sets, without the A/A control."""
    control = found.run.design.control
    return [Setting(name, text) for name, text in settings_of_columns(found.columns).items() if name != control]
