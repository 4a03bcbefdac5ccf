"""A significant difference is unconfirmed under heavy load or steal, and where the A/A control shows it too."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from schedlab.analysis.confirmation import (
    HEAVY_LOAD,
    HEAVY_STEAL,
    WITHIN_CONTROL,
    confirmed,
    confirmed_effects,
    of_conditions,
)
from schedlab.analysis.effects import Effect
from schedlab.analysis.rows import Question
from schedlab.analysis.verdicts import Verdict
from schedlab.results.kinds import REAL, SIMULATED
from schedlab.results.words import Word

QUESTION = Question("w", "{}", "time", "s", "lower")


def verdict(word: Word = Word.BETTER, **fields: object) -> Verdict:
    made = Verdict(QUESTION, "new", False, 8, 1.0, 0.1, 0.9, 0.9, 0.8, 0.95, 0.001, 0.001, 1.0, word, 0.05, 8)
    return replace(made, **fields)  # type: ignore[arg-type]


def conditions(steal: float, other: float) -> pl.DataFrame:
    return pl.DataFrame({"seconds": [10.0, 30.0], "steal_percent": [steal] * 2, "other_percent": [other] * 2})


@pytest.mark.parametrize(
    ("steal", "other", "doubt"),
    [
        (0.0, HEAVY_LOAD - 1, ""),
        (HEAVY_STEAL - 1, 0.0, ""),
        (0.0, 96.0, "other processes used 96 % of the CPUs' time"),
        (20.0, 0.0, "the hypervisor took 20 % of the CPUs' time"),
    ],
)
def test_heavy_load_and_steal_are_doubts_of_real_figures_only(steal: float, other: float, doubt: str) -> None:
    assert of_conditions(conditions(steal, other), REAL) == doubt
    assert of_conditions(conditions(steal, other), SIMULATED) == ""


def test_a_doubt_takes_differences_only_and_leaves_the_figures() -> None:
    better, same, control = verdict(), verdict(Word.EQUIVALENT), verdict(Word.WORSE, control=True)
    exact = verdict(exact=True)
    judged = confirmed([better, same, control, exact], "busy")
    assert [each.word for each in judged] == [Word.UNCONFIRMED, Word.EQUIVALENT, Word.WORSE, Word.BETTER]
    assert judged[0] == replace(better, word=Word.UNCONFIRMED, reason="busy")


def test_a_difference_inside_the_control_s_interval_is_unconfirmed() -> None:
    (inside, outside) = confirmed([verdict(within_control=True), verdict()], "")
    assert (inside.word, inside.reason, outside.word) == (Word.UNCONFIRMED, WITHIN_CONTROL, Word.BETTER)


def test_parts_of_a_change_are_unconfirmed_too() -> None:
    effects = [Effect(question=QUESTION, name="a", word=Word.WORSE), Effect(question=QUESTION, name="b")]
    assert [each.word for each in confirmed_effects(effects, "busy")] == [Word.UNCONFIRMED, Word.INCONCLUSIVE]
    assert confirmed_effects(effects, "") == effects
