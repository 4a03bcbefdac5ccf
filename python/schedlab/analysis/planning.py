"""Size of a run: iterations a block and blocks for a wanted effect, the minimum detectable effect of a design, and how
long a measured run took.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, isinf, isnan, sqrt

import polars as pl

from schedlab.analysis.resolution import Rule, blocks_needed, detectable
from schedlab.analysis.variance import Noise
from schedlab.analysis.verdicts import Question

MOST_ITERATIONS = 64
"""Largest number of iterations a block in the search. Above this number, more blocks are more useful."""


@dataclass(frozen=True)
class Wanted:
    """The effect to find (0.01 is 1 %), the power, and the rule for the case that a single row differs."""

    effect: float
    power: float
    rule: Rule


@dataclass(frozen=True)
class Costs:
    """Durations in seconds.

    Attributes:
        place: time to apply a variant's settings.
        places: how often each variant's settings are applied in a block.
        variants: number of variants.
        row_pass: time of one iteration of all rows under one variant.
        before: time before the first block.
    """

    place: float
    places: int
    variants: int
    row_pass: float
    before: float

    def seconds(self, blocks: int, iterations: int) -> float:
        """Return the duration of a run of this size."""
        return self.before + blocks * self.variants * (self.places * self.place + iterations * self.row_pass)


@dataclass(frozen=True)
class RowPlan:
    """The plan of one row.

    Attributes:
        detectable: minimum detectable effect of the current design at the wanted power; inf if the design detects no
            effect, nan if unknown.
        blocks: blocks for the wanted effect with the design's iterations; None above 100,000.
        blocks_if_known: the same if the measured noise were exact. The difference is the price of a small pilot.
        best_iterations: iterations a block that cost the least time for this row alone; None if unknown.
    """

    question: Question
    noise: Noise
    detectable: float
    blocks: int | None
    blocks_if_known: int | None
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
    """Plan one row; ``cost_ratio`` is the cost of a further block without its iterations, in iterations."""
    spread = noise.of_ratio(iterations)
    has_spread = not isnan(spread)
    return RowPlan(
        question=question,
        noise=noise,
        detectable=detectable(spread, blocks, wanted.rule, wanted.power, noise.freedom) if has_spread else spread,
        blocks=blocks_needed(spread, wanted.effect, wanted.rule, wanted.power, noise.freedom) if has_spread else None,
        blocks_if_known=blocks_needed(spread, wanted.effect, wanted.rule, wanted.power) if has_spread else None,
        best_iterations=best_iterations(noise, cost_ratio),
    )


def best_iterations(noise: Noise, cost_ratio: float) -> int | None:
    """Return ⌈√(c · W / B)⌉, the iterations a block that cost the least time (Kalibera & Jones 2013).

    W and B are the variances of a paired log-ratio within and between blocks, c is the cost of a further block without
    its iterations, in iterations. None if W is unknown; the largest number of the search if B is 0.
    """
    if isnan(noise.pair_within):
        return None
    if noise.pair_within == 0 or cost_ratio <= 0:
        return 1
    if noise.pair_between == 0:
        return MOST_ITERATIONS
    # The ratio may be too large for an integer.
    best = sqrt(cost_ratio) * noise.pair_within / noise.pair_between
    return min(max(1, ceil(best - 1e-9)), MOST_ITERATIONS)


def size_for(rows: Sequence[RowPlan], iterations: int, wanted: Wanted, costs: Costs) -> Size | None:
    """Return the size with this number of ``iterations`` a block, and the blocks that the most demanding row needs.

    None if a row needs more than 100,000 blocks, or its noise is unknown for this number of iterations.
    """
    most = 0
    for row in rows:
        spread = row.noise.of_ratio(iterations)
        needed = None
        if not isnan(spread):
            needed = blocks_needed(spread, wanted.effect, wanted.rule, wanted.power, row.noise.freedom)
        if needed is None:
            return None
        most = max(most, needed)
    return Size(iterations, most, costs.seconds(most, iterations)) if rows else None


def cheapest(rows: Sequence[RowPlan], wanted: Wanted, costs: Costs) -> Size | None:
    """Return the fastest design that finds the wanted effect in every row; None if there is no such design.

    All rows have the same iterations and blocks. The search over the iterations uses the durations of the run and the
    blocks that each row needs. :func:`best_iterations` is not sufficient: it ignores the other rows, and the coarse
    p values of few blocks.
    """
    best, least = None, inf
    for iterations in range(1, MOST_ITERATIONS + 1):
        size = size_for(rows, iterations, wanted, costs)
        if size is not None and not isinf(size.seconds) and size.seconds < least:
            best, least = size, size.seconds
    return best


@dataclass(frozen=True)
class Durations:
    """Durations in seconds, from a run that was measured.

    ``trial`` is the mean duration of a row's measured trials, with the median gap between two trials, by workload and
    parameters. ``place`` is the median additional gap between two trials under different variants.
    """

    trial: dict[tuple[str, str], float]
    place: float


def durations(times: pl.DataFrame) -> Durations:
    """Return the durations of a run.

    ``times`` has one line for each trial, in the order of their execution, with the columns phase, variant, workload,
    parameters, started and elapsed. An interruption is one long gap among many, which does not affect the median.
    """
    ends = pl.col("started") + pl.col("elapsed")
    frame = times.with_columns(
        (pl.col("started") - ends.shift(1)).clip(lower_bound=0).alias("gap"),
        (pl.col("variant") == pl.col("variant").shift(1)).alias("same"),
    )
    overhead = _median(frame.filter(pl.col("same")))
    change_of_variant = _median(frame.filter(~pl.col("same")))
    measured = frame.filter(pl.col("phase") == "measure")
    means = measured.group_by("workload", "parameters", maintain_order=True).agg(pl.col("elapsed").mean())
    return Durations(
        {(workload, parameters): seconds + overhead for workload, parameters, seconds in means.iter_rows()},
        max(0.0, change_of_variant - overhead),
    )


def _median(frame: pl.DataFrame) -> float:
    """Return the median of the gaps; 0 without gaps."""
    median = frame["gap"].drop_nulls().median()
    return float(median) if isinstance(median, int | float) else 0.0
