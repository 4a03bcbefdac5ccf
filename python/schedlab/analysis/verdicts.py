"""Verdicts: per row, each variant against the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from schedlab.analysis import cells
from schedlab.analysis.bootstrap import bca
from schedlab.analysis.cells import Failures
from schedlab.analysis.multiplicity import Correction, adjust
from schedlab.analysis.paired import estimate, log_ratios, p_equivalent
from schedlab.analysis.questions import Question as Question  # noqa: PLC0414 - where judges look for it
from schedlab.analysis.resolution import blocks_for_a_verdict, blocks_needed, detectable
from schedlab.analysis.sequential import Course, course, nominal, overall
from schedlab.analysis.signflip import p_value
from schedlab.units import counted

Family = Literal["variant", "run"]
Word = Literal["better", "worse", "equivalent", "inconclusive"]
Interval = Literal["sign-flip", "bootstrap"]


@dataclass(frozen=True)
class Options:
    """How strictly to judge; see ``[analysis]`` of the experiment file. ``seed`` is for tests that draw flips.

    ``family`` is what the correction is made over: the rows of each variant, each variant being a question of its own
    with its rows the many chances to answer it wrongly; or all rows of all variants of the run. ``looks`` are the
    blocks after which a sequential design looks at the figures, the last of them its full size; none for a fixed one.
    """

    alpha: float = 0.05
    delta: float = 0.01
    correction: Correction = "holm"
    family: Family = "variant"
    seed: int = 0
    interval: Interval = "sign-flip"
    looks: tuple[int, ...] = ()

    def strictest(self, tests: int) -> float:
        """The level of the first of ``tests`` rows under the correction, with all blocks measured."""
        level = self.alpha / max(tests, 1)
        return nominal(self.looks, level)[-1] if self.looks else level


@dataclass(frozen=True)
class Verdict:
    """What is known of one variant in one row.

    ``ratio`` is variant / baseline, ``low`` and ``high`` its interval at 1 − level, unadjusted. ``p`` is raw, the
    verdict follows from ``p_adjusted`` (over the family's rows), which alpha is held against. ``detectable`` is the
    relative change that this many blocks would have found four times in five, ``blocks_needed`` the blocks that would
    find one of delta. ``failed`` counts the trials of both that failed. Where nothing is known a number is nan;
    ``reason`` says why. ``in_noise_band``: the ratio lies inside the interval of the A/A control in the same row, so
    that a change of nothing could have come out like this; the word is the test's all the same.

    ``level`` is alpha for a fixed design and the last look's nominal level for a sequential one, where ``decided`` is
    the block after which the row had its verdict. ``method`` is how it was compared: paired by block, or as two groups
    that nothing pairs, of which ``n`` is the smaller one's size and ``p_mann_whitney`` stands beside p.
    """

    question: Question
    variant: str
    control: bool
    n: int
    baseline_mean: float
    baseline_spread: float
    mean: float
    ratio: float
    low: float
    high: float
    p: float
    p_adjusted: float
    p_equivalent: float
    word: Word
    detectable: float
    blocks_needed: int | None
    failed: int = 0
    reason: str = ""
    in_noise_band: bool = False
    method: Literal["paired", "unpaired"] = "paired"
    p_mann_whitney: float = nan
    level: float = nan
    decided: int | None = None


@dataclass(frozen=True)
class Evidence:
    """The p values of one comparison that the correction takes: one for each look taken, one for a fixed design."""

    different: tuple[float, ...] = (1.0,)
    same: tuple[float, ...] = (1.0,)


def judge(
    samples: pl.DataFrame,
    questions: Sequence[Question],
    variants: Sequence[str],
    control: str | None,
    options: Options,
    failures: Failures | None = None,
    done: int | None = None,
) -> list[Verdict]:
    """A verdict for each question and each variant but the first, the baseline, in that order.

    Args:
        samples: columns workload, parameters, metric, variant, block, value: single iterations or their means.
        variants: their names, the baseline's first; ``control`` is that of the A/A control among them, if any. It
            forms a family of its own and changes nobody's verdict.
        failures: trials that fail are seldom the average ones, so a cell that lost more than 5 % of them is not judged
            by those that survived.
        done: blocks that are complete, for a sequential design: it is judged by those of the last look taken.
    """
    if options.looks:
        last = samples["block"].max() if done is None else done
        taken = course(options.looks, options.alpha, last if isinstance(last, int) else 0)
        samples = samples.filter(pl.col("block") <= taken.blocks) if taken.taken else samples
    else:
        taken = None
    comparing = [name for name in variants[1:] if name != control]
    tests = tests_of(len(questions), len(comparing), options)
    pairs = _Pairs(samples, variants[0], control, options, taken, tests, failures or {})
    raw = {(i, name): pairs.compare(row, name) for i, row in enumerate(questions) for name in variants[1:]}
    verdicts: dict[tuple[int, str], Verdict] = {}
    for family in families(comparing, control, options):
        keys = [key for key in raw if key[1] in family]
        verdicts |= zip(keys, correct([raw[key] for key in keys], options, tests), strict=True)
    bands = {i: verdict for (i, name), verdict in verdicts.items() if name == control}
    return [_beside(verdicts[key], bands.get(key[0])) for key in raw]


def tests_of(rows: int, variants: int, options: Options) -> int:
    """How many tests the correction is made over."""
    tests = rows * (variants if options.family == "run" else 1)
    return max(tests, 1) if options.correction != "none" else 1


def families(comparing: Sequence[str], control: str | None, options: Options) -> list[set[str]]:
    """The sets of variants whose rows are corrected together."""
    together = [set(comparing)] if options.family == "run" else [{name} for name in comparing]
    return together + ([{control}] if control is not None else [])


def correct(raw: Sequence[tuple[Verdict, Evidence]], options: Options, tests: int) -> list[Verdict]:
    """Adjust a family's p values and find the words; a row without a p still counts as one that was asked."""
    looks = max((len(evidence.different) for _, evidence in raw), default=1)
    found = [verdict for verdict, _ in raw]
    for look in range(looks):
        different = adjust([_at(evidence.different, look) for _, evidence in raw], options.correction)
        same = adjust([_at(evidence.same, look) for _, evidence in raw], options.correction)
        block = options.looks[look] if options.looks else None
        found = [_worded(*row, block, options) for row in zip(found, different, same, strict=True)]
    needed = blocks_for_a_verdict(options.strictest(tests), 1)
    return [_explained(verdict, needed, options) for verdict in found]


def word(question: Question, ratio: float, p_different: float, p_same: float, alpha: float) -> Word:
    """A verdict from corrected p values.

    What is shown to lie inside ±delta is equivalent, also where it is shown not to be 1: blocks that hardly spread, as
    those of a simulation, prove any difference, and one of 0.001 % makes nothing better.
    """
    if p_same <= alpha:
        return "equivalent"
    if p_different <= alpha and ratio != 1:
        return "better" if (ratio > 1) == (question.direction == "higher") else "worse"
    return "inconclusive"


def _at(p_values: Sequence[float], look: int) -> float:
    return p_values[min(look, len(p_values) - 1)]


def _worded(verdict: Verdict, p_different: float, p_same: float, block: int | None, options: Options) -> Verdict:
    if isnan(verdict.p):
        return verdict
    found = word(verdict.question, verdict.ratio, p_different, p_same, options.alpha)
    decided = verdict.decided if verdict.decided is not None or found == "inconclusive" else block
    return replace(verdict, p_adjusted=p_different, p_equivalent=p_same, word=found, decided=decided)


def _explained(verdict: Verdict, needed: int, options: Options) -> Verdict:
    # Benjamini-Hochberg lets many rows with the smallest p possible carry each other; the others do not.
    if isnan(verdict.p) or verdict.word != "inconclusive" or options.correction == "benjamini-hochberg":
        return verdict
    if verdict.method == "unpaired" or verdict.n >= needed:
        return verdict
    return replace(verdict, reason=f"{counted(verdict.n, 'block')} cannot show any difference here; {needed} can")


def _beside(verdict: Verdict, control: Verdict | None) -> Verdict:
    """The verdict, marked where its ratio lies inside the control's interval; nan is inside of nothing."""
    if control is None or verdict.control:
        return verdict
    return replace(verdict, in_noise_band=control.low <= verdict.ratio <= control.high)


Floats = NDArray[np.float64]


class _Pairs:
    """A run's figures, to be compared pair by pair."""

    def __init__(
        self,
        samples: pl.DataFrame,
        baseline: str,
        control: str | None,
        options: Options,
        taken: Course | None,
        tests: int,
        failures: Failures,
    ) -> None:
        self._means = cells.block_means(samples)
        self._values = cells.block_values(samples) if options.interval == "bootstrap" else {}
        self._baseline, self._control, self._options, self._failures = baseline, control, options, failures
        self._taken, self._strictest = taken, options.strictest(tests)
        self._level = options.alpha if taken is None else taken.level

    def compare(self, question: Question, variant: str) -> tuple[Verdict, Evidence]:
        """One variant in one row, before any correction."""
        row = (question.workload, question.parameters, question.metric)
        below, above = (self._means.get((*row, name), {}) for name in (self._baseline, variant))
        verdict = Verdict(
            question, variant, variant == self._control, 0, cells.mean(below), cells.spread(below), cells.mean(above),
            nan, nan, nan, nan, nan, nan, "inconclusive", nan, None, failed=self._failed(question, variant),
            level=self._level,
        )  # fmt: skip
        if not below or not above:
            names = [name for name, cell in ((self._baseline, below), (variant, above)) if not cell]
            return replace(verdict, reason=f"no measurement of {' and '.join(names)}"), Evidence()
        try:
            ratios = log_ratios(below, above)
        except ValueError as error:
            return replace(verdict, reason=str(error)), Evidence()
        return self._test(replace(verdict, n=len(ratios)), ratios, sorted(below.keys() & above.keys()))

    def _test(self, verdict: Verdict, ratios: Floats, blocks: list[int]) -> tuple[Verdict, Evidence]:
        options, unlooked = self._options, self._taken is not None and not self._taken.taken
        confidence = 1 - (options.alpha if unlooked else self._level)
        found = estimate(ratios, confidence, options.seed)
        if found.blocks < 2:
            return replace(verdict, ratio=found.ratio, reason="fewer than two blocks pair up"), Evidence()
        low, high = found.low, found.high
        if options.interval == "bootstrap":
            low, high = self._bootstrap(verdict, blocks, confidence)
        verdict = replace(
            verdict,
            ratio=found.ratio,
            low=low,
            high=high,
            detectable=detectable(found.spread, found.blocks, self._strictest),
            blocks_needed=blocks_needed(found.spread, options.delta, self._strictest, 1),
        )
        for name in (self._baseline, verdict.variant):
            question = verdict.question
            if reason := cells.failed_too_often(self._failures, question.workload, question.parameters, name):
                return replace(verdict, reason=reason), Evidence()
        if unlooked:
            return replace(verdict, reason=f"not looked at before block {options.looks[0]}"), Evidence()
        p_values = replace(verdict, p=p_value(ratios, options.seed), p_equivalent=p_equivalent(ratios, options.delta))
        return p_values, self._evidence(p_values, ratios, np.array(blocks))

    def _evidence(self, verdict: Verdict, ratios: Floats, blocks: NDArray[np.int64]) -> Evidence:
        options = self._options
        if self._taken is None:
            return Evidence((verdict.p,), (verdict.p_equivalent,))
        upto = [ratios[blocks <= block] for block in options.looks[: self._taken.taken]]
        return Evidence(
            overall([p_value(part, options.seed) for part in upto], options.looks, 2),
            overall([p_equivalent(part, options.delta) for part in upto], options.looks, 1),
        )

    def _bootstrap(self, verdict: Verdict, blocks: list[int], confidence: float) -> tuple[float, float]:
        question = verdict.question
        row = (question.workload, question.parameters, question.metric)
        below, above = (cells.table(self._values[*row, name], blocks) for name in (self._baseline, verdict.variant))
        return bca(below, above, confidence, self._options.seed)

    def _failed(self, question: Question, variant: str) -> int:
        row = (question.workload, question.parameters)
        return sum(self._failures.get((*row, name), (0, 0))[0] for name in (self._baseline, variant))
