"""How large a run has to be: iterations a block and blocks for a wanted effect, and what a design can see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, isinf, isnan, sqrt

from schedlab.analysis.resolution import blocks_needed, detectable
from schedlab.analysis.variance import Noise
from schedlab.analysis.verdicts import Question

MOST_ITERATIONS = 64
"""Iterations a block up to which the cheapest design is sought; beyond, more blocks tell more."""


@dataclass(frozen=True)
class Wanted:
    """The effect to find (0.01 is 1 %), with which power, at which level for a single row."""

    effect: float
    power: float
    level: float


@dataclass(frozen=True)
class Costs:
    """Seconds: to put a variant in place and that often a block, for a pass over all rows of one variant, before it.

    ``place`` is paid ``places`` times by each of ``variants`` in a block, ``row_passes`` for each iteration.
    """

    place: float
    places: int
    variants: int
    row_pass: float
    before: float

    def seconds(self, blocks: int, iterations: int) -> float:
        """What a run of this size takes."""
        return self.before + blocks * self.variants * (self.places * self.place + iterations * self.row_pass)


@dataclass(frozen=True)
class RowPlan:
    """What is known of one row.

    Attributes:
        detectable: minimum detectable effect of the current design at the wanted power; inf for none, nan if unknown.
        blocks: those needed for the wanted effect with the design's iterations; None for more than anybody runs.
        best_iterations: the number a block at which time buys most certainty for this row alone; None if not known.
    """

    question: Question
    noise: Noise
    detectable: float
    blocks: int | None
    best_iterations: int | None


@dataclass(frozen=True)
class Size:
    """A design that finds the wanted effect in every row, and how long it takes."""

    iterations: int
    blocks: int
    seconds: float


def row_plan(
    question: Question, noise: Noise, blocks: int, iterations: int, wanted: Wanted, cost_ratio: float
) -> RowPlan:
    """Plan one row; ``cost_ratio`` is what a further block costs it beside its iterations, in iterations."""
    spread = noise.of_ratio(iterations)
    known = not isnan(spread)
    return RowPlan(
        question=question,
        noise=noise,
        detectable=detectable(spread, blocks, wanted.level, wanted.power) if known else spread,
        blocks=blocks_needed(spread, wanted.effect, wanted.level, 1, wanted.power) if known else None,
        best_iterations=best_iterations(noise, cost_ratio),
    )


def best_iterations(noise: Noise, cost_ratio: float) -> int | None:
    """⌈√(c · W / B)⌉: iterations a block at which time buys most (Kalibera & Jones 2013).

    W and B are the variances of a paired log-ratio within and between blocks, c what a further block costs beside its
    iterations, in iterations. None where W is not known; as many as are sought where B is 0.
    """
    if isnan(noise.pair_within):
        return None
    if noise.pair_within == 0 or cost_ratio <= 0:
        return 1
    if noise.pair_between == 0:
        return MOST_ITERATIONS
    # More than the cap is no use to know, and a ratio may be too large for an integer.
    best = sqrt(cost_ratio) * noise.pair_within / noise.pair_between
    return min(max(1, ceil(best - 1e-9)), MOST_ITERATIONS)


def size_for(rows: Sequence[RowPlan], iterations: int, wanted: Wanted, costs: Costs) -> Size | None:
    """The blocks that all rows need with that many iterations each; None where some row needs more than anybody runs,
    or its noise is not known for that number."""
    most = 0
    for row in rows:
        spread = row.noise.of_ratio(iterations)
        needed = None if isnan(spread) else blocks_needed(spread, wanted.effect, wanted.level, 1, wanted.power)
        if needed is None:
            return None
        most = max(most, needed)
    return Size(iterations, most, costs.seconds(most, iterations)) if rows else None


def cheapest(rows: Sequence[RowPlan], wanted: Wanted, costs: Costs) -> Size | None:
    """The quickest design that finds the wanted effect in every row; None where there is none.

    All rows share iterations and blocks, so this is a search over the iterations, in the run's own seconds, with the
    same blocks that each row is told to need: the formula above knows neither the other rows nor how coarse the p
    values of few blocks are.
    """
    found, least = None, inf
    for iterations in range(1, MOST_ITERATIONS + 1):
        size = size_for(rows, iterations, wanted, costs)
        if size is not None and not isinf(size.seconds) and size.seconds < least:
            found, least = size, size.seconds
    return found
