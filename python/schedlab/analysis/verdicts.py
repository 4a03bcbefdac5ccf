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
from schedlab.analysis.resolution import blocks_for_a_verdict, blocks_needed, detectable
from schedlab.analysis.rows import Question as Question  # noqa: PLC0414 - re-exported for callers that judge
from schedlab.analysis.rows import Word
from schedlab.analysis.sequential import Course, course, nominal, overall
from schedlab.analysis.signflip import p_value
from schedlab.units import counted

Family = Literal["variant", "run"]

Interval = Literal["sign-flip", "bootstrap"]


@dataclass(frozen=True)
class Options:
    """Options of the analysis; see ``[analysis]`` of the experiment file.

    Attributes:
        alpha: error level of a verdict after the correction.
        delta: relative changes up to which two variants are equivalent.
        correction: method of the correction for many rows.
        family: rows that are corrected together: those of each variant, or those of all variants of the run.
        seed: random seed of the tests that draw flips.
        interval: method of the intervals.
        looks: blocks after which a sequential design has an interim analysis, the last of them its full size; empty for
            a fixed design.
    """

    alpha: float = 0.05
    delta: float = 0.01
    correction: Correction = "holm"
    family: Family = "variant"
    seed: int = 0
    interval: Interval = "sign-flip"
    looks: tuple[int, ...] = ()

    def strictest(self, tests: int) -> float:
        """Return the level of the first of ``tests`` rows under the correction, with all blocks measured."""
        level = self.alpha / max(tests, 1)
        return nominal(self.looks, level)[-1] if self.looks else level


@dataclass(frozen=True)
class Verdict:
    """Result for one variant in one row. Unknown numbers are nan; ``reason`` says why.

    Attributes:
        question: the row.
        variant: name of the variant.
        control: whether the variant is the A/A control.
        n: paired: number of blocks with both; unpaired: size of the smaller group.
        baseline_mean, baseline_spread: mean and standard deviation of the baseline's block means.
        mean: mean of the variant's block means.
        ratio: variant / baseline.
        low, high: interval of the ratio at 1 − level, not adjusted for many rows.
        p: raw p of "there is no difference".
        p_adjusted: p adjusted over the family's rows, compared with alpha.
        p_equivalent: p of "the ratio lies outside ±delta", adjusted likewise.
        word: the verdict.
        detectable: minimum detectable effect: the relative change that this many blocks find with 80 % power.
        blocks_needed: number of blocks that find a change of delta with 80 % power; None above 100,000.
        failed: number of failed trials of both.
        reason: why numbers are unknown, or why no verdict was possible.
        in_noise_band: whether the ratio lies inside the interval of the A/A control in the same row. An effect of zero
            could then have produced it; the word remains that of the test.
        method: paired by block, or two groups without pairs.
        p_mann_whitney: p of the rank test, for unpaired rows.
        level: alpha for a fixed design, the nominal level of the last interim analysis for a sequential one.
        decided: in a sequential design, the block after which the row had its verdict.
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
    """The p values of one comparison before the correction: one for each interim analysis, one for a fixed design."""

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
    """Return a verdict for each question and each variant but the first, the baseline, in that order.

    Args:
        samples: columns workload, parameters, metric, variant, block, value: single iterations or their means.
        questions: the rows.
        variants: names of the variants, the baseline first.
        control: name of the A/A control among them, if any. It is a family of its own and affects no other verdict.
        options: options of the analysis.
        failures: failed and recorded trials of each cell. Failed trials are seldom average ones, so that a cell with
            more than 5 % failed trials is not judged.
        done: number of complete blocks, for a sequential design. Only blocks up to its last interim analysis count.
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
    return [_compared_with_control(verdicts[key], bands.get(key[0])) for key in raw]


def tests_of(rows: int, variants: int, options: Options) -> int:
    """Return the number of tests that are corrected together."""
    tests = rows * (variants if options.family == "run" else 1)
    return max(tests, 1) if options.correction != "none" else 1


def families(comparing: Sequence[str], control: str | None, options: Options) -> list[set[str]]:
    """Return the sets of variants whose rows are corrected together."""
    variants = [set(comparing)] if options.family == "run" else [{name} for name in comparing]
    return variants + ([{control}] if control is not None else [])


def correct(raw: Sequence[tuple[Verdict, Evidence]], options: Options, tests: int) -> list[Verdict]:
    """Adjust a family's p values and set the words. A row without a p counts as a test too."""
    analyses = max((len(evidence.different) for _, evidence in raw), default=1)
    verdicts = [verdict for verdict, _ in raw]
    for i in range(analyses):
        different = adjust([_at(evidence.different, i) for _, evidence in raw], options.correction)
        same = adjust([_at(evidence.same, i) for _, evidence in raw], options.correction)
        block = options.looks[i] if options.looks else None
        verdicts = [_worded(*row, block, options) for row in zip(verdicts, different, same, strict=True)]
    needed = blocks_for_a_verdict(options.strictest(tests), 1)
    return [_explained(verdict, needed, options) for verdict in verdicts]


def word(question: Question, ratio: float, p_different: float, p_same: float, alpha: float) -> Word:
    """Return the verdict that follows from corrected p values.

    A ratio inside ±delta is equivalent, even if it significantly differs from 1: where blocks have next to no spread,
    as in simulations, differences of 0.001 % are significant.
    """
    if p_same <= alpha:
        return Word.EQUIVALENT
    if p_different <= alpha and ratio != 1:
        return Word.BETTER if (ratio > 1) == (question.direction == "higher") else Word.WORSE
    return Word.INCONCLUSIVE


def _at(p_values: Sequence[float], analysis: int) -> float:
    return p_values[min(analysis, len(p_values) - 1)]


def _worded(verdict: Verdict, p_different: float, p_same: float, block: int | None, options: Options) -> Verdict:
    """Set the word of a verdict at the interim analysis after ``block``."""
    if isnan(verdict.p):
        return verdict
    result = word(verdict.question, verdict.ratio, p_different, p_same, options.alpha)
    decided = verdict.decided if verdict.decided is not None or result is Word.INCONCLUSIVE else block
    return replace(verdict, p_adjusted=p_different, p_equivalent=p_same, word=result, decided=decided)


def _explained(verdict: Verdict, needed: int, options: Options) -> Verdict:
    """Give the reason of an inconclusive verdict with too few blocks for any other."""
    # Under Benjamini-Hochberg many rows with the smallest possible p support each other, so that fewer blocks suffice.
    if isnan(verdict.p) or verdict.word is not Word.INCONCLUSIVE or options.correction == "benjamini-hochberg":
        return verdict
    if verdict.method == "unpaired" or verdict.n >= needed:
        return verdict
    return replace(verdict, reason=f"{counted(verdict.n, 'block')} cannot show any difference here; {needed} can")


def _compared_with_control(verdict: Verdict, control: Verdict | None) -> Verdict:
    """Mark a verdict whose ratio lies inside the control's interval; nan lies inside no interval."""
    if control is None or verdict.control:
        return verdict
    return replace(verdict, in_noise_band=control.low <= verdict.ratio <= control.high)


Floats = NDArray[np.float64]


class _Pairs:
    """The block means of a run, and the comparison of each variant with the baseline."""

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
        """Compare one variant with the baseline in one row, before any correction."""
        row = (question.workload, question.parameters, question.metric)
        below, above = (self._means.get((*row, name), {}) for name in (self._baseline, variant))
        verdict = Verdict(
            question, variant, variant == self._control, 0, cells.mean(below), cells.spread(below), cells.mean(above),
            nan, nan, nan, nan, nan, nan, Word.INCONCLUSIVE, nan, None, failed=self._failed(question, variant),
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
        options, before_first = self._options, self._taken is not None and not self._taken.taken
        confidence = 1 - (options.alpha if before_first else self._level)
        effect = estimate(ratios, confidence, options.seed)
        if effect.blocks < 2:
            return replace(verdict, ratio=effect.ratio, reason="fewer than two blocks pair up"), Evidence()
        low, high = effect.low, effect.high
        if options.interval == "bootstrap":
            low, high = self._bootstrap(verdict, blocks, confidence)
        verdict = replace(
            verdict,
            ratio=effect.ratio,
            low=low,
            high=high,
            detectable=detectable(effect.spread, effect.blocks, self._strictest),
            blocks_needed=blocks_needed(effect.spread, options.delta, self._strictest, 1),
        )
        for name in (self._baseline, verdict.variant):
            question = verdict.question
            if reason := cells.failed_too_often(self._failures, question.workload, question.parameters, name):
                return replace(verdict, reason=reason), Evidence()
        if before_first:
            return replace(verdict, reason=f"no interim analysis before block {options.looks[0]}"), Evidence()
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
