"""Differences of counted instructions that need no test, because all random seeds agree."""

from __future__ import annotations

from dataclasses import replace
from math import isnan

import pytest

from schedlab.analysis.exact import with_exact
from schedlab.analysis.verdicts import Question, Verdict
from tests.analysis.test_verdicts import TIME, samples, verdict_of

INSTRUCTIONS = Question("w", "{}", "time", "instructions", "lower")


def decided(
    base: list[float], new: list[float], question: Question = INSTRUCTIONS, failed: int = 0
) -> tuple[Verdict, Verdict]:
    """Return the verdict of the test, and the verdict with exact differences."""
    values = {"base": base, "new": new}
    verdict = replace(verdict_of(values, question), failed=failed)
    (exact,) = with_exact([verdict], samples(values, question), "base", 0.01)
    return verdict, exact


@pytest.mark.parametrize(
    ("difference", "word"), [(312, "worse"), (-975, "better"), (40, "equivalent"), (0, "equivalent")]
)
@pytest.mark.parametrize("base", [[9750.0, 9750.0], [9750.0, 9800.0]])
def test_equal_differences_of_counted_instructions_decide_with_few_random_seeds(
    base: list[float], difference: float, word: str
) -> None:
    verdict, exact = decided(base, [value + difference for value in base])
    assert verdict.word == "inconclusive"
    assert (exact.word, exact.exact, exact.reason) == (word, True, "")
    assert isnan(exact.event_share)


def test_rounding_errors_below_a_tenth_of_an_instruction_are_equal() -> None:
    assert decided([9750.0, 9800.0], [10062.01, 10111.99])[1].exact


@pytest.mark.parametrize(
    ("base", "new", "question"),
    [
        ([1.0, 1.0], [1.1, 1.3], INSTRUCTIONS),
        ([100.0, 200.0], [110.0, 220.0], INSTRUCTIONS),
        ([1.0], [1.1], INSTRUCTIONS),
        ([1.0, 1.0], [1.1, 1.1], TIME),
    ],
)
def test_other_differences_stay_as_they_are_judged(base: list[float], new: list[float], question: Question) -> None:
    verdict, exact = decided(base, new, question)
    assert exact == verdict


def test_a_row_with_lost_trials_is_not_exact() -> None:
    verdict, exact = decided([1.0, 1.0], [2.0, 2.0], failed=1)
    assert exact == verdict


def test_a_rise_from_0_is_worse() -> None:
    assert decided([0.0, 0.0], [5.0, 5.0])[1].word == "worse"


def test_a_row_without_a_ratio_is_not_exact() -> None:
    verdict, exact = decided([0.0, 0.0], [0.0, 0.0])
    assert isnan(verdict.ratio)
    assert not exact.exact
