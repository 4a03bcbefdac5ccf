"""Verdicts on candidates whose trials fail: lost trials count as the worst values."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from schedlab.analysis.cells import Blocks
from schedlab.analysis.eprocess import Anytime, judge_candidate
from schedlab.analysis.rows import Question, RowKey
from schedlab.results.words import Word

ROW: RowKey = ("w", "{}", "time")
ALPHA = 0.025


def judged(trials: NDArray[np.float64], direction: str = "lower") -> Anytime:
    """Judge a candidate by trials of shape (blocks, 2): baseline and candidate; nan is a lost trial."""
    numbers = range(1, len(trials) + 1)
    frame = pl.DataFrame(
        {
            "block": np.repeat(np.arange(1, len(trials) + 1), 2),
            "variant": ["base", "new"] * len(trials),
            "value": trials.ravel(),
        }
    ).with_columns(workload=pl.lit(ROW[0]), parameters=pl.lit(ROW[1]), metric=pl.lit(ROW[2]))
    blocks = Blocks(frame, {(*ROW[:2], name): dict.fromkeys(numbers, 1) for name in ("base", "new")})
    return judge_candidate(blocks, Question(*ROW, "s", direction), "base", "new", ALPHA, 0.01)  # type: ignore[arg-type]


def trials(seed: int, blocks: int, faster: float = 0.0) -> NDArray[np.float64]:
    """Draw trials with a standard deviation of 2 % of a baseline and of a faster candidate."""
    return np.exp(np.random.default_rng(seed).normal((0, -faster), 0.02, (blocks, 2)))


def without(values: NDArray[np.float64], candidate: list[int], baseline: list[int] | None = None) -> Anytime:
    """Judge trials after the candidate and the baseline have lost the trials of these blocks."""
    lost = values.copy()
    lost[baseline or [], 0] = np.nan
    lost[candidate, 1] = np.nan
    return judged(lost)


@pytest.mark.parametrize(("seed", "blocks"), [(140, 80), (146, 120)])
def test_an_equal_candidate_whose_slowest_trials_fail_is_not_better(seed: int, blocks: int) -> None:
    values, slow = trials(seed, blocks), np.exp(0.035)
    assert judged(values).word is Word.INCONCLUSIVE
    fails = values[:, 1] > slow
    assert judged(values[~fails]).word is Word.BETTER
    found = without(values, np.flatnonzero(fails).tolist())
    assert found.word is Word.INCONCLUSIVE
    assert f"trials of new and 0 of {blocks} of base have no value" in found.reason


def test_a_faster_candidate_that_hangs_now_and_then_is_neither_better_nor_equivalent() -> None:
    values = trials(1, 60, 0.05)
    assert judged(values).word is Word.BETTER
    found = without(values, [20, 50])
    assert found.word is Word.INCONCLUSIVE
    assert found.reason == (
        "2 of 60 trials of new and 0 of 60 of base have no value; without these trials the row would be better"
    )
    same = np.exp(np.random.default_rng(2).normal(0, 0.001, (60, 2)))
    assert judged(same).word is Word.EQUIVALENT
    assert without(same, [20]).word is Word.INCONCLUSIVE


def test_a_clear_gain_is_better_if_the_baseline_lost_as_many_trials() -> None:
    values = trials(1, 60, 0.05)
    assert without(values, [20, 50], [10, 30]).word is Word.BETTER
    assert without(values, [], [10, 30]).word is Word.BETTER


def test_a_slower_candidate_is_not_worse_if_the_baseline_lost_more_trials() -> None:
    values = trials(1, 60, -0.05)
    assert judged(values).word is Word.WORSE
    assert without(values, [], [10]).word is Word.INCONCLUSIVE
    assert without(values, [30], [10]).word is Word.WORSE


def test_lost_trials_as_the_worst_values_lower_the_evidence_and_widen_the_bounds() -> None:
    values = trials(3, 40, 0.03)
    whole, lost = judged(values), without(values, [5], [20])
    assert lost.shown.log_above < whole.shown.log_above
    assert lost.shown.low <= whole.shown.low
    assert lost.shown.high >= whole.shown.high


def test_a_small_gain_that_the_worst_values_undo_has_no_verdict() -> None:
    """The lost trials are as many, so that only the worst values speak against the candidate."""
    values = trials(8, 44, 0.02)
    values[3, 0] = 1.5
    found = without(values, [10, 11], [12, 13])
    assert found.word is Word.INCONCLUSIVE
    assert "with the worst values for these trials the row would be inconclusive" in found.reason


@pytest.mark.parametrize("direction", ["lower", "higher"])
def test_a_candidate_that_lost_many_trials_has_no_verdict(direction: str) -> None:
    values = trials(1, 40, 0.3 if direction == "lower" else -0.3)
    assert judged(values, direction).word is Word.BETTER
    values[:3] = np.nan
    assert "3 of 40 trials of base failed" in judged(values, direction).reason
