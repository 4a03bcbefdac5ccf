"""Which rows of several columns are the same question, and why the others are not compared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schedlab.analysis.rows import Question

MOST_NAMED = 4
"""Values of a parameter that a reason lists; a sweep may have dozens."""


@dataclass(frozen=True)
class Matched:
    """A row that the baseline and at least one other column have; ``columns`` are those that do, the baseline first."""

    question: Question
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Unmatched:
    """A row that not all columns have, and so could not be compared throughout.

    ``missing`` names the columns in which it was not found or not comparable, ``reason`` says for each of them why.
    """

    question: Question
    missing: tuple[str, ...]
    reason: str = ""


@dataclass(frozen=True)
class Matching:
    """The rows to compare, in the order in which columns first ask them, and those that some column lacks."""

    rows: tuple[Matched, ...]
    unmatched: tuple[Unmatched, ...]


Key = tuple[str, str, str]
"""Workload, metric and parameters (canonical JSON): what makes two rows the same."""


def match(asked: Mapping[str, Sequence[Question]]) -> Matching:
    """Match the rows of named columns, the first of which is the baseline.

    Rows are the same when workload, metric and parameters are; such a row is compared where unit and direction are
    those of the baseline too. A row of several columns that the baseline lacks has nothing to be compared with.
    """
    baseline = next(iter(asked))
    held = {name: {_key(question): question for question in questions} for name, questions in asked.items()}
    rows, unmatched = [], []
    for key in dict.fromkeys(key for of_column in held.values() for key in of_column):
        question = next(of_column[key] for of_column in held.values() if key in of_column)
        reasons = {name: reason for name in asked if (reason := _reason(question, key, name, held[name]))}
        having = tuple(name for name in asked if name not in reasons)
        if baseline in having and len(having) > 1:
            rows.append(Matched(question, having))
        if reasons:
            told = "; ".join(f"{name} {reason}" for name, reason in reasons.items())
            unmatched.append(Unmatched(question, tuple(reasons), told))
    return Matching(tuple(rows), tuple(unmatched))


def _key(question: Question) -> Key:
    return question.workload, question.metric, question.parameters


def _reason(question: Question, key: Key, name: str, held: Mapping[Key, Question]) -> str:
    """Why a column cannot be compared in this row; empty where it can."""
    if found := held.get(key):
        if found.unit != question.unit:
            return f"has it in {found.unit or 'no unit'}, not {question.unit or 'no unit'}"
        if found.direction != question.direction:
            return f"says that {found.direction} is better, not {question.direction}"
        return ""
    of_workload = [other for other in held.values() if other.workload == question.workload]
    if not of_workload:
        return f"has no {question.workload}"
    alike = [other for other in of_workload if other.metric == question.metric]
    if not alike:
        return f"has no {question.metric} of {question.workload}"
    return _other_parameters(question, alike)


def _other_parameters(question: Question, alike: Sequence[Question]) -> str:
    """How the parameters of the same workload and metric differ, told by those that come closest."""
    wanted = json.loads(question.parameters)
    found = [json.loads(other.parameters) for other in alike]
    fewest = min(len(_differing(wanted, other)) for other in found)
    names = next(names for other in found if len(names := _differing(wanted, other)) == fewest)
    closest = [other for other in found if _differing(wanted, other) == names]
    return "has " + ", ".join(_values(name, closest) for name in names)


def _differing(wanted: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    absent = object()
    names = dict.fromkeys([*wanted, *other])
    return [name for name in names if wanted.get(name, absent) != other.get(name, absent)]


def _values(name: str, found: Sequence[Mapping[str, Any]]) -> str:
    """``groups=1, 2, 4``, or ``no groups``."""
    values = list(dict.fromkeys(str(other[name]) for other in found if name in other))
    if not values:
        return f"no {name}"
    more = f" and {len(values) - MOST_NAMED} more" if len(values) > MOST_NAMED else ""
    return f"{name}={', '.join(values[:MOST_NAMED])}{more}"
