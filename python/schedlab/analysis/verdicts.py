"""Verdicts: per row, each variant against the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan, sqrt
from typing import Literal

import polars as pl

from schedlab.analysis.multiplicity import Correction, adjust
from schedlab.analysis.paired import estimate, log_ratios, p_equivalent
from schedlab.analysis.resolution import blocks_for_a_verdict, blocks_needed, detectable
from schedlab.analysis.signflip import p_value

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
    """How strictly to judge; see ``[analysis]`` of the experiment file. ``seed`` is for tests that draw flips."""

    alpha: float = 0.05
    delta: float = 0.01
    correction: Correction = "holm"
    seed: int = 0


@dataclass(frozen=True)
class Verdict:
    """What is known of one variant in one row.

    ``ratio`` is variant / baseline, ``low`` and ``high`` its interval at 1 − alpha, unadjusted. ``p`` is raw, the
    verdict follows from ``p_adjusted`` (over the variant's rows). ``detectable`` is the relative change that this
    many blocks would have found four times in five, ``blocks_needed`` the blocks that would find one of delta.
    Where nothing is known a number is nan; ``reason`` then says why.
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
    reason: str = ""


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


def judge(
    samples: pl.DataFrame,
    questions: Sequence[Question],
    baseline: str,
    variants: Sequence[str],
    control: str | None,
    options: Options,
) -> list[Verdict]:
    """A verdict for each question and each variant but the baseline, in that order.

    The correction is made over the rows of each variant: every variant is a question of its own, its rows are the
    many chances to answer it wrongly. The A/A control forms a family of its own and changes nobody's verdict.
    """
    cells = block_means(samples)
    verdicts: dict[tuple[int, str], Verdict] = {}
    for variant in variants:
        if variant == baseline:
            continue
        raw = [
            _compare(question, cells, baseline, variant, variant == control, options, len(questions))
            for question in questions
        ]
        for i, verdict in enumerate(_correct(raw, options)):
            verdicts[i, variant] = verdict
    return [verdicts[key] for key in sorted(verdicts, key=lambda key: (key[0], list(variants).index(key[1])))]


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
    found = estimate(ratios, 1 - options.alpha)
    if found.blocks < 2:
        return replace(unknown, n=found.blocks, ratio=found.ratio, reason="fewer than two blocks pair up")
    level = options.alpha if options.correction == "none" else options.alpha / tests
    return replace(
        unknown,
        n=found.blocks,
        ratio=found.ratio,
        low=found.low,
        high=found.high,
        p=p_value(ratios, options.seed),
        p_equivalent=p_equivalent(ratios, options.delta),
        detectable=detectable(found.spread, found.blocks, level),
        blocks_needed=blocks_needed(
            found.spread, options.delta, options.alpha, tests if options.correction != "none" else 1
        ),
    )


def _correct(raw: Sequence[Verdict], options: Options) -> list[Verdict]:
    """Adjust a family's p values over the rows that have one, and find the words."""
    known = [i for i, verdict in enumerate(raw) if verdict.n >= 2]
    different = adjust([raw[i].p for i in known], options.correction)
    same = adjust([raw[i].p_equivalent for i in known], options.correction)
    corrected = list(raw)
    needed = blocks_for_a_verdict(options.alpha, len(raw) if options.correction != "none" else 1)
    for i, p, q in zip(known, different, same, strict=True):
        verdict = raw[i]
        word = _word(verdict, p, q, options.alpha)
        reason = ""
        if word == "inconclusive" and verdict.n < needed:
            reason = f"{verdict.n} blocks cannot show any difference here; {needed} can"
        corrected[i] = replace(verdict, p_adjusted=p, p_equivalent=q, word=word, reason=reason)
    return corrected


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
