"""Attribution of a stack's effect to its steps: each variant has one change more than the one before.

Every step is a ratio of two variants measured in the same blocks. All steps of a row use the blocks in which each of
its variants was measured, so that their ratios multiply to the stack's ratio exactly.
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
    """The effect of one change, or of several around a gap, on a row.

    ``parts`` are the variants that the step adds: ``("03",)``, or ``("03", "04")`` with the name ``03+04`` if 03 could
    not be measured. The step lies between the variants ``since`` and ``until``.
    """

    parts: tuple[str, ...]
    since: str
    until: str


@dataclass(frozen=True)
class Attribution:
    """A row's stack, step by step; the known ratios of the steps multiply to ``ratio``.

    ``ratio`` is that of the last to the first measured variant over ``n`` blocks, ``low`` and ``high`` are its
    own interval at 1 − alpha. ``gaps`` are the reasons why variants could not be measured.
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
    """Return the steps of a stack in each row.

    Args:
        samples: columns workload, parameters, metric, variant, block, value.
        questions: the rows.
        stack: names of variants, each with one change more than the one before.
        options: options of the analysis.
        failures: failed and recorded trials of each cell. A variant with more than 5 % failed trials in a row is a gap
            in that row, as is a variant without measurements.

    Intervals are simultaneous over the steps of a row. p values are adjusted over the steps of a row first, then over
    the rows as the options say: for each step by itself, or over all steps of all rows (``family = "run"``).
    """
    means = cells.block_means(samples)
    drafts = [_Draft(question, stack, means, failures or {}) for question in questions]
    judged = judge_effects([draft.question for draft in drafts], [draft.logs for draft in drafts], options)
    return [draft.attribution(effects, options) for draft, effects in zip(drafts, judged, strict=True)]


class _Draft:
    """One row before its steps are judged: its measured variants, and the steps' log-ratios by block."""

    def __init__(
        self,
        question: Question,
        stack: Sequence[str],
        means: dict[cells.Key, dict[int, float]],
        failures: Failures,
    ) -> None:
        row = (question.workload, question.parameters, question.metric)
        blocks_of = {name: means.get((*row, name), {}) for name in stack}
        faults = {name: cells.fault(*row[:2], name, blocks_of[name], failures) for name in stack}
        self.question, self.stack = question, tuple(stack)
        self.gaps = tuple(fault for fault in faults.values() if fault)
        self.measured = [name for name in stack if not faults[name]]
        shared = set.intersection(*(set(blocks_of[name]) for name in self.measured)) if self.measured else set()
        self.blocks = sorted(shared)
        values = np.array(
            [[blocks_of[name][block] for name in self.measured] for block in self.blocks], dtype=np.float64
        )
        self.logs: dict[str, Floats] = {}
        if len(self.blocks):
            logs = np.diff(np.log(values), axis=1)
            self.logs = {until: logs[:, i] for i, until in enumerate(self.measured[1:])}

    def attribution(self, effects: dict[str, Effect], options: Options) -> Attribution:
        """Return the row with its judged steps."""
        steps = []
        for since, until in self._bounds():
            parts = self.stack[self.stack.index(since) + 1 : self.stack.index(until) + 1]
            effect = effects.get(until) or Effect(question=self.question, name="", reason="; ".join(self.gaps))
            steps.append(
                Step(**vars(effect) | {"name": "+".join(parts), "parts": parts, "since": since, "until": until})
            )
        stack = estimate(sum(self.logs.values(), np.zeros(len(self.blocks))), 1 - options.alpha, options.seed)
        ratio = stack.ratio if self.logs else nan
        low, high = (stack.low, stack.high) if self.logs else (nan, nan)
        return Attribution(self.question, self.stack, tuple(steps), len(self.blocks), ratio, low, high, self.gaps)

    def _bounds(self) -> list[tuple[str, str]]:
        """Return the pairs of variants around each step: the measured variants, and both ends of the stack."""
        ends = [*({self.stack[0]: None} | dict.fromkeys(self.measured) | {self.stack[-1]: None})]
        return list(pairwise(ends))
