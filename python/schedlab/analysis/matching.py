"""Matching of rows between columns, with reasons for rows that are not compared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schedlab.analysis.rows import Question

MOST_NAMED = 4
"""Largest number of a parameter's values in a reason; a sweep may have dozens."""


@dataclass(frozen=True)
class Matched:
    """A row of the baseline and at least one other column; ``columns`` are the columns with the row, baseline first."""

    question: Question
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Unmatched:
    """A row that some columns lack; ``missing`` are these columns, ``reason`` says why they lack the row."""

    question: Question
    missing: tuple[str, ...]
    reason: str = ""


@dataclass(frozen=True)
class Matching:
    """The rows to compare, in the order of their first occurrence, and the rows that some column lacks."""

    rows: tuple[Matched, ...]
    unmatched: tuple[Unmatched, ...]


Key = tuple[str, str, str]
"""Workload, metric and parameters (canonical JSON), which identify a row."""


def match(asked: Mapping[str, Sequence[Question]]) -> Matching:
    """Match the rows of named columns. The first column is the baseline.

    Rows match if workload, metric and parameters are the same. A row is compared in the columns that have the same unit
    and direction too, if the baseline is such a column.
    """
    baseline = next(iter(asked))
    rows_of = {name: {_key(question): question for question in questions} for name, questions in asked.items()}
    rows, unmatched = [], []
    for key in dict.fromkeys(key for column_rows in rows_of.values() for key in column_rows):
        question = next(column_rows[key] for column_rows in rows_of.values() if key in column_rows)
        reasons = {name: reason for name in asked if (reason := _reason(question, key, rows_of[name]))}
        columns = tuple(name for name in asked if name not in reasons)
        if baseline in columns and len(columns) > 1:
            rows.append(Matched(question, columns))
        if reasons:
            text = "; ".join(f"{name} {reason}" for name, reason in reasons.items())
            unmatched.append(Unmatched(question, tuple(reasons), text))
    return Matching(tuple(rows), tuple(unmatched))


def _key(question: Question) -> Key:
    return question.workload, question.metric, question.parameters


def _reason(question: Question, key: Key, rows: Mapping[Key, Question]) -> str:
    """Return why a column with these rows cannot be compared in this row; empty if it can be compared."""
    if same := rows.get(key):
        if same.unit != question.unit:
            return f"has the row in {same.unit or 'no unit'}, not {question.unit or 'no unit'}"
        if same.direction != question.direction:
            return f"says that {same.direction} is better, not {question.direction}"
        return ""
    same_workload = [other for other in rows.values() if other.workload == question.workload]
    if not same_workload:
        return f"has no {question.workload}"
    same_metric = [other for other in same_workload if other.metric == question.metric]
    if not same_metric:
        return f"has no {question.metric} of {question.workload}"
    return _other_parameters(question, same_metric)


def _other_parameters(question: Question, candidates: Sequence[Question]) -> str:
    """Describe the parameters of the candidates that differ from the question's parameters in the fewest names."""
    wanted = json.loads(question.parameters)
    others = [json.loads(candidate.parameters) for candidate in candidates]
    fewest = min(len(_differing(wanted, other)) for other in others)
    names = next(names for other in others if len(names := _differing(wanted, other)) == fewest)
    closest = [other for other in others if _differing(wanted, other) == names]
    return "has " + ", ".join(_values(name, closest) for name in names)


def _differing(wanted: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    absent = object()
    names = dict.fromkeys([*wanted, *other])
    return [name for name in names if wanted.get(name, absent) != other.get(name, absent)]


def _values(name: str, settings: Sequence[Mapping[str, Any]]) -> str:
    """Return ``groups=1, 2, 4``, or ``no groups``."""
    values = list(dict.fromkeys(str(other[name]) for other in settings if name in other))
    if not values:
        return f"no {name}"
    more = f" and {len(values) - MOST_NAMED} more" if len(values) > MOST_NAMED else ""
    return f"{name}={', '.join(values[:MOST_NAMED])}{more}"
