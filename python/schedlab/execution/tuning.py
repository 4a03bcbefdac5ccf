"""The search for the best values of tunables. Each point is compared with the baseline in blocks of its own.

The store has every block. A resumed search repeats the choices of its sampler from the beginning with the stored
blocks, so that it continues as an uninterrupted search. The best figure of a search is optimistic: the best of many
noisy figures is above its own mean. Only a run on fresh blocks shows the effect of the winner.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from math import exp, log1p
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sqlalchemy import Engine

from schedlab.analysis.cells import average_blocks
from schedlab.analysis.paired import log_ratios
from schedlab.analysis.rows import Question
from schedlab.errors import CannotRunHere
from schedlab.execution.loop import Measure, Progress, pause_of, recorded
from schedlab.execution.pairs import Pairs
from schedlab.execution.search import Budget
from schedlab.execution.workers import SCALE
from schedlab.experiment.plan import Plan
from schedlab.experiment.sweep_table import Factor, Value
from schedlab.experiment.tuning import point_name, point_variant, values_of
from schedlab.store import reader
from schedlab.store.columns import read_cells
from schedlab.store.reader import Run
from schedlab.targets.protocol import Target

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution

Sampler = Literal["tpe", "gp", "nsga2", "random"]

BEFORE_PRUNING = 5
"""Points that are measured completely before a point may end after its first blocks."""

MOST_WINNERS = 4
"""Most points of a front that are confirmed."""

LEAST_RANKED = 3
"""Least points of a rank correlation."""

POPULATION = 10
"""Points of a generation of NSGA-II. Optuna's 50 would make the whole of a short search random."""


@dataclass(frozen=True)
class SearchedPoint:
    """A point: its values, and for each metric its gain in each block, the log-ratio to the baseline, positive if
    better. All metrics have the same blocks."""

    values: Mapping[str, Value]
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
        objectives: the metrics to improve.
        constraints: the metrics in which a point may be worse by at most the margin, a log-ratio.
        margin: see ``constraints``.
        points: the points.
        blocks: number of blocks of a complete point.
    """

    run: Run
    objectives: tuple[Question, ...]
    constraints: tuple[Question, ...]
    margin: float
    points: tuple[SearchedPoint, ...]
    blocks: int

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

    def rank_correlation(self, expected: Sequence[Mapping[str, Value]]) -> float | None:
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


def require_optuna(sampler: Sampler) -> None:
    """Raise CannotRunHere without the libraries of a sampler."""
    if find_spec("optuna") is None:
        raise CannotRunHere("the library Optuna is not installed", where="tune", todo=SCALE)
    if sampler == "gp" and find_spec("torch") is None:
        raise CannotRunHere("the library PyTorch is not installed", where="--sampler gp", todo="pip install torch")


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


@dataclass
class Search:
    """What a search does.

    Attributes:
        plan: a plan without trials, with the baseline and one row, whose judged metrics are objectives and constraints.
        factors: the search space.
        constraints: the judged metrics that are constraints.
        sampler: ``tpe`` (Bergstra et al. 2011), ``gp`` (Gaussian processes), ``nsga2`` (Deb et al. 2002) or ``random``.
        budget: blocks of a point, and seconds of the whole search from the call of :func:`tune`.
        points: most points, including the points in the store.
        first: values of the points to measure first.
    """

    plan: Plan
    factors: Mapping[str, Factor]
    constraints: Sequence[str]
    sampler: Sampler
    budget: Budget
    points: int
    first: Sequence[Mapping[str, Value]] = field(default_factory=tuple)


def tune(search: Search, target: Target, engine: Engine, run_id: int, progress: Progress) -> None:
    """Measure points that the sampler chooses, until the number of points is reached or the budget is spent.

    Args:
        search: the search.
        target: the target.
        engine: the store.
        run_id: the run, new or interrupted.
        progress: see :data:`schedlab.execution.loop.Progress`.
    """
    plan = search.plan
    end = time.monotonic() + search.budget.seconds
    ranges = {name: _distribution(factor) for name, factor in search.factors.items()}
    objectives = len(plan.rows[0].judged) - len(search.constraints)
    # A search with the seed of the search that it begins from would draw that search's points again.
    study = _study(search.sampler, plan.seed + len(search.first), objectives)
    for values in search.first:
        study.enqueue_trial(dict(values))
    with recorded(plan, target, engine, run_id) as session:
        pairs = Pairs(plan, Measure(session, pause_of(plan, target), engine, run_id, progress))
        pairs.warm_up()
        stored = _Stored(search, engine, run_id)
        # Points that wait to be measured first are among the study's.
        while sum(each.state.is_finished() for each in study.trials) < search.points and time.monotonic() < end:
            _measure(study, ranges, pairs, search, stored)


class _Stored:
    """The points in the store, read again after each block."""

    def __init__(self, search: Search, engine: Engine, run_id: int) -> None:
        self._arguments = engine, run_id, search.factors, search.constraints, search.budget.blocks
        self.found = tuning(*self._arguments)

    def point(self, values: Mapping[str, Value], *, again: bool = False) -> SearchedPoint | None:
        """Return a point; None without a block."""
        if again:
            self.found = tuning(*self._arguments)
        name = point_name(values)
        return next((point for point in self.found.points if point_name(point.values) == name), None)


def _measure(study: Study, ranges: dict[str, BaseDistribution], pairs: Pairs, search: Search, stored: _Stored) -> None:
    """Measure the next point; blocks that are in the store are not measured again."""
    from optuna.trial import TrialState

    trial = study.ask(ranges)
    variant = point_variant(search.plan.variants[0], search.factors, trial.params)
    pairs.plan = replace(search.plan, variants=(search.plan.variants[0], variant))
    point, blocks = stored.point(trial.params), search.budget.blocks
    (objective, *others) = stored.found.objectives
    for block in range(1, blocks + 1):
        if point is None or point.blocks < block:
            pairs.measure(1)
            point = stored.point(trial.params, again=True)
        if point is None or point.blocks < block:
            study.tell(trial, state=TrialState.FAIL)
            return
        # Optuna gives up points of searches for one objective only.
        if not others and block < blocks:
            trial.report(float(point.gains[objective.metric][:block].mean()), block)
            if trial.should_prune():
                _constrain(trial, point, stored.found)
                study.tell(trial, state=TrialState.PRUNED)
                return
    assert point is not None
    _constrain(trial, point, stored.found)
    study.tell(trial, [point.gain(question) for question in stored.found.objectives])


def _constrain(trial: Any, point: SearchedPoint, found: Tuning) -> None:
    """Report to Optuna by how much a point breaks the constraints: positive values break them."""
    for constraint in found.constraints:
        trial.set_constraint(constraint.metric, -found.margin - point.gain(constraint))


def _study(sampler: Sampler, seed: int, objectives: int) -> Study:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seed %= 2**32
    samplers = optuna.samplers
    chosen: Any
    match sampler:
        case "tpe":
            chosen = samplers.TPESampler(seed=seed)
        case "gp":
            chosen = samplers.GPSampler(seed=seed)
        case "nsga2":
            chosen = samplers.NSGAIISampler(seed=seed, population_size=POPULATION)
        case "random":
            chosen = samplers.RandomSampler(seed=seed)
    pruner = optuna.pruners.MedianPruner(n_startup_trials=BEFORE_PRUNING)
    return optuna.create_study(directions=["maximize"] * objectives, sampler=chosen, pruner=pruner)


def _distribution(factor: Factor) -> BaseDistribution:
    from optuna import distributions

    if factor.low is None or factor.high is None:
        return distributions.CategoricalDistribution(factor.levels)
    if isinstance(factor.low, int) and isinstance(factor.high, int):
        return distributions.IntDistribution(factor.low, factor.high, log=factor.log)
    return distributions.FloatDistribution(factor.low, factor.high, log=factor.log)
