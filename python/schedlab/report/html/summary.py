"""The answer first: per variant, how many rows came out how, and which of them say the most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, log
from typing import get_args

from schedlab.analysis.verdicts import Verdict, Word
from schedlab.findings import Findings
from schedlab.report import telling
from schedlab.report.numbers import change
from schedlab.units import counted

WORDS: tuple[Word, ...] = get_args(Word)

_NAMED = 3
"""Rows that a sentence names; the table has them all."""


_REASONS = 2
"""Reasons for knowing nothing that it names."""


@dataclass(frozen=True)
class Clause:
    """How many rows have a word, and what to say of them."""

    word: Word
    count: int
    text: str


@dataclass(frozen=True)
class Answer:
    """What is known of one variant over all its rows; ``clauses`` only for words that occur."""

    variant: str
    rows: int
    clauses: tuple[Clause, ...]


def answers(findings: Findings, verdicts: Sequence[Verdict]) -> list[Answer]:
    """One for each variant that is compared with the baseline, in their order."""
    found = []
    for column in findings.columns[1:]:
        of_variant = [verdict for verdict in verdicts if verdict.variant == column.name]
        if of_variant:
            by_word = [(word, [verdict for verdict in of_variant if verdict.word == word]) for word in WORDS]
            clauses = tuple(Clause(word, len(those), _say(word, those)) for word, those in by_word if those)
            found.append(Answer(column.name, len(of_variant), clauses))
    return found


def _say(word: Word, verdicts: Sequence[Verdict]) -> str:
    if word == "inconclusive":
        return _unseen(verdicts)
    if word == "equivalent":
        return ""
    largest = sorted(verdicts, key=lambda verdict: -abs(log(verdict.ratio)))
    return telling.listed([f"{telling.row_name(one.question)} {change(one.ratio)}" for one in largest], _NAMED)


def _unseen(verdicts: Sequence[Verdict]) -> str:
    """Which change would have been seen, and for how many rows there is another reason why nothing is known."""
    seen = sorted(verdict.detectable for verdict in verdicts if isfinite(verdict.detectable) and not verdict.reason)
    told = []
    if seen:
        low, high = f"{100 * seen[0]:.1f}", f"{100 * seen[-1]:.1f}"
        told.append(f"{f'a change of {low}' if low == high else f'changes of {low} to {high}'} % would have been seen")
    reasons = Counter(verdict.reason for verdict in verdicts if verdict.reason)
    told += [f"{counted(count, 'row')}: {reason}" for reason, count in reasons.most_common(_REASONS)]
    rest = sum(reasons.values()) - sum(count for _, count in reasons.most_common(_REASONS))
    return "; ".join(told) + (f"; {rest} more for other reasons" if rest else "")
