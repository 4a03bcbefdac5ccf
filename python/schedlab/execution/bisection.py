"""Result of a bisection: the first changed state of a stored run, as far as its blocks show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Literal

import numpy as np
import polars as pl
from sqlalchemy import Engine

from schedlab.analysis.cells import Blocks, Cell, average_blocks, block_means
from schedlab.analysis.changepoint import CONFIDENCE, START, Evidence, Floats, Posterior
from schedlab.analysis.paired import Estimate, estimate, log_ratios
from schedlab.analysis.rows import Question
from schedlab.errors import StoreError
from schedlab.results.words import Word
from schedlab.store import reader
from schedlab.store.columns import read_cells

FAILED_BLOCKS = 2
"""Failed blocks after which a state is skipped, unless more blocks of the state succeeded."""

LIKELY = 0.01
"""Probability from which a state that was not measured is notable."""

MOST = 24
"""Most notable states."""

Outcome = Literal["found", "skipped", "ends equal", "undecided"]
"""``found``: one state changed the figure; ``skipped``: one of several states, which no measurement tells apart."""


@dataclass(frozen=True)
class State:
    """A state's blocks: log-ratios to the reference, shape (blocks,), and the number of failed blocks.

    ``reason`` is the reason of its last failure.
    """

    name: str
    logs: Floats
    failed: int
    reason: str

    @property
    def skipped(self) -> bool:
        """Whether the state is not measured again."""
        return self.failed >= FAILED_BLOCKS and self.failed > len(self.logs)

    @cached_property
    def estimate(self) -> Estimate:
        """The ratio to the reference, with an interval."""
        return estimate(self.logs, CONFIDENCE)


@dataclass(frozen=True)
class Bisection:
    """A run whose variants are states in order; the first state is the reference.

    ``reference`` has the log-ratios of the reference's values in successive blocks; each block counts once.
    ``reference_failed`` is the number of last blocks in which the reference failed. ``step`` is the smallest step
    between two figures, relative to the figures; inf if all figures are equal.
    """

    run: reader.Run
    question: Question
    states: tuple[State, ...]
    reference: Floats
    reference_failed: int
    step: float

    @property
    def blocks(self) -> int:
        """Number of blocks that compare a state with the reference."""
        return sum(len(state.logs) for state in self.states)

    @property
    def failed_blocks(self) -> int:
        """Number of blocks without a ratio."""
        return sum(state.failed for state in self.states)

    @property
    def attempts(self) -> int:
        """Number of blocks, including failed blocks."""
        return self.blocks + self.failed_blocks

    @property
    def skipped(self) -> list[int]:
        """Indices of the states that could not be measured."""
        return [index for index, state in enumerate(self.states) if state.skipped]

    @cached_property
    def posterior(self) -> Posterior:
        """Probabilities of each state to be the first changed state."""
        evidence = Evidence(len(self.states), self.run.design.delta, 0.0 if self.all_equal else self.step)
        for index, state in enumerate(self.states):
            for value in state.logs:
                evidence.add(index, float(value))
        for value in self.reference:
            evidence.add(0, float(value))
        return evidence.posterior()

    @property
    def candidates(self) -> list[int | None]:
        """The most probable first changed state; several states if no measurement distinguishes the states; [None]
        for no change."""
        return self.posterior.candidates(self.skipped)

    @property
    def probability(self) -> float:
        """The probability of :attr:`candidates`."""
        return self.posterior.probability(self.candidates)

    @property
    def decided(self) -> bool:
        """Whether the search has reached its goal."""
        return self.posterior.decides(self.blocks, self.skipped)

    @property
    def outcome(self) -> Outcome:
        """The result in one word."""
        if not self.decided:
            return "undecided"
        if self.candidates == [None]:
            return "ends equal"
        return "found" if len(self.candidates) == 1 else "skipped"

    @property
    def changed(self) -> list[int]:
        """The states of :attr:`candidates`; [] for no change."""
        return [state for state in self.candidates if state is not None]

    @property
    def culprit(self) -> int | None:
        """The changed state; None unless the outcome is ``found``."""
        return self.changed[0] if self.outcome == "found" else None

    @cached_property
    def ratio(self) -> float | None:
        """The ratio of the states from the change on to the reference; None without a likely change."""
        if not self.changed:
            return None
        logs = np.concatenate([state.logs for state in self.states[self.changed[-1] :]])
        return float(np.exp(logs.mean())) if len(logs) else None

    @property
    def word(self) -> Word:
        """The verdict on the changed states."""
        if self.outcome in ("undecided", "ends equal") or self.ratio is None:
            return Word.EQUIVALENT if self.outcome == "ends equal" else Word.INCONCLUSIVE
        return Word.BETTER if (self.ratio > 1) == (self.question.direction == "higher") else Word.WORSE

    @property
    def notable(self) -> list[int]:
        """Indices of the states that were measured or tried, or are likely; at most :data:`MOST`, the likeliest."""
        chances = self.posterior.culprit
        tried = [i for i, state in enumerate(self.states) if len(state.logs) or state.failed or chances[i] >= LIKELY]
        return sorted(sorted(tried, key=lambda i: -float(chances[i]))[:MOST])

    @property
    def last_measured(self) -> State:
        """The last state that was measured."""
        return next((state for state in reversed(self.states) if len(state.logs)), self.states[0])

    @property
    def in_steps(self) -> bool:
        """Whether a step of the metric is larger than the margin."""
        return self.least > self.run.design.delta

    @property
    def more_blocks(self) -> int:
        """Blocks with which an undecided search may continue: twice as many."""
        return 2 * max(self.attempts, START)

    @property
    def likely_second(self) -> bool:
        """Whether a second change is more likely than not."""
        return self.posterior.two_changes > 0.5 and bool(self.changed)

    @property
    def all_equal(self) -> bool:
        """Whether all figures are equal, so that their steps are unknown."""
        return self.step == inf

    @property
    def least(self) -> float:
        """The least relative change that the figures can show: the margin, or a step of the metric that is larger."""
        delta = self.run.design.delta
        return delta if self.all_equal else max(delta, self.step)


def bisection(engine: Engine, run: int | reader.Run | None) -> Bisection:
    """Return the result of a stored bisection, or of the newest run; StoreError for another kind of run."""
    run = run if isinstance(run, reader.Run) else reader.run(engine, run)
    if not run.design.bisection:
        todo = "'schedlab report' prints its verdicts; 'schedlab bisect' makes a bisection"
        raise StoreError(f"run {run.id} is not a bisection", where=str(engine.url.database), todo=todo)
    (question,) = run.design.questions
    averaged = average_blocks(read_cells(engine, run))
    means = block_means(averaged)
    tried = reader.trial_counts(engine, run.id)
    row = (question.workload, question.parameters)
    measured = [means.get((*row, question.metric, name), {}) for name in run.design.variants]
    recorded = [tried.get((*row, name), {}) for name in run.design.variants]
    reasons = dict(reader.failures(engine, run.id).select("variant", "reason").iter_rows())
    states = tuple(
        State(
            name,
            _ratios(measured[0], measured[index], question) if index else np.empty(0),
            len(recorded[index].keys() - measured[index].keys()) if index else 0,
            reasons.get(name, ""),
        )
        for index, name in enumerate(run.design.variants)
    )
    last = 0
    for block in sorted(recorded[0], reverse=True):
        if block in measured[0]:
            break
        last += 1
    step = Blocks(averaged).resolution((*row, question.metric), run.design.variants)
    return Bisection(run, question, states, _noise(measured[0], question), last, step)


@dataclass(frozen=True)
class Times:
    """Seconds of a search: in the trials of each state, by name, and in all trials; before the end of the search None
    for the whole search, and for builds, pauses and interruptions."""

    of_state: Mapping[str, float]
    trials: float
    total: float | None
    rest: float | None


def times(engine: Engine, run: reader.Run) -> Times:
    """Return where the time of a search went."""
    measured = reader.times(engine, run.id).filter(pl.col("elapsed").is_finite())
    of_state = dict(measured.group_by("variant").agg(pl.col("elapsed").sum()).iter_rows())
    trials = sum(of_state.values())
    total = None if run.finished is None else run.finished - run.started
    return Times(of_state, trials, total, None if total is None else max(total - trials, 0.0))


def _ratios(reference: Cell, state: Cell, question: Question) -> Floats:
    try:
        return log_ratios(dict(reference), dict(state))
    except ValueError as error:
        todo = "name a metric of the workload that is always above 0"
        raise StoreError(f"{question.metric} cannot be bisected: {error}", todo=todo) from None


def _noise(reference: Cell, question: Question) -> Floats:
    """Return the log-ratios of the second to the first block of the reference, the fourth to the third, and so on."""
    values = [reference[block] for block in sorted(reference)]
    return _ratios(dict(enumerate(values[::2])), dict(enumerate(values[1::2])), question)


def pilot_noise(engine: Engine, run: int, metric: str) -> float:
    """Return the standard deviation of a block's log-ratio of two equal states, from a stored run.

    The run is an earlier bisection, whose noise is pooled over its states, or a run with a control. StoreError without
    three blocks of this metric.
    """
    stored = reader.run(engine, run)
    if stored.design.bisection:
        groups = [state.logs for state in bisection(engine, stored).states]
    else:
        means = block_means(average_blocks(read_cells(engine, stored)))
        baseline, control = stored.design.variants[0], stored.design.control
        groups = [
            _ratios(means.get((q.workload, q.parameters, metric, baseline), {}), of_control, q)
            for q in stored.design.questions
            if q.metric == metric and (of_control := means.get((q.workload, q.parameters, metric, control or ""), {}))
        ]
    squares = sum(float(((logs - logs.mean()) ** 2).sum()) for logs in groups if len(logs) > 1)
    degrees = sum(len(logs) - 1 for logs in groups if len(logs) > 1)
    if degrees < 2:
        todo = "name a run of the same metric with a control and three blocks, or an earlier bisection"
        raise StoreError(f"run {run} does not show the noise of {metric}", where=str(engine.url.database), todo=todo)
    return float((squares / degrees) ** 0.5)
