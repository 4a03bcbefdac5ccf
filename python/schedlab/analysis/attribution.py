"""Attribution of a stack's effect to its steps: each variant has one change more than the previous variant.

Every step is a ratio of two variants measured in the same blocks. All steps of a row use the blocks in which every
variant of the row was measured, so that the steps' ratios multiply to the stack's ratio exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import nan

import numpy as np
import polars as pl

from schedlab.analysis.cells import Blocks, Recorded
from schedlab.analysis.effects import Effect, MeasuredRow, judge_effects
from schedlab.analysis.paired import estimate
from schedlab.analysis.sequential import Course
from schedlab.analysis.verdicts import Options, Question


@dataclass(frozen=True, kw_only=True)
class Step(Effect):
    """The effect of one change on a row, or of several changes if the variants between them could not be measured.

    ``parts`` are the variants that the step adds: ``("03",)``, or ``("03", "04")`` with the name ``03+04`` if 03 could
    not be measured. The step lies between the variants ``since`` and ``until``.
    """

    parts: tuple[str, ...]
    since: str
    until: str


@dataclass(frozen=True)
class Attribution:
    """A row's stack, step by step; the steps' ratios, where they are not nan, multiply to ``ratio``.

    ``ratio`` is the last measured variant / the first measured variant, over ``n`` blocks. ``low`` and ``high`` are its
    interval at 1 − alpha, or at the level of the interim analysis. This interval is not simultaneous with the intervals
    of the steps. ``gaps`` are the reasons why variants could not be measured.
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
    recorded: Recorded | None = None,
    progress: Course | None = None,
) -> list[Attribution]:
    """Return the steps of a stack in each row.

    Args:
        samples: columns workload, parameters, metric, variant, block, value.
        questions: the rows.
        stack: names of variants, each with one change more than the previous variant.
        options: options of the analysis.
        recorded: recorded trials. A variant is a gap in a row if it lost more than 5 % of its trials there, or has no
            measurement.
        progress: the interim analysis of a sequential or an interrupted run, whose blocks count.

    Intervals are simultaneous over the steps of a row, p values are adjusted over the steps of all rows.
    """
    blocks = Blocks(samples, recorded, progress)
    drafts = [_Draft(question, stack, blocks) for question in questions]
    judged = judge_effects(questions, [d.effects for d in drafts], options, [d.worst for d in drafts], progress)
    level = progress.interval_level(options.alpha) if progress is not None else options.alpha
    return [draft.attribution(effects, level, options.seed) for draft, effects in zip(drafts, judged, strict=True)]


class _Draft:
    """One row before its steps are judged: its measured variants, and the steps' log-ratios by block."""

    def __init__(self, question: Question, stack: Sequence[str], blocks: Blocks) -> None:
        row = MeasuredRow(question, stack, blocks)
        self.question, self.stack, self.gaps, self.measured = question, tuple(stack), row.faults, row.variants
        differences = np.diff(np.eye(len(row.variants)), axis=0)
        self.effects, self.worst = row.effects(dict(zip(row.variants[1:], differences, strict=True)))

    def attribution(self, effects: dict[str, Effect], level: float, seed: int) -> Attribution:
        """Return the row with its judged steps; the interval of the whole stack is at 1 − ``level``."""
        steps = []
        for since, until in self._bounds():
            parts = self.stack[self.stack.index(since) + 1 : self.stack.index(until) + 1]
            effect = effects.get(until) or Effect(question=self.question, name="", reason="; ".join(self.gaps))
            steps.append(
                Step(**vars(effect) | {"name": "+".join(parts), "parts": parts, "since": since, "until": until})
            )
        n, logs = len(self.effects.blocks), self.effects.logs
        stack = estimate(sum(logs.values(), np.zeros(n)), 1 - level, seed)
        ratio, low, high = (stack.ratio, stack.low, stack.high) if logs else (nan, nan, nan)
        return Attribution(self.question, self.stack, tuple(steps), n, ratio, low, high, self.gaps)

    def _bounds(self) -> list[tuple[str, str]]:
        """Return the pairs of variants around each step: the measured variants, and both ends of the stack."""
        ends = [*({self.stack[0]: None} | dict.fromkeys(self.measured) | {self.stack[-1]: None})]
        return list(pairwise(ends))
