"""Each verdict word and each warning text is declared once in the package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import schedlab
from schedlab.analysis.warnings import Kind
from schedlab.report import words
from schedlab.report.document import Row
from schedlab.results import kinds
from schedlab.results.words import Word

PACKAGE = Path(schedlab.__file__).parent
JUDGING = ("analysis", "execution", "findings", "report", "results", "store")
"""Modules that handle verdicts. Elsewhere ``better`` and ``worse`` are options of commands."""
SOURCE = {
    path.relative_to(PACKAGE): path.read_text(encoding="utf-8")
    for pattern in ("*.py", "*.j2", "*.js")
    for path in PACKAGE.rglob(pattern)
}


def occurrences(pattern: str) -> int:
    # A table of printed figures has an attribute of this name.
    texts = (text for path, text in SOURCE.items() if path.parts[0] in JUDGING)
    return sum(len(re.findall(pattern, text.replace('AliasPath("table", "better")', ""))) for text in texts)


@pytest.mark.parametrize("word", [*map(str, Word), words.CONTROL])
def test_a_verdict_word_is_declared_once(word: str) -> None:
    assert occurrences(f"[\"']{word}[\"']") == 1
    assert occurrences(f">{word}<") == 0


@pytest.mark.parametrize("kind", Kind)
def test_the_text_and_the_advice_of_a_warning_are_declared_once(kind: Kind) -> None:
    for text in (kind.text, kind.advice):
        fragment = max(re.split(r"\{[^}]*\}", text), key=len)
        if fragment:
            assert sum(body.count(fragment) for body in SOURCE.values()) == 1
    assert kind.advice


def test_a_kind_of_warning_equals_its_published_name() -> None:
    assert Kind("other-machines") is Kind.MACHINES
    assert str(Kind.MODES) == "two-modes"


@pytest.mark.parametrize(
    ("value", "exact", "expected"),
    [
        (10062.0, True, "312 more instructions: exact for this kernel build; 6 random seeds agree"),
        (9748.5, True, "1.5 fewer instructions: exact for this kernel build; 6 random seeds agree"),
        (9750.0, True, "the same instructions under 6 random seeds"),
        (10062.0, False, "312 more instructions over 6 random seeds"),
    ],
)
def test_a_verdict_on_counted_instructions_names_their_number(value: float, exact: bool, expected: str) -> None:
    row = Row.model_construct(
        unit="instructions", baseline=9750.0, value=value, ratio=value / 9750, exact=exact, n=6, kind=kinds.COUNTED
    )
    assert words.instructions(row) == expected
    assert words.measure("time", "instructions") == "time [instructions, counted]"
