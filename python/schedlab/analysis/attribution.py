"""Which part of a stack does it: variants that each hold one change more than the one before, step by step.

Every step is a ratio of two variants measured in the same blocks, and all steps of a row rest on the blocks in which
each of its variants was measured, so that they multiply to the whole exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import nan

import numpy as np
import polars as pl
from numpy.typing import NDArray

from schedlab.analysis import cells
from schedlab.analysis.cells import Failures
from schedlab.analysis.effects import Effect, judge_effects
from schedlab.analysis.paired import estimate
from schedlab.analysis.verdicts import Options, Question

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Step(Effect):
    """What one change, or several around a gap, does to a row.

    ``parts`` are the variants that it adds: ``("03",)``, or ``("03", "04")`` when 03 could not be measured, and then
    its name is ``03+04``. It lies between the variants ``since`` and ``until``.
    """

    parts: tuple[str, ...]
    since: str
    until: str


@dataclass(frozen=True)
class Attribution:
    """A row's stack, step by step; the ratios of the steps that are known multiply to ``ratio``.

    ``ratio`` is the whole from the first to the last variant that could be measured, ``low`` and ``high`` its own
    interval at 1 − alpha; over ``n`` blocks. ``gaps`` says of each variant that could not be measured why.
    """

    question: Question
    stack: tuple[str, ...]
    steps: tuple[Step, ...]
    n: int
    ratio: float
    low: float
    high: float
    gaps: tuple[str, ...] = ()


def attribute(
    samples: pl.DataFrame,
    questions: Sequence[Question],
    stack: Sequence[str],
    options: Options,
    failures: Failures | None = None,
) -> list[Attribution]:
    """The steps of a stack in each row.

    Args:
        samples: columns workload, parameters, metric, variant, block, value.
        stack: names of variants, each holding one change more than the one before.
        failures: a variant that lost more than 5 % of its trials in a row is a gap there, as is one never measured.

    Intervals are simultaneous over the steps of a row. p values are adjusted over the steps of a row first, then over
    the rows as the options say: for each step by itself, or over all steps of all rows (``family = "run"``).
    """
    means = cells.block_means(samples)
    drafts = [_Draft(question, stack, means, failures or {}) for question in questions]
    found = judge_effects([draft.question for draft in drafts], [draft.logs for draft in drafts], options)
    return [draft.told(effects, options) for draft, effects in zip(drafts, found, strict=True)]


class _Draft:
    """One row before its steps are judged: which variants it has, and the steps' log-ratios by block."""

    def __init__(
        self,
        question: Question,
        stack: Sequence[str],
        means: dict[cells.Key, dict[int, float]],
        failures: Failures,
    ) -> None:
        row = (question.workload, question.parameters, question.metric)
        held = {name: means.get((*row, name), {}) for name in stack}
        faults = {name: cells.fault(*row[:2], name, held[name], failures) for name in stack}
        self.question, self.stack = question, tuple(stack)
        self.gaps = tuple(fault for fault in faults.values() if fault)
        self.known = [name for name in stack if not faults[name]]
        self.blocks = sorted(set.intersection(*(set(held[name]) for name in self.known))) if self.known else []
        values = np.array([[held[name][block] for name in self.known] for block in self.blocks], dtype=np.float64)
        self.logs: dict[str, Floats] = {}
        if len(self.blocks):
            logs = np.diff(np.log(values), axis=1)
            self.logs = {until: logs[:, i] for i, until in enumerate(self.known[1:])}

    def told(self, effects: dict[str, Effect], options: Options) -> Attribution:
        steps = []
        for since, until in self._bounds():
            parts = self.stack[self.stack.index(since) + 1 : self.stack.index(until) + 1]
            found = effects.get(until) or Effect(question=self.question, name="", reason="; ".join(self.gaps))
            steps.append(
                Step(**vars(found) | {"name": "+".join(parts), "parts": parts, "since": since, "until": until})
            )
        whole = estimate(sum(self.logs.values(), np.zeros(len(self.blocks))), 1 - options.alpha, options.seed)
        ratio = whole.ratio if self.logs else nan
        low, high = (whole.low, whole.high) if self.logs else (nan, nan)
        return Attribution(self.question, self.stack, tuple(steps), len(self.blocks), ratio, low, high, self.gaps)

    def _bounds(self) -> list[tuple[str, str]]:
        """Between which variants the steps lie: those known, and what lies before the first and behind the last."""
        ends = [*({self.stack[0]: None} | dict.fromkeys(self.known) | {self.stack[-1]: None})]
        return list(pairwise(ends))
