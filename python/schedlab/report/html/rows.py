"""Rows: what was asked, with the verdicts on it and the values behind them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schedlab.analysis.verdicts import Question, Verdict
from schedlab.findings import Findings
from schedlab.report import telling

Identity = tuple[str, str, str]
"""Workload, parameters (canonical JSON) and metric."""


@dataclass(frozen=True)
class Value:
    """A block's mean: ``column`` counts from 0, ``position`` is its mean place in the order of trials."""

    block: int
    column: int
    position: float
    value: float


@dataclass(frozen=True)
class Row:
    """One question; ``key`` is its anchor in the page. ``verdicts`` are in the order of the columns, which may be none.

    ``values`` are in the order of blocks and columns.
    """

    key: str
    question: Question
    verdicts: tuple[Verdict, ...]
    values: tuple[Value, ...]

    @property
    def parameters(self) -> Mapping[str, Any]:
        """By name."""
        found: dict[str, Any] = json.loads(self.question.parameters)
        return found

    @property
    def words(self) -> str:
        """The parameters as an experiment file would give them: ``groups=4 loops=250``."""
        return telling.parameters(self.question)

    @property
    def title(self) -> str:
        """Workload and parameters."""
        return f"{self.question.workload} {self.words}".rstrip()

    @property
    def measure(self) -> str:
        """The metric with its unit, as an axis is labelled."""
        return measure(self.question)

    @property
    def band(self) -> Verdict | None:
        """The A/A control, whose interval is the noise band."""
        return next((verdict for verdict in self.verdicts if verdict.control), None)


def measure(question: Question) -> str:
    """A metric with its unit: ``time [s]``."""
    return f"{question.metric} [{question.unit}]" if question.unit else question.metric


def identity(question: Question) -> Identity:
    """What tells a row from the others."""
    return question.workload, question.parameters, question.metric


def rows(findings: Findings) -> list[Row]:
    """Every row that any column asks about, in the order in which they are first met."""
    questions: dict[Identity, Question] = {}
    for column in findings.columns:
        for question in column.run.design.questions:
            questions.setdefault(identity(question), question)
    verdicts: dict[Identity, list[Verdict]] = {}
    for verdict in findings.verdicts:
        questions.setdefault(identity(verdict.question), verdict.question)
        verdicts.setdefault(identity(verdict.question), []).append(verdict)
    values = _values(findings)
    return [
        Row(f"row-{number}", question, tuple(verdicts.get(key, ())), tuple(values.get(key, ())))
        for number, (key, question) in enumerate(questions.items(), start=1)
    ]


def _values(findings: Findings) -> dict[Identity, list[Value]]:
    places = {column.name: place for place, column in enumerate(findings.columns)}
    frame = findings.values.select("workload", "parameters", "metric", "block", "variant", "position", "value")
    held: dict[Identity, list[Value]] = {}
    for workload, parameters, metric, block, variant, position, value in frame.iter_rows():
        if variant in places:
            key = workload, parameters, metric
            held.setdefault(key, []).append(Value(block, places[variant], position, value))
    return {key: sorted(of_row, key=lambda v: (v.block, v.column)) for key, of_row in held.items()}


def compared(found: Sequence[Row]) -> list[Verdict]:
    """Every verdict but the control's."""
    return [verdict for row in found for verdict in row.verdicts if not verdict.control]
