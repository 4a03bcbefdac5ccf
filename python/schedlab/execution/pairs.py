"""Blocks that measure the first variant of a plan and one other variant, in random order.

The caller chooses the other variant of each block by the results of the earlier blocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from schedlab.execution.loop import Measure
from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Phase, Plan, Trial
from schedlab.experiment.seeds import permutation
from schedlab.results.measurement import Measurement
from schedlab.store import reader, writer

Build = Callable[[Variant], str]
"""Make a variant that is not made yet. Return the reason of a failure, otherwise an empty text."""

SHORTEST_S = 1e-3
"""Least seconds of a block in a comparison with the time of building."""


def pair_of(plan: Plan, block: int, position: int, other: int = 1) -> Iterator[Trial]:
    """Yield the trials of a block with the first variant and another variant, in random order, from ``position`` on."""
    pair = (plan.variants[0], plan.variants[other])
    for index in permutation(plan.seed, block, "variant", len(pair)):
        for iteration in range(plan.experiment.design.iterations):
            yield Trial(position, "measure", block, pair[index], plan.rows[0], iteration)
            position += 1


@dataclass
class Pairs:
    """The blocks of a run: their numbers, positions and times.

    ``plan`` has no trials, and has one row.
    """

    plan: Plan
    run_trial: Measure
    build: Build = lambda variant: ""
    built: set[str] = field(default_factory=set)
    building: list[float] = field(default_factory=list)
    measuring: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        engine, run_id = self.run_trial.engine, self.run_trial.run_id
        counts = reader.trial_counts(engine, run_id)
        self.position = 1 + max(writer.done(engine, run_id), default=-1)
        self.block = max((block for blocks in counts.values() for block in blocks), default=0)
        self._last = {variant: blocks.get(self.block, 0) for (*_, variant), blocks in counts.items()}

    def warm_up(self) -> None:
        """Run the warm-up of a new run: the reference and the last variant."""
        ends = {variant.name: variant for variant in (self.plan.variants[0], self.plan.variants[-1])}
        if self.position == 0:
            for iteration in range(self.plan.experiment.design.warmup):
                for variant in ends.values():
                    self._trial("warmup", 0, variant, iteration)

    def complete(self, other: int) -> None:
        """Run the trials that an interruption left out of the last block, which measures this other variant.

        A caller who may stop at any time must not choose by the first half of a block whether the block counts.
        """
        if self.block:
            self._pair(other, self._last)

    def measure(self, other: int) -> None:
        """Measure a block of the reference and another variant, in random order."""
        self.block += 1
        begun, built = time.monotonic(), sum(self.building)
        self._pair(other, {})
        # The first block of a variant includes the time of building, which the costs count separately.
        self.measuring.append(time.monotonic() - begun - (sum(self.building) - built))

    def _pair(self, other: int, recorded: dict[str, int]) -> None:
        for trial in pair_of(self.plan, self.block, self.position, other):
            if trial.iteration >= recorded.get(trial.variant.name, 0):
                self._trial("measure", self.block, trial.variant, trial.iteration)

    def costs(self) -> NDArray[np.float64]:
        """Return the cost of a block with each variant, in blocks of a built variant."""
        costs = np.ones(len(self.plan.variants))
        if self.building and self.measuring:
            extra = fmean(self.building) / max(fmean(self.measuring), SHORTEST_S)
            costs += [extra * (variant.name not in self.built) for variant in self.plan.variants]
        return costs

    def _trial(self, phase: Phase, block: int, variant: Variant, iteration: int) -> None:
        trial = Trial(self.position, phase, block, variant, self.plan.rows[0], iteration)
        self.position += 1
        begun = time.monotonic()
        fault = self.build(variant)
        seconds = time.monotonic() - begun
        if fault:
            self.building.append(seconds)
            self.run_trial.store(trial, Measurement("failed", time.time(), 0.0, reason=fault))
            return
        if variant.name not in self.built:
            self.built.add(variant.name)
            self.building.append(seconds)
        self.run_trial(trial)
