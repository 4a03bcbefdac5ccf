"""Verdicts: per row, each variant against the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan, sqrt
from typing import Literal

import polars as pl

from schedlab.analysis.multiplicity import Correction, adjust
from schedlab.analysis.paired import estimate, log_ratios, p_equivalent
from schedlab.analysis.resolution import blocks_for_a_verdict, blocks_needed, detectable
from schedlab.analysis.signflip import p_value

Family = Literal["variant", "run"]
Word = Literal["better", "worse", "equivalent", "inconclusive"]


@dataclass(frozen=True)
class Question:
    """One row to judge: a metric of a workload with one set of parameters (canonical JSON)."""

    workload: str
    parameters: str
    metric: str
    unit: str
    direction: Literal["lower", "higher"]


@dataclass(frozen=True)
class Options:
    """How strictly to judge; see ``[analysis]`` of the experiment file. ``seed`` is for tests that draw flips.

    ``family`` is what the correction is made over: the rows of each variant, each variant being a question of its own
    with its rows the many chances to answer it wrongly; or all rows of all variants of the run.
    """

    alpha: float = 0.05
    delta: float = 0.01
    correction: Correction = "holm"
    family: Family = "variant"
    seed: int = 0


@dataclass(frozen=True)
class Verdict:
    """What is known of one variant in one row.

    ``ratio`` is variant / baseline, ``low`` and ``high`` its interval at 1 − alpha, unadjusted. ``p`` is raw, the
    verdict follows from ``p_adjusted`` (over the variant's rows). ``detectable`` is the relative change that this
    many blocks would have found four times in five, ``blocks_needed`` the blocks that would find one of delta.
    ``failed`` counts the trials of both that failed. Where nothing is known a number is nan; ``reason`` says why.
    ``in_noise_band``: the ratio lies inside the interval of the A/A control in the same row, so that a change of
    nothing could have come out like this; the word is the test's all the same.
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


def block_means(samples: pl.DataFrame) -> dict[tuple[str, str, str, str], dict[int, float]]:
    """Mean over a block's iterations, by (workload, parameters, metric, variant), then by block.

    ``samples`` has columns workload, parameters, metric, variant, block, value; iterations are not independent and
    never count as more than one block.
    """
    keys = ["workload", "parameters", "metric", "variant"]
    means = samples.group_by([*keys, "block"]).agg(pl.col("value").mean()).sort([*keys, "block"])
    cells: dict[tuple[str, str, str, str], dict[int, float]] = {}
    for workload, parameters, metric, variant, block, value in means.iter_rows():
        cells.setdefault((workload, parameters, metric, variant), {})[block] = value
    return cells


Failures = Mapping[tuple[str, str, str], tuple[int, int]]
"""Trials that failed, and trials recorded, by workload, parameters and variant."""

TOLERATED = 0.05
"""The share of a cell's trials that may fail before what is left is no fair sample of it."""


def judge(
    samples: pl.DataFrame,
    questions: Sequence[Question],
    variants: Sequence[str],
    control: str | None,
    options: Options,
    failures: Failures | None = None,
) -> list[Verdict]:
    """A verdict for each question and each variant but the first, the baseline, in that order.

    The A/A control forms a family of its own and changes nobody's verdict. Trials that fail are seldom the average
    ones, so a cell that lost more than 5 % of them is not judged by those that survived.
    """
    cells, (baseline, *others) = block_means(samples), variants
    comparing = [name for name in others if name != control]
    tests = len(questions) * (len(comparing) if options.family == "run" else 1)
    tests = max(tests, 1) if options.correction != "none" else 1
    raw = {
        (i, name): _lost(
            _compare(question, cells, baseline, name, name == control, options, tests), baseline, failures or {}
        )
        for i, question in enumerate(questions)
        for name in others
    }
    verdicts: dict[tuple[int, str], Verdict] = {}
    for family in _families(comparing, control, options):
        keys = [key for key in raw if key[1] in family]
        verdicts |= zip(keys, _correct([raw[key] for key in keys], options, tests), strict=True)
    bands = {i: verdict for (i, name), verdict in verdicts.items() if name == control}
    return [_beside(verdicts[key], bands.get(key[0])) for key in raw]


def _beside(verdict: Verdict, control: Verdict | None) -> Verdict:
    """The verdict, marked where its ratio lies inside the control's interval; nan is inside of nothing."""
    if control is None or verdict.control:
        return verdict
    return replace(verdict, in_noise_band=control.low <= verdict.ratio <= control.high)


def _families(comparing: Sequence[str], control: str | None, options: Options) -> list[set[str]]:
    """The sets of variants whose rows are corrected together."""
    together = [set(comparing)] if options.family == "run" else [{name} for name in comparing]
    return together + ([{control}] if control is not None else [])


def _lost(verdict: Verdict, baseline: str, failures: Failures) -> Verdict:
    """The verdict with its failed trials counted, and with no p value where they are too many."""
    row = (verdict.question.workload, verdict.question.parameters)
    counts = {name: failures.get((*row, name), (0, 0)) for name in (baseline, verdict.variant)}
    verdict = replace(verdict, failed=sum(failed for failed, _ in counts.values()))
    for name, (failed, recorded) in counts.items():
        if recorded and failed / recorded > TOLERATED and not verdict.reason:
            reason = f"{failed} of {recorded} trials of {name} failed; those left are no fair sample"
            return replace(verdict, p=nan, p_equivalent=nan, reason=reason)
    return verdict


def _compare(
    question: Question,
    cells: Mapping[tuple[str, str, str, str], dict[int, float]],
    baseline: str,
    variant: str,
    control: bool,
    options: Options,
    tests: int,
) -> Verdict:
    row = (question.workload, question.parameters, question.metric)
    below, above = cells.get((*row, baseline), {}), cells.get((*row, variant), {})
    unknown = Verdict(
        question, variant, control, 0, _mean(below), _spread(below), _mean(above),
        nan, nan, nan, nan, nan, nan, "inconclusive", nan, None,
    )  # fmt: skip
    if not below or not above:
        who = " and ".join(name for name, cell in ((baseline, below), (variant, above)) if not cell)
        return replace(unknown, reason=f"no measurement of {who}")
    try:
        ratios = log_ratios(below, above)
    except ValueError as error:
        return replace(unknown, reason=str(error))
    found = estimate(ratios, 1 - options.alpha, options.seed)
    if found.blocks < 2:
        return replace(unknown, n=found.blocks, ratio=found.ratio, reason="fewer than two blocks pair up")
    return replace(
        unknown,
        n=found.blocks,
        ratio=found.ratio,
        low=found.low,
        high=found.high,
        p=p_value(ratios, options.seed),
        p_equivalent=p_equivalent(ratios, options.delta),
        detectable=detectable(found.spread, found.blocks, options.alpha / tests),
        blocks_needed=blocks_needed(found.spread, options.delta, options.alpha, tests),
    )


def _correct(raw: Sequence[Verdict], options: Options, tests: int) -> list[Verdict]:
    """Adjust a family's p values and find the words; a row without a p still counts as one that was asked."""
    different = adjust([1.0 if isnan(verdict.p) else verdict.p for verdict in raw], options.correction)
    same = adjust([1.0 if isnan(verdict.p) else verdict.p_equivalent for verdict in raw], options.correction)
    needed = blocks_for_a_verdict(options.alpha, tests)
    return [_worded(*row, needed, options) for row in zip(raw, different, same, strict=True)]


def _worded(verdict: Verdict, p_different: float, p_same: float, needed: int, options: Options) -> Verdict:
    if isnan(verdict.p):
        return verdict
    word, reason = _word(verdict, p_different, p_same, options.alpha), ""
    # Benjamini-Hochberg lets many rows with the smallest p possible carry each other; the others do not.
    if word == "inconclusive" and verdict.n < needed and options.correction != "benjamini-hochberg":
        reason = f"{verdict.n} blocks cannot show any difference here; {needed} can"
    return replace(verdict, p_adjusted=p_different, p_equivalent=p_same, word=word, reason=reason)


def _word(verdict: Verdict, p_different: float, p_same: float, alpha: float) -> Word:
    # A difference that is shown is told even when it is also shown to be small: it is what was asked first.
    if p_different <= alpha and verdict.ratio != 1:
        return "better" if (verdict.ratio > 1) == (verdict.question.direction == "higher") else "worse"
    return "equivalent" if p_same <= alpha else "inconclusive"


def _mean(cell: Mapping[int, float]) -> float:
    return sum(cell.values()) / len(cell) if cell else nan


def _spread(cell: Mapping[int, float]) -> float:
    """Sample standard deviation of block means; nan below two."""
    if len(cell) < 2:
        return nan
    mean = _mean(cell)
    return sqrt(sum((value - mean) ** 2 for value in cell.values()) / (len(cell) - 1))
