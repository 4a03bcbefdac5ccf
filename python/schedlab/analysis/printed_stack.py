"""Attribution of a stack from printed figures: a few runs of each prefix, without blocks.

Every run is one figure. The spread between the runs of a prefix is pooled over the prefixes of a row, because two runs
alone have a single degree of freedom. The runs were not measured alternately, so that an effect of their order is
indistinguishable from an effect of a change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp, expm1, log, log1p, nan, sqrt

import numpy as np
from scipy.special import stdtr, stdtrit

from schedlab.analysis.machines import LEAST_ERROR, Combined, Effect, combine_weighted
from schedlab.analysis.multiplicity import adjust
from schedlab.analysis.paired import ratio_of
from schedlab.analysis.resolution import POWER
from schedlab.analysis.rows import Question
from schedlab.analysis.verdicts import event_share, word
from schedlab.results.words import Word

FAR_OUT = 3.0
"""Interquartile ranges beyond the quartile at which a run's printed spread is marked ("far out": Tukey 1977)."""

LEAST_SPREADS = 5
"""Least number of printed spreads of a row from which a run can be marked."""


@dataclass(frozen=True)
class PrintedRun:
    """A run of a prefix: its figure, above 0, and its printed spread in per cent, or None."""

    name: str
    value: float
    spread: float | None = None


@dataclass(frozen=True)
class StackRow:
    """A row of the table: the runs of each prefix, in the order of the stack. A prefix may lack runs."""

    question: Question
    prefixes: Mapping[str, tuple[PrintedRun, ...]]

    def without(self, runs: Sequence[str]) -> StackRow:
        """Return the row without these runs."""
        kept = {name: tuple(run for run in of if run.name not in runs) for name, of in self.prefixes.items()}
        return replace(self, prefixes=kept)


@dataclass(frozen=True)
class Step:
    """The effect of a change, or of several changes if the prefixes between them have no run.

    Attributes:
        name: the change; several changes are joined by ``+``.
        gain: mean log-ratio to the prefix before, positive if the change is better; ``error`` is its standard error.
        ratio, low, high: the ratio with its interval, simultaneous over the steps of the row; nan without any repeats.
        p, p_adjusted: p of "there is no change", raw and corrected over the steps of all rows.
        runs: number of runs of the prefix with fewer runs.
        word: the verdict.
    """

    name: str
    gain: float
    error: float
    ratio: float
    runs: int
    low: float = nan
    high: float = nan
    p: float = nan
    p_adjusted: float = nan
    p_equivalent: float = nan
    word: Word = Word.INCONCLUSIVE

    @property
    def gain_ratio(self) -> float:
        """The ratio in the better direction: above 1 is better."""
        return exp(self.gain)

    @property
    def event_share(self) -> float:
        """The share of runs in which a rare event cannot be excluded, see :func:`event_share`."""
        return event_share(self.word, self.runs)


@dataclass(frozen=True)
class AttributedRow:
    """The steps of a row.

    Attributes:
        freedom: degrees of freedom of the spread between runs of one prefix.
        detectable: change between two prefixes of two runs that a single test finds with 80 % power.
        outlying: runs whose printed spread is far out.
        single, missing: prefixes with one run, and without runs.
    """

    row: StackRow
    steps: tuple[Step, ...]
    freedom: int
    detectable: float
    outlying: tuple[PrintedRun, ...]
    single: tuple[str, ...]
    missing: tuple[str, ...]


def attribute(rows: Sequence[StackRow], alpha: float, delta: float) -> list[AttributedRow]:
    """Return the steps of every row; p values are corrected by Holm's method over the steps of all rows."""
    attributed = [_attributed(row, alpha, delta) for row in rows]
    steps = [step for row in attributed for step in row.steps]
    corrected = [
        adjust([1.0 if np.isnan(p) else p for p in values], "holm")
        for values in ([step.p for step in steps], [step.p_equivalent for step in steps])
    ]
    judged = iter(zip(*corrected, strict=True))
    results = []
    for row in attributed:
        final = []
        for step in row.steps:
            different, same = next(judged)
            verdict = (
                Word.INCONCLUSIVE if np.isnan(step.p) else word(row.row.question, step.ratio, different, same, alpha)
            )
            final.append(replace(step, p_adjusted=different, p_equivalent=same, word=verdict))
        results.append(replace(row, steps=tuple(final)))
    return results


def _attributed(row: StackRow, alpha: float, delta: float) -> AttributedRow:
    logs = {name: np.log([run.value for run in runs]) for name, runs in row.prefixes.items() if runs}
    freedom = sum(len(values) - 1 for values in logs.values())
    squares = sum(float(((values - values.mean()) ** 2).sum()) for values in logs.values())
    spread = max(sqrt(squares / freedom), LEAST_ERROR) if freedom else nan
    names = list(row.prefixes)
    bounds = list(pairwise(logs))
    steps = [
        _step(
            "+".join(names[names.index(since) + 1 : names.index(until) + 1]),
            row.question.direction == "higher",
            float(logs[until].mean() - logs[since].mean()),
            spread * sqrt(1 / len(logs[since]) + 1 / len(logs[until])),
            min(len(logs[since]), len(logs[until])),
            freedom, alpha / len(bounds), delta,
        )
        for since, until in bounds
    ]  # fmt: skip
    found = stdtrit(freedom, 1 - alpha / 2) + stdtrit(freedom, POWER) if freedom else nan
    return AttributedRow(
        row=row,
        steps=tuple(steps),
        freedom=freedom,
        detectable=expm1(found * spread) if found * spread < 100 else nan,
        outlying=tuple(outlying([run for runs in row.prefixes.values() for run in runs])),
        single=tuple(name for name, values in logs.items() if len(values) == 1),
        missing=tuple(name for name in names if name not in logs),
    )


def _step(
    name: str, higher: bool, change: float, error: float, runs: int, freedom: int, alpha: float, delta: float
) -> Step:
    step = Step(name, change if higher else -change, error, ratio_of(change), runs)
    if not freedom:
        return step
    half, margin = float(stdtrit(freedom, 1 - alpha / 2)) * error, log1p(delta)
    same = max(stdtr(freedom, (change - margin) / error), stdtr(freedom, (-margin - change) / error))
    return replace(
        step,
        low=ratio_of(change - half),
        high=ratio_of(change + half),
        p=2 * float(stdtr(freedom, -abs(change) / error)),
        p_equivalent=float(same),
    )


def outlying(runs: Sequence[PrintedRun]) -> list[PrintedRun]:
    """Return the runs whose printed spread lies far above the spreads of the row's other runs.

    Without printed spreads no run can be marked: of two runs that differ, each may be the outlying run.
    """
    spreads = {run.name: log(run.spread) for run in runs if run.spread}
    if len(spreads) < LEAST_SPREADS:
        return []
    low, high = np.quantile(list(spreads.values()), (0.25, 0.75))
    return [run for run in runs if spreads.get(run.name, -np.inf) > high + FAR_OUT * (high - low)]


def summarise(rows: Sequence[AttributedRow], delta: float, confidence: float) -> dict[str, Combined | None]:
    """Return the mean gain of each step over the rows, and how much the rows differ; None below two rows.

    The rows take the place of machines in the random-effects model of :mod:`schedlab.analysis.machines`. Ratios above 1
    are gains. Rows without repeats, and rows in which the step includes another change, do not count.
    """
    names = dict.fromkeys(name for row in rows for name in list(row.row.prefixes)[1:])
    return {
        name: combine_weighted(
            {
                str(place): Effect(step.gain, step.error, row.freedom + 1)
                for place, row in enumerate(rows)
                for step in row.steps
                if step.name == name and row.freedom
            },
            delta,
            confidence,
        )
        for name in names
    }
