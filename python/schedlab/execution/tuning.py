"""Stored searches for the best values of tunables: points, each compared with the baseline in blocks of its own.

The best figure of a search is optimistic: the best of many noisy figures is above its own mean. Only a run on fresh
blocks shows the effect of the winner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log1p

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sqlalchemy import Engine

from schedlab.analysis.cells import average_blocks
from schedlab.analysis.paired import log_ratios
from schedlab.analysis.rows import Question
from schedlab.analysis.verdicts import Verdict
from schedlab.experiment.sweep_table import Factor, Value
from schedlab.experiment.tuning import point_name, values_of
from schedlab.results.words import Word
from schedlab.store import reader
from schedlab.store.columns import read_cells
from schedlab.store.reader import Run

MOST_WINNERS = 4
"""Most points of a front that are confirmed."""

LEAST_RANKED = 3
"""Least points of a rank correlation."""

WARM = "warm start: "
"""Beginning of a run's note on the points of another search."""

Values = Mapping[str, Value]
"""The value of each factor of a point, by name."""


@dataclass(frozen=True)
class SearchedPoint:
    """A point: its values, and for each metric its gain in each block, the log-ratio to the baseline, positive if
    better. All metrics have the same blocks."""

    values: Values
    gains: Mapping[str, NDArray[np.float64]]

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return min(len(gains) for gains in self.gains.values())

    def gain(self, question: Question) -> float:
        """Return the mean gain in a metric."""
        return float(self.gains[question.metric].mean())


@dataclass(frozen=True)
class Tuning:
    """A stored search: its points with at least one block, in the order of their names' first blocks.

    Attributes:
        run: the run.
        factors: the search space.
        objectives: the metrics to improve.
        constraints: the metrics in which a point may be worse by at most the margin, a log-ratio.
        margin: see ``constraints``.
        points: the points.
        blocks: number of blocks of a complete point.
    """

    run: Run
    factors: Mapping[str, Factor]
    objectives: tuple[Question, ...]
    constraints: tuple[Question, ...]
    margin: float
    points: tuple[SearchedPoint, ...]
    blocks: int

    @property
    def questions(self) -> tuple[Question, ...]:
        """The objectives, then the constraints."""
        return (*self.objectives, *self.constraints)

    @property
    def warm_notes(self) -> list[str]:
        """The run's notes on the points of another search."""
        return [note for note in self.run.notes if note.startswith(WARM)]

    @property
    def ranked(self) -> list[SearchedPoint]:
        """The points, the best in the first objective first, and those that break a constraint last."""
        return sorted(self.points, key=lambda point: (not self.keeps(point), -point.gain(self.objectives[0])))

    @property
    def more_points(self) -> int:
        """Points of a longer search: twice as many."""
        return 2 * len(self.points)

    def keeps(self, point: SearchedPoint) -> bool:
        """Whether a point keeps the constraints in the search."""
        return all(point.gain(constraint) >= -self.margin for constraint in self.constraints)

    @property
    def winners(self) -> tuple[SearchedPoint, ...]:
        """The points to confirm; () if no point with all blocks keeps the constraints and gains.

        With one objective, the point with the largest mean gain. With several objectives, points of the front: no other
        point is better in all objectives. At most :data:`MOST_WINNERS` points, first the best points in each objective,
        then by the sum of the gains.
        """
        complete = [point for point in self.points if point.blocks >= self.blocks and self.keeps(point)]
        gaining = [(point, gains) for point in complete if max(gains := self._gains(point)) > 0]
        front = [
            (point, gains)
            for point, gains in gaining
            if not any(other != gains and all(map(float.__ge__, other, gains)) for _, other in gaining)
        ]
        if len(self.objectives) == 1:
            front = front[:1]
        ordered = sorted(front, key=lambda each: -sum(each[1]))
        best = [max(ordered, key=lambda each: each[1][place]) for place in range(len(self.objectives)) if ordered]
        chosen = [*best, *ordered]
        return tuple({point_name(point.values): point for point, _ in chosen}.values())[:MOST_WINNERS]

    @property
    def best(self) -> SearchedPoint | None:
        """The first winner."""
        return next(iter(self.winners), None)

    def _gains(self, point: SearchedPoint) -> tuple[float, ...]:
        return tuple(map(point.gain, self.objectives))

    def rank_correlation(self, expected: Sequence[Values]) -> float | None:
        """Return Spearman's rank correlation of an expected order of points, the best first, with their gains in the
        first objective; None for fewer than :data:`LEAST_RANKED` measured points, or equal gains."""
        by_name = {point_name(point.values): point.gain(self.objectives[0]) for point in self.points}
        gains = [by_name[name] for values in expected if (name := point_name(values)) in by_name]
        if len(gains) < LEAST_RANKED or len(set(gains)) == 1:
            return None
        return float(np.corrcoef(rankdata(gains), np.arange(len(gains), 0, -1))[0, 1])

    def ratio(self, point: SearchedPoint, question: Question) -> float:
        """Return the ratio of a metric to the baseline's."""
        return exp(point.gain(question) if question.direction == "higher" else -point.gain(question))


@dataclass(frozen=True)
class Confirmed:
    """The confirmation of a search's winners.

    Attributes:
        run: number of the confirming run.
        number: position among the confirmations of the search, from 1.
        alpha: error rate of all verdicts of the confirmation together.
        verdicts: the verdicts of each winner: on the objectives, then on the constraints.
    """

    run: int
    number: int
    alpha: float
    verdicts: Sequence[Sequence[Verdict]]

    @property
    def confidence(self) -> float:
        """The level of the intervals."""
        return 1 - self.alpha

    @property
    def count(self) -> int:
        """Number of verdicts."""
        return sum(map(len, self.verdicts))

    @property
    def more_blocks(self) -> int:
        """Blocks of a further confirmation: twice as many."""
        return 2 * max(verdict.n for verdicts in self.verdicts for verdict in verdicts)

    @property
    def is_decided(self) -> bool:
        """Whether each winner has a verdict in an objective or a constraint."""
        return all(any(each.word is not Word.INCONCLUSIVE for each in verdicts) for verdicts in self.verdicts)


def tuning(
    engine: Engine,
    run_id: int,
    factors: Mapping[str, Factor],
    constraints: Sequence[str] = (),
    blocks: int | None = None,
) -> Tuning:
    """Return a stored search.

    Args:
        engine: the store.
        run_id: the search.
        factors: the search space.
        constraints: the metrics of the run that are constraints; the others are objectives.
        blocks: number of blocks of a complete point; default the largest number.
    """
    run = reader.run(engine, run_id)
    questions = run.design.questions
    (baseline,) = run.design.variants
    by_metric: dict[str, dict[str, dict[int, float]]] = {question.metric: {} for question in questions}
    for cell in average_blocks(read_cells(engine, run)).iter_rows(named=True):
        if cell["metric"] in by_metric:
            by_metric[cell["metric"]].setdefault(cell["variant"], {})[cell["block"]] = cell["value"]
    first = by_metric[questions[0].metric]
    names = sorted(first.keys() - {baseline}, key=lambda name: min(first[name]))
    points = [
        SearchedPoint(values_of(name, factors), gains)
        for name in names
        if len(next(iter((gains := _gains(questions, by_metric, baseline, name)).values())))
    ]
    most = max((point.blocks for point in points), default=1)
    return Tuning(
        run,
        factors,
        tuple(question for question in questions if question.metric not in constraints),
        tuple(question for question in questions if question.metric in constraints),
        log1p(run.design.delta),
        tuple(points),
        most if blocks is None else blocks,
    )


def _gains(
    questions: Sequence[Question], by_metric: Mapping[str, Mapping[str, Mapping[int, float]]], baseline: str, name: str
) -> dict[str, NDArray[np.float64]]:
    """Return the gains of a variant in the blocks in which it and the baseline have all metrics."""
    both = [by_metric[question.metric].get(variant, {}) for question in questions for variant in (baseline, name)]
    common = sorted(set.intersection(*map(set, both)))
    gains = {}
    for question in questions:
        reference, values = (by_metric[question.metric].get(variant, {}) for variant in (baseline, name))
        logs = log_ratios({block: reference[block] for block in common}, {block: values[block] for block in common})
        gains[question.metric] = logs if question.direction == "higher" else -logs
    return gains
