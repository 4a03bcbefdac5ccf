"""Effects that are judged together within a row and corrected over rows: steps of a stack, effects of switches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, isnan, nan

import numpy as np
from numpy.typing import NDArray

from schedlab.analysis.multiplicity import adjust
from schedlab.analysis.paired import p_equivalent
from schedlab.analysis.resolution import detectable
from schedlab.analysis.rows import Word
from schedlab.analysis.simultaneous import joint
from schedlab.analysis.verdicts import Options, Question, word

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Effect:
    """A ratio over ``n`` blocks; 1 means no effect. Unknown numbers are nan; ``reason`` says why.

    Attributes:
        question: the row.
        name: name of the step or the switch.
        n: number of blocks.
        ratio: with the change / without it.
        low, high: interval, simultaneous with those of the row's other effects at 1 − alpha.
        p: p adjusted over the row's effects (Westfall & Young).
        p_adjusted, p_equivalent: p adjusted over rows too; the word follows from both.
        word: the verdict.
        detectable: minimum detectable effect at 80 % power, as a relative change.
        reason: why numbers are unknown.
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


Row = Mapping[str, Floats]
"""Effects of one row on the log scale by name, each of shape (blocks,), over the same blocks."""


def judge_effects(questions: Sequence[Question], rows: Sequence[Row], options: Options) -> list[dict[str, Effect]]:
    """Return the effects of each row by name, in its order. With fewer than two blocks they have a ratio only.

    Effects are corrected over rows as the options say: each name is a family over its rows, or all effects of all rows
    are one family. A row without an effect of that name counts as a test.
    """
    tests = len(questions) if options.correction != "none" else 1
    effects_of_rows = [_of_row(question, row, options, tests) for question, row in zip(questions, rows, strict=True)]
    names = list(dict.fromkeys(name for effects in effects_of_rows for name in effects))
    for family in [names] if options.family == "run" else [[name] for name in names]:
        cells = [(effects, name) for effects in effects_of_rows for name in family]
        members = [effects.get(name) for effects, name in cells]
        different = adjust([_or_one(effect.p if effect else nan) for effect in members], options.correction)
        same = adjust([_or_one(effect.p_equivalent if effect else nan) for effect in members], options.correction)
        for (effects, name), p, p_same in zip(cells, different, same, strict=True):
            if name in effects and not isnan(effects[name].p):
                effects[name] = _worded(effects[name], p, p_same, options)
    return effects_of_rows


def _or_one(p: float) -> float:
    return 1.0 if isnan(p) else p


def _worded(effect: Effect, p: float, p_same: float, options: Options) -> Effect:
    result = word(effect.question, effect.ratio, p, p_same, options.alpha)
    return replace(effect, p_adjusted=p, p_equivalent=p_same, word=result)


def _of_row(question: Question, row: Row, options: Options, tests: int) -> dict[str, Effect]:
    """Estimate the effects of one row; ``tests`` is the number of rows that are corrected together."""
    if not row:
        return {}
    effects = np.column_stack(list(row.values()))
    n, count = effects.shape
    if n < 2:
        reason = "fewer than two blocks have every variant that it needs"
        return {
            name: Effect(question=question, name=name, n=n, ratio=exp(float(logs.mean())) if n else nan, reason=reason)
            for name, logs in row.items()
        }
    estimates = joint(effects, 1 - options.alpha, options.seed)
    same = adjust([p_equivalent(effects[:, i], options.delta) for i in range(count)], "holm")
    spreads = effects.std(axis=0, ddof=1)
    return {
        name: Effect(
            question=question,
            name=name,
            n=n,
            ratio=exp(float(estimates.estimates[i])),
            low=exp(float(estimates.low[i])),
            high=exp(float(estimates.high[i])),
            p=float(estimates.p[i]),
            p_equivalent=same[i],
            detectable=detectable(float(spreads[i]), n, options.strictest(tests) / count),
        )
        for i, name in enumerate(row)
    }
