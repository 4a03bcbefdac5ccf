"""Effects that are judged together within a row and corrected over rows: steps of a stack, effects of switches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isnan, nan

import numpy as np
from numpy.typing import NDArray

from schedlab.analysis.cells import Blocks
from schedlab.analysis.multiplicity import adjust
from schedlab.analysis.paired import EQUIVALENT_FROM, p_equivalent, ratio_of, steps_unknown
from schedlab.analysis.power import freedom_of
from schedlab.analysis.resolution import Rule, detectable
from schedlab.analysis.sequential import Course, nominal
from schedlab.analysis.signflip import p_value
from schedlab.analysis.simultaneous import by_block, joint, step_down
from schedlab.analysis.verdicts import Options, Question, event_share, word
from schedlab.results.words import Word

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Effect:
    """A ratio over ``n`` blocks; 1 means no effect. Unknown numbers are nan, with the cause in ``reason``.

    Attributes:
        question: the row.
        name: name of the step or the switch.
        n: number of blocks.
        ratio: with the change / without it.
        low, high: interval. The intervals of a row contain all its effects simultaneously at 1 − alpha. At an interim
            analysis the intervals are wider, because they hold simultaneously over all analyses.
        p: p adjusted over the row's effects (Westfall & Young), not over interim analyses.
        p_adjusted, p_equivalent: p adjusted over the effects of all rows; the word follows from both.
        word: the verdict.
        detectable: minimum detectable effect at 80 % power, as a relative change.
        reason: why numbers are unknown, or why no verdict was possible.
    """

    question: Question
    name: str
    n: int = 0
    ratio: float = nan
    low: float = nan
    high: float = nan
    p: float = nan
    p_adjusted: float = nan
    p_equivalent: float = nan
    word: Word = Word.INCONCLUSIVE
    detectable: float = nan
    reason: str = ""

    @property
    def event_share(self) -> float:
        """The share of blocks in which a rare event cannot be excluded, see :func:`event_share`."""
        return event_share(self.word, self.n)


@dataclass(frozen=True)
class RowEffects:
    """Effects of one row on the log scale by name, each of shape (blocks,), over the same ``blocks``.

    ``resolution`` is one step of the metric, relative to its values; inf if all values are equal.
    """

    blocks: Sequence[int] = ()
    logs: Mapping[str, Floats] = field(default_factory=dict)
    resolution: float = 0.0


class MeasuredRow:
    """The variants of one row that can be judged together (``variants``), in the blocks that have all these variants.

    ``faults`` are the reasons why the other variants cannot be judged.
    """

    def __init__(self, question: Question, names: Sequence[str], blocks: Blocks) -> None:
        row = question.row
        faults = {name: blocks.fault(row, name) for name in names}
        self.variants = [name for name in names if not faults[name]]
        self.faults = tuple(fault for fault in faults.values() if fault)
        self._resolution = blocks.resolution(row, self.variants)
        self._means = {name: blocks.means(row, name) for name in self.variants}
        self._worst = blocks.with_lost_as_worst(row, self.variants, question.direction)

    def effects(self, weights: Mapping[str, Floats]) -> tuple[RowEffects, RowEffects]:
        """Return the effects with these weights of the variants' logs: as measured, and with lost trials as worst."""
        return self._effects(self._means, weights), self._effects(self._worst, weights)

    def _effects(self, means: Mapping[str, Mapping[int, float]], weights: Mapping[str, Floats]) -> RowEffects:
        shared = sorted(set.intersection(*map(set, means.values()))) if means else []
        if not shared:
            return RowEffects()
        values = np.array([[means[name][block] for name in self.variants] for block in shared], dtype=np.float64)
        logs = np.log(values)
        return RowEffects(shared, {name: logs @ weight for name, weight in weights.items()}, self._resolution)


def judge_effects(
    questions: Sequence[Question],
    rows: Sequence[RowEffects],
    options: Options,
    worst: Sequence[RowEffects],
    progress: Course | None = None,
) -> list[dict[str, Effect]]:
    """Return the effects of each row by name, in the order of the row. Effects over fewer than two blocks have no test.

    A joint test has one family: all effects of all rows. Other corrections have the same family with ``family =
    "run"``; otherwise the family of an effect consists of this effect in all rows.

    Args:
        questions: the rows.
        rows: the effects of each row.
        options: options of the analysis.
        worst: the same effects with each lost trial as the worst value of its row. If they give another word, the
            effect is inconclusive.
        progress: the interim analysis of a sequential or an interrupted run.
    """
    count = sum(len(row.logs) for row in rows)
    tests = count if options.correction != "none" else 1
    analysis = -1 if progress is None else progress.taken - 1
    alpha, rule = options.alpha, options.rule(tests, analysis=analysis)
    if progress is not None:
        alpha = nominal(progress.looks, alpha, rule.rows)[analysis] if progress.taken else 0.0
    judged = _judged(questions, rows, options, rule, alpha, progress)
    for effects, others in zip(judged, _judged(questions, worst, options, rule, alpha, progress), strict=True):
        for name, effect in effects.items():
            if name in others and others[name].word is not effect.word:
                reason = f"{others[name].word} with its lost trials as the worst values, {effect.word} without them"
                effects[name] = replace(effect, word=Word.INCONCLUSIVE, reason=reason)
    return judged


def _judged(
    questions: Sequence[Question],
    rows: Sequence[RowEffects],
    options: Options,
    rule: Rule,
    alpha: float,
    progress: Course | None,
) -> list[dict[str, Effect]]:
    """Return the effects of each row with their words, at the nominal level ``alpha`` of the analysis."""
    effects_of_rows = [
        _of_row(question, row, options, rule, progress) for question, row in zip(questions, rows, strict=True)
    ]
    cells = [(effects, row, name) for effects, row in zip(effects_of_rows, rows, strict=True) for name in effects]
    tested = [(effects, row, name) for effects, row, name in cells if not isnan(effects[name].p)]
    p_same = adjust([effects[name].p_equivalent for effects, _, name in tested], options.correction)
    for (effects, _, name), p, same in zip(tested, _different(tested, len(rows), options), p_same, strict=True):
        result = word(effects[name].question, effects[name].ratio, p, same, alpha)
        effects[name] = replace(effects[name], p_adjusted=p, p_equivalent=same, word=result)
    return effects_of_rows


def _different(tested: Sequence[tuple[dict[str, Effect], RowEffects, str]], rows: int, options: Options) -> list[float]:
    """Return the p of each effect, adjusted over all effects of all rows."""
    logs = [dict(zip(row.blocks, row.logs[name].tolist(), strict=True)) for _, row, name in tested]
    if options.correction == "none":
        return [effects[name].p for effects, _, name in tested]
    if options.correction != "max-t" and options.family == "run":
        return adjust([p_value(row.logs[name], options.seed) for _, row, name in tested], options.correction)
    if options.correction != "max-t":
        # p is already adjusted over the effects of its row. The correction is over the rows.
        adjusted = [1.0] * len(tested)
        for name in dict.fromkeys(name for *_, name in tested):
            indices = [i for i, (*_, other) in enumerate(tested) if other == name]
            missing = [1.0] * (rows - len(indices))
            p_values = adjust([tested[i][0][name].p for i in indices] + missing, options.correction)
            for i, p in zip(indices, p_values, strict=False):
                adjusted[i] = p
        return adjusted
    return [float(p) for p in step_down(by_block(logs), options.seed)]


def _of_row(
    question: Question, row: RowEffects, options: Options, rule: Rule, progress: Course | None
) -> dict[str, Effect]:
    """Estimate the effects of one row."""
    if not row.logs:
        return {}
    effects = np.column_stack(list(row.logs.values()))
    n, _ = effects.shape
    if n < 2:
        reason = "fewer than two blocks have every variant that the effect needs"
        return {
            name: Effect(
                question=question, name=name, n=n, ratio=ratio_of(float(logs.mean())) if n else nan, reason=reason
            )
            for name, logs in row.logs.items()
        }
    level = progress.interval_level(options.alpha, len(row.logs)) if progress is not None else options.alpha
    estimates = joint(effects, 1 - level, options.seed)
    spreads, deviations = effects.std(axis=0, ddof=1), effects - effects.mean(axis=0)
    return {
        name: Effect(
            question=question,
            name=name,
            n=n,
            ratio=ratio_of(float(estimates.estimates[i])),
            low=ratio_of(float(estimates.low[i])),
            high=ratio_of(float(estimates.high[i])),
            p=float(estimates.p[i]),
            p_equivalent=p_equivalent(effects[:, i], options.delta, row.resolution),
            detectable=detectable(float(spreads[i]), n, rule, freedom=freedom_of(deviations[:, i], n)),
            reason=steps_unknown(question.metric) if row.resolution == inf and n >= EQUIVALENT_FROM else "",
        )
        for i, name in enumerate(row.logs)
    }
