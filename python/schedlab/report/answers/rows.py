"""Names of rows without what all rows share, and the settings of a run's variants."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from schedlab.analysis.rows import Question
from schedlab.findings.run import Findings
from schedlab.findings.settings import settings_of_columns
from schedlab.report.answer import Setting
from schedlab.report.summaries import shared_parameters, short_name


class _Row(NamedTuple):
    workload: str
    metric: str
    parameters: Mapping[str, Any]


def names(questions: Iterable[Question]) -> dict[Question, str]:
    """Name rows: the workload, the parameters in which its rows differ, and the metric if it has several."""
    metrics: dict[str, set[str]] = {}
    rows = {each: _Row(each.workload, each.metric, json.loads(each.parameters)) for each in questions}
    for row in rows.values():
        metrics.setdefault(row.workload, set()).add(row.metric)
    named = {
        question: row if len(metrics[row.workload]) > 1 else row._replace(metric="") for question, row in rows.items()
    }
    shared = shared_parameters([*named.values()])
    return {question: short_name(row, shared) for question, row in named.items()}


def settings(found: Findings) -> list[Setting]:
    """Return what each variant of a run sets, without the A/A control."""
    control = found.run.design.control
    return [Setting(name, text) for name, text in settings_of_columns(found.columns).items() if name != control]
