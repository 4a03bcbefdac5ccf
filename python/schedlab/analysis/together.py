"""Effects that are judged together within a row, and corrected over rows: steps of a stack, effects of a factorial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, isnan, nan

import numpy as np
from numpy.typing import NDArray

from schedlab.analysis.multiplicity import adjust
from schedlab.analysis.paired import p_equivalent
from schedlab.analysis.resolution import detectable
from schedlab.analysis.simultaneous import joint
from schedlab.analysis.verdicts import Options, Question, Word, word

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Effect:
    """A ratio over ``n`` blocks; 1 means no effect.

    ``low`` and ``high`` hold together with those of the row's other effects at 1 − alpha. ``p`` is adjusted over the
    row's effects (Westfall & Young), ``p_adjusted`` and ``p_equivalent`` over rows too: the word follows from them.
    ``detectable`` is the relative change that would have been found four times in five. nan where nothing is known;
    ``reason`` says why.
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
    word: Word = "inconclusive"
    detectable: float = nan
    reason: str = ""


Row = Mapping[str, Floats]
"""Effects of one row on the log scale by name, each of shape (blocks,), over the same blocks."""


def judged(questions: Sequence[Question], rows: Sequence[Row], options: Options) -> list[dict[str, Effect]]:
    """The effects of each row by name, in its order; those of fewer than two blocks have no more than a ratio.

    Over rows they are corrected as the options say: each name is a question of its own with its rows the many chances
    to answer it wrongly, or all effects of all rows are one family. A row that lacks an effect counts as asked.
    """
    tests = len(questions) if options.correction != "none" else 1
    found = [_of_row(*each, options, tests) for each in zip(questions, rows, strict=True)]
    names = list(dict.fromkeys(name for effects in found for name in effects))
    for family in [names] if options.family == "run" else [[name] for name in names]:
        cells = [(effects, name) for effects in found for name in family]
        held = [effects.get(name) for effects, name in cells]
        different = adjust([_known(effect.p if effect else nan) for effect in held], options.correction)
        same = adjust([_known(effect.p_equivalent if effect else nan) for effect in held], options.correction)
        for (effects, name), p, p_same in zip(cells, different, same, strict=True):
            if name in effects and not isnan(effects[name].p):
                effects[name] = _worded(effects[name], p, p_same, options)
    return found


def _known(p: float) -> float:
    return 1.0 if isnan(p) else p


def _worded(effect: Effect, p: float, p_same: float, options: Options) -> Effect:
    found = word(effect.question, effect.ratio, p, p_same, options.alpha)
    return replace(effect, p_adjusted=p, p_equivalent=p_same, word=found)


def _of_row(question: Question, row: Row, options: Options, tests: int) -> dict[str, Effect]:
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
    together = joint(effects, 1 - options.alpha, options.seed)
    same = adjust([p_equivalent(effects[:, i], options.delta) for i in range(count)], "holm")
    spreads = effects.std(axis=0, ddof=1)
    return {
        name: Effect(
            question=question,
            name=name,
            n=n,
            ratio=exp(float(together.estimates[i])),
            low=exp(float(together.low[i])),
            high=exp(float(together.high[i])),
            p=float(together.p[i]),
            p_equivalent=same[i],
            detectable=detectable(float(spreads[i]), n, options.strictest(tests) / count),
        )
        for i, name in enumerate(row)
    }
