"""Findings of a sweep: its table, the response to each factor, the sources of variance, and the best points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sqlalchemy import Engine

from schedlab.analysis.rows import Question
from schedlab.analysis.sensitivity import (
    HIGHER,
    SEEDS,
    Floats,
    Index,
    Level,
    Mean,
    Share,
    best_points,
    first_order,
    mean,
    response,
    shares,
    surface,
)
from schedlab.errors import StoreError
from schedlab.experiment.load import parse
from schedlab.experiment.seeds import simulation_seed
from schedlab.experiment.sweep import Point, Sweep, sweep
from schedlab.experiment.sweep_table import Factor
from schedlab.results.metrics import Direction
from schedlab.store import reader
from schedlab.store.columns import read_cells
from schedlab.store.reader import Run

BINS = 5
"""Parts of the range of a factor whose values are drawn."""

FEWEST_DRAWN = 32
"""Drawn points below which first-order indices mean little."""

LEAST_SHARE = 0.01
"""Share of the variance below which a source hardly matters, even if its effect is certain."""


@dataclass(frozen=True)
class FactorLevels:
    """The levels of a factor with their labels; ``of_point`` has the level of each point."""

    factor: Factor
    labels: tuple[str, ...]
    of_point: tuple[int, ...]


@dataclass(frozen=True)
class Source:
    """A source of variance: a factor, factors together, or what remains; see :class:`Share`. ``share`` is at least 0.

    ``matters`` is true for factors whose effect is significant and at least :data:`LEAST_SHARE` of the variance.
    """

    factors: tuple[str, ...]
    share: float
    p: float
    matters: bool


@dataclass(frozen=True)
class Square:
    """The mean at a pair of levels: whether it is better than the middle of all pairs (None: equal), and its distance
    from the middle as a part of the largest distance."""

    mean: Mean
    better: bool | None
    strength: float


@dataclass(frozen=True)
class Response:
    """The response of a metric.

    Attributes:
        metric, unit, direction: the metric.
        points: indices of the points with a value in each block, in order; other points are not analysed.
        logs: whether the figures are analysed as logarithms, as all figures are above 0: a factor of a figure is then
            the same effect at a large and at a small figure, and means are geometric.
        values: the values, or their logarithms, of shape (points, blocks).
        levels: response at each level, by factor.
        shares: sources of variance of a complete grid; [] otherwise.
        indices: first-order indices of drawn points; [] for a grid.
        sources: the shares or indices, the largest first.
        best: indices of the points that may be the best, the best mean first.
    """

    metric: str
    unit: str
    direction: Direction
    points: tuple[int, ...]
    logs: bool
    values: Floats
    levels: dict[str, list[Level]]
    shares: list[Share]
    indices: list[Index]
    sources: list[Source]
    best: list[int]

    def surface(self, first: FactorLevels, second: FactorLevels) -> dict[tuple[int, int], Square]:
        """Return the response at each pair of levels of two factors."""
        of_points = [[each.of_point[point] for point in self.points] for each in (first, second)]
        means = {pair: self.figure(value) for pair, value in surface(self.values, *of_points).items()}
        middle = sum(each.value for each in means.values()) / len(means)
        reach = max(abs(each.value - middle) for each in means.values())

        def square(value: Mean) -> Square:
            difference = value.value - middle
            better = (difference > 0) == (self.direction == "higher") if difference else None
            return Square(value, better, abs(difference) / reach if reach else 0.0)

        return {pair: square(value) for pair, value in means.items()}

    def ends(self, factor: str) -> tuple[Level, Level]:
        """Return the best and the worst level of a factor."""
        ordered = sorted(self.levels[factor], key=lambda level: level.mean.value, reverse=self.direction == "higher")
        return ordered[0], ordered[-1]

    def of_point(self, point: int) -> Mean:
        """Return the mean of a point."""
        return self.figure(mean(self.values[self.points.index(point)]))

    def figure(self, value: Mean) -> Mean:
        """Return a mean of ``values`` in the unit of the metric."""
        return value.exponential() if self.logs else value


@dataclass(frozen=True)
class SweepFindings:
    """The findings of a sweep. ``table`` has a line for each stored cell and metric, see :func:`table_of`."""

    run: Run
    sweep: Sweep
    table: pl.DataFrame
    factors: tuple[FactorLevels, ...]
    responses: tuple[Response, ...]

    @property
    def failures(self) -> pl.DataFrame:
        """The failed cells: point, block, state, reason."""
        failed = self.table.filter(pl.col("state") != "ok")
        return failed.select("point", "block", "state", "reason").unique(maintain_order=True)

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """The reasons of failed cells, each with the number of its cells."""
        return self.failures.group_by("reason", maintain_order=True).len().rows()

    @property
    def left_out(self) -> int:
        """Number of points without a value in each block, which are not analysed."""
        return len(self.sweep.points) - min((len(each.points) for each in self.responses), default=0)

    def region(self, response: Response, levels: FactorLevels) -> list[str]:
        """Return the levels of a factor in the best region; [] for every level."""
        present = sorted({levels.of_point[point] for point in response.best})
        return [] if len(present) == len(levels.labels) else [levels.labels[level] for level in present]


def sweep_findings(engine: Engine, run_id: int | None) -> SweepFindings:
    """Return the findings of a stored sweep; StoreError for any other run."""
    run = reader.run(engine, run_id)
    if not run.design.sweep:
        todo = "'schedlab store list' lists the runs"
        raise StoreError(f"run {run.id} is not a sweep", where=run.store, todo=todo)
    whole = sweep(parse(run.experiment_file, f"run {run.id}"), run.seed)
    table = table_of(engine, run, whole)
    factors = tuple(_levels(factor, whole.points) for factor in whole.factors)
    metrics = {question.metric: question for question in run.design.questions}
    responses = tuple(
        found for question in metrics.values()
        if (found := _response(table, whole, factors, question, run.design.alpha))
    )  # fmt: skip
    return SweepFindings(run, whole, table, factors, responses)


def table_of(engine: Engine, run: Run, whole: Sweep) -> pl.DataFrame:
    """Return a line for each stored cell and judged metric, in the order of the plan.

    Columns: point, block, seed (of a simulation; null on other targets), a column for each factor, metric, unit,
    direction, value (null for a failed cell), state, reason. The table depends only on the file and the run's random
    seed, whatever the order in which the cells were measured.
    """
    number = {each.variant.name: index for index, each in enumerate(whole.points)}
    measured = {(number[cell.variant], cell.block, cell.metric): cell.samples for cell in read_cells(engine, run)}
    failed = {
        (number[line["variant"]], line["position"] // len(whole.points) + 1): (line["state"], line["reason"])
        for line in reader.failures(engine, run.id).iter_rows(named=True)
    }
    scales = {question.metric: (question.unit, question.direction) for question in run.design.questions}
    lines = []
    for trial in whole.plan.trials:
        index = trial.index % len(whole.points)
        point, state = whole.points[index], failed.get((index, trial.block))
        seed = simulation_seed(run.seed, trial.block, 0) if whole.simulated else None
        for metric in point.row.judged:
            samples = measured.get((index, trial.block, metric))
            value = None if samples is None or not len(samples) else float(samples[0])
            if value is None and state is None:
                continue
            head = (trial.variant.name, trial.block, seed, *point.values.values())
            lines.append((*head, metric, *scales[metric], value, *(state or ("ok", ""))))
    types = {factor.name: _type(factor, whole.points) for factor in whole.factors}
    schema: dict[str, Any] = {
        "point": pl.String,
        "block": pl.Int64,
        "seed": pl.UInt64,
        **types,
        "metric": pl.String,
        "unit": pl.String,
    }
    schema |= {"direction": pl.String, "value": pl.Float64, "state": pl.String, "reason": pl.String}
    texts = [index for index, kind in enumerate(schema.values()) if kind == pl.String]
    rows = [[str(value) if index in texts else value for index, value in enumerate(line)] for line in lines]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _type(factor: Factor, points: Sequence[Point]) -> type[pl.DataType]:
    values = [point.values[factor.name] for point in points]
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return pl.Int64
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return pl.Float64 if numbers else pl.String


def _levels(factor: Factor, points: Sequence[Point]) -> FactorLevels:
    values = [point.values[factor.name] for point in points]
    if factor.levels:
        labels = tuple(factor.shown(level) for level in factor.levels)
        return FactorLevels(factor, labels, tuple(factor.levels.index(value) for value in values))
    edges = [factor.shown(factor.at(part / BINS)) for part in range(BINS + 1)]
    labels = tuple(f"{low} to {high}" for low, high in pairwise(edges))
    places = [factor.share_of(value) for value in values if isinstance(value, int | float)]
    return FactorLevels(factor, labels, tuple(min(int(place * BINS), BINS - 1) for place in places))


def _response(
    table: pl.DataFrame, whole: Sweep, factors: Sequence[FactorLevels], question: Question, alpha: float
) -> Response | None:
    """Return the response of a metric; None if no point has a value in each block."""
    blocks = whole.plan.experiment.design.blocks
    grid = np.full((len(whole.points), blocks), np.nan)
    number = {each.variant.name: index for index, each in enumerate(whole.points)}
    of_metric = table.filter(pl.col("metric") == question.metric, pl.col("value").is_not_null())
    for point, block, value in of_metric.select("point", "block", "value").iter_rows():
        grid[number[point], block - 1] = value
    points = np.flatnonzero(np.isfinite(grid).all(axis=1))
    if not len(points):
        return None
    logs = bool((grid[points] > 0).all())
    values = np.log(grid[points]) if logs else grid[points]
    levels = {each.factor.name: [each.of_point[point] for point in points] for each in factors}
    drawn = whole.plan.experiment.sweep is not None and whole.plan.experiment.sweep.samples is not None
    complete_grid = not drawn and len(points) == len(whole.points)
    indices: list[Index] = []
    if drawn and len(points) >= FEWEST_DRAWN and float(values.std()) > 0:
        places = {each.factor.name: _places(each, whole, points) for each in factors}
        indices = first_order(values, places)
    best = best_points(values, higher=question.direction == "higher")
    shared = shares(values, levels) if complete_grid else []
    return Response(
        question.metric,
        question.unit,
        question.direction,
        tuple(map(int, points)),
        logs,
        values,
        {name: response(values, of_point) for name, of_point in levels.items()},
        shared,
        indices,
        _sources(shared, indices, alpha),
        [int(points[place]) for place in best],
    )


def _sources(of_grid: Sequence[Share], indices: Sequence[Index], alpha: float) -> list[Source]:
    estimates = [(share.factors, share.share, share.p) for share in of_grid]
    estimates += [((index.factor,), index.first, index.p) for index in indices]
    sources = [
        Source(
            factors, max(share, 0.0), p, share >= LEAST_SHARE and p <= alpha and factors not in ((HIGHER,), (SEEDS,))
        )
        for factors, share, p in estimates
    ]
    return sorted(sources, key=lambda source: -source.share)


def _places(levels: FactorLevels, whole: Sweep, points: NDArray[np.intp]) -> Floats:
    """Return the place of each point in a factor's range, from 0 to 1."""
    factor = levels.factor
    if factor.low is None:
        return np.array([levels.of_point[point] / max(len(factor.levels) - 1, 1) for point in points], float)
    values = [whole.points[point].values[factor.name] for point in points]
    return np.array([factor.share_of(value) for value in values if isinstance(value, int | float)], float)
