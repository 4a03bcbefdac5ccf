"""The search for the first changed state: blocks of the reference and one other state, chosen by the earlier blocks.

Every decision is made from the store, so that a resumed search chooses the same states as an uninterrupted search.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np
from sqlalchemy import Engine

from schedlab.analysis.changepoint import Floats, next_state
from schedlab.errors import CannotRunHere
from schedlab.execution.bisection import Bisection, bisection
from schedlab.execution.loop import Measure, Progress, pause_of, recorded
from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Phase, Plan, Trial
from schedlab.experiment.seeds import permutation
from schedlab.results.measurement import Measurement
from schedlab.store import reader, writer
from schedlab.targets.protocol import Target

Build = Callable[[Variant], str]
"""Make a state that is not made yet. Return the reason of a failure, otherwise an empty text."""

REFERENCE_FAILURES = 3
"""Successive blocks in which the reference may fail before the search ends."""

SHORTEST_S = 1e-3
"""Least seconds of a block in a comparison with the time of building."""


@dataclass(frozen=True)
class Budget:
    """Most blocks and seconds of a search. A block that has begun is completed."""

    blocks: int
    seconds: float


def search(
    plan: Plan,
    target: Target,
    engine: Engine,
    run_id: int,
    budget: Budget,
    progress: Progress,
    build: Build = lambda variant: "",
) -> Bisection:
    """Measure states until the first changed state is known, or the budget is spent; return the result.

    Args:
        plan: a plan without trials. Its variants are the states in order, and it has one row with one judged metric.
        target: the target.
        engine: the store.
        run_id: the run, new or interrupted.
        budget: limits, which count from the beginning of the run, but seconds from this call.
        progress: see :data:`schedlab.execution.loop.Progress`.
        build: called before each block for both of its states.
    """
    end = time.monotonic() + budget.seconds
    with recorded(plan, target, engine, run_id) as session:
        blocks = _Blocks(plan, Measure(session, pause_of(plan, target), engine, run_id, progress), build)
        blocks.warm_up()
        while True:
            result = bisection(engine, run_id)
            if result.reference_failed >= REFERENCE_FAILURES:
                raise CannotRunHere(
                    f"{result.states[0].name!r} failed in {result.reference_failed} successive blocks: "
                    f"{result.states[0].reason}",
                    todo=(
                        "without the good state, nothing can be compared: correct the state, or name another good state"
                    ),
                )
            if result.decided or result.attempts >= budget.blocks or time.monotonic() >= end:
                return result
            if len(result.skipped) == len(result.states) - 1:
                return result
            state = next_state(result.posterior, result.blocks, blocks.costs(), result.skipped)
            blocks.measure(state)


@dataclass
class _Blocks:
    """The blocks of a search: their numbers, positions and times."""

    plan: Plan
    run_trial: Measure
    build: Build
    built: set[str] = field(default_factory=set)
    building: list[float] = field(default_factory=list)
    measuring: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        engine, run_id = self.run_trial.engine, self.run_trial.run_id
        counts = reader.trial_counts(engine, run_id)
        self.position = 1 + max(writer.done(engine, run_id), default=-1)
        self.block = max((block for blocks in counts.values() for block in blocks), default=0)

    def warm_up(self) -> None:
        """Run the warm-up of a new run: the reference and the last state."""
        if self.position == 0:
            for iteration in range(self.plan.experiment.design.warmup):
                for variant in (self.plan.variants[0], self.plan.variants[-1]):
                    self._trial("warmup", 0, variant, iteration)

    def measure(self, state: int) -> None:
        """Measure a block of the reference and a state, in random order."""
        self.block += 1
        pair = (self.plan.variants[0], self.plan.variants[state])
        begun = time.monotonic()
        for index in permutation(self.plan.seed, self.block, "variant", len(pair)):
            for iteration in range(self.plan.experiment.design.iterations):
                self._trial("measure", self.block, pair[index], iteration)
        self.measuring.append(time.monotonic() - begun)

    def costs(self) -> Floats:
        """Return the cost of a block with each state, in blocks of a built state."""
        costs = np.ones(len(self.plan.variants))
        if self.building and self.measuring:
            extra = fmean(self.building) / max(fmean(self.measuring), SHORTEST_S)
            costs += [extra * (variant.name not in self.built) for variant in self.plan.variants]
        return costs

    def _trial(self, phase: Phase, block: int, variant: Variant, iteration: int) -> None:
        trial = Trial(self.position, phase, block, variant, self.plan.rows[0], iteration)
        self.position += 1
        begun = time.monotonic()
        if fault := self.build(variant):
            self.run_trial.store(trial, Measurement("failed", time.time(), 0.0, reason=fault))
            return
        if variant.name not in self.built:
            self.built.add(variant.name)
            self.building.append(time.monotonic() - begun)
        self.run_trial(trial)
