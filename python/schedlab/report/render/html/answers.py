"""The answer at the top of the page: for each variant the number of rows by verdict, and the largest changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from schedlab.analysis.verdicts import Word
from schedlab.notation.units import counted
from schedlab.report import words
from schedlab.report.document import Report, Row

_NAMED = 3
"""Maximum number of rows that a sentence names. The table contains all rows."""

_REASONS = 2
"""Reasons for unknown numbers that a sentence names."""


@dataclass(frozen=True)
class Clause:
    """The number of rows with a verdict, and a remark on these rows."""

    word: Word
    count: int
    text: str


@dataclass(frozen=True)
class Answer:
    """One variant over all its rows; ``clauses`` has one clause for each verdict word that occurs."""

    variant: str
    rows: int
    clauses: tuple[Clause, ...]


def answers(report: Report, compared: Sequence[Row]) -> list[Answer]:
    """Return an answer for each variant with a verdict, in the order of the columns."""
    answered = []
    for column in report.columns[1:]:
        of_variant = [row for row in compared if row.variant == column.name]
        if of_variant:
            by_word = [(word, [row for row in of_variant if row.verdict is word]) for word in Word]
            clauses = tuple(Clause(word, len(rows), _remark(word, rows)) for word, rows in by_word if rows)
            answered.append(Answer(column.name, len(of_variant), clauses))
    return answered


def _remark(word: Word, rows: Sequence[Row]) -> str:
    if word is Word.INCONCLUSIVE:
        return _undetected(rows)
    if word is Word.EQUIVALENT:
        return words.rare_events(rows)
    largest = sorted(rows, key=words.extent, reverse=True)
    return words.listed([f"{words.row_name(row)} {words.size_of_change(row)}" for row in largest], _NAMED)


def _undetected(rows: Sequence[Row]) -> str:
    """Return the minimum detectable effects, and the number of rows with another reason."""
    effects = words.mde_range([row for row in rows if not row.reason])
    clauses = [f"MDE {effects}"] if effects else []
    reasons = Counter(row.reason for row in rows if row.reason)
    common = reasons.most_common(_REASONS)
    clauses += [f"{counted(count, 'row')}: {reason}" for reason, count in common]
    remaining = sum(reasons.values()) - sum(count for _, count in common)
    return "; ".join(clauses) + (f"; {remaining} more for other reasons" if remaining else "")
