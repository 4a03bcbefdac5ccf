"""The search for the best values of tunables. Each point is compared with the baseline in blocks of its own.

The store has every block, so that a search can be continued. The best figure of a search is optimistic: the best of
many noisy figures is above its own mean. Only a run on fresh blocks shows the effect of the winner.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from math import exp
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
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

Sampler = Literal["tpe", "random"]

BEFORE_PRUNING = 5
"""Points that are measured completely before a point may end after its first blocks."""


@dataclass(frozen=True)
class SearchedPoint:
    """A point: its values, and its gain in each block, the log-ratio to the baseline, positive if better."""

    values: Mapping[str, Value]
    gains: NDArray[np.float64]

    @property
    def gain(self) -> float:
        """The mean gain."""
        return float(self.gains.mean())


@dataclass(frozen=True)
class Tuning:
    """A stored search: its points with at least one block, in the order of their names' first blocks."""

    run: Run
    question: Question
    points: tuple[SearchedPoint, ...]
    blocks: int

    @property
    def best(self) -> SearchedPoint | None:
        """The point with the largest mean gain among the points with all blocks; None if no point has a gain."""
        complete = [point for point in self.points if len(point.gains) >= self.blocks and point.gain > 0]
        return max(complete, key=lambda point: point.gain, default=None)

    def ratio(self, point: SearchedPoint) -> float:
        """Return the ratio of the metric to the baseline's."""
        return exp(point.gain if self.question.direction == "higher" else -point.gain)


def require_optuna() -> None:
    """Raise CannotRunHere without the library Optuna."""
    if find_spec("optuna") is None:
        raise CannotRunHere("the library Optuna is not installed", where="tune", todo=SCALE)


def tuning(engine: Engine, run_id: int, factors: Mapping[str, Factor], blocks: int | None = None) -> Tuning:
    """Return a stored search. ``blocks`` is the number of blocks of a complete point; default the largest number."""
    run = reader.run(engine, run_id)
    (question,) = run.design.questions
    (baseline,) = run.design.variants
    by_variant: dict[str, dict[int, float]] = {}
    for cell in average_blocks(read_cells(engine, run)).iter_rows(named=True):
        if cell["metric"] == question.metric:
            by_variant.setdefault(cell["variant"], {})[cell["block"]] = cell["value"]
    reference, points = by_variant.pop(baseline, {}), []
    for name, values in sorted(by_variant.items(), key=lambda item: min(item[1])):
        logs = log_ratios(reference, values)
        if len(logs):
            points.append(SearchedPoint(values_of(name, factors), logs if question.direction == "higher" else -logs))
    most = max((len(point.gains) for point in points), default=1)
    return Tuning(run, question, tuple(points), most if blocks is None else blocks)


def tune(
    plan: Plan,
    target: Target,
    engine: Engine,
    run_id: int,
    factors: Mapping[str, Factor],
    sampler: Sampler,
    budget: Budget,
    points: int,
    progress: Progress,
) -> None:
    """Measure points that the sampler chooses, until the number of points is reached or the budget is spent.

    Args:
        plan: a plan without trials, with the baseline and one row.
        target: the target.
        engine: the store.
        run_id: the run, new or interrupted.
        factors: the search space.
        sampler: ``tpe`` (Bergstra et al. 2011) or ``random``.
        budget: blocks of a point, and seconds of the whole search from this call.
        points: most points, including the points in the store.
        progress: see :data:`schedlab.execution.loop.Progress`.
    """
    end = time.monotonic() + budget.seconds
    ranges = {name: _distribution(factor) for name, factor in factors.items()}
    study = _study(tuning(engine, run_id, factors), ranges, sampler, plan.seed)
    with recorded(plan, target, engine, run_id) as session:
        pairs = Pairs(plan, Measure(session, pause_of(plan, target), engine, run_id, progress))
        pairs.warm_up()
        while len(study.trials) < points and time.monotonic() < end:
            _measure(study, ranges, pairs, plan, factors, budget.blocks)


def _measure(
    study: Study,
    ranges: dict[str, BaseDistribution],
    pairs: Pairs,
    plan: Plan,
    factors: Mapping[str, Factor],
    blocks: int,
) -> None:
    """Measure the next point; a point that is already in the store is not measured again."""
    from optuna.trial import TrialState

    trial = study.ask(ranges)
    variant = point_variant(plan.variants[0], trial.params)
    pairs.plan = replace(plan, variants=(plan.variants[0], variant))
    engine, run_id = pairs.run_trial.engine, pairs.run_trial.run_id
    gains = _gains(engine, run_id, factors, trial.params)
    while len(gains) < blocks:
        pairs.measure(1)
        previous, gains = gains, _gains(engine, run_id, factors, trial.params)
        if len(gains) == len(previous):
            study.tell(trial, state=TrialState.FAIL)
            return
        trial.report(float(gains.mean()), len(gains))
        if len(gains) < blocks and trial.should_prune():
            study.tell(trial, state=TrialState.PRUNED)
            return
    study.tell(trial, float(gains.mean()))


def _gains(
    engine: Engine, run_id: int, factors: Mapping[str, Factor], values: Mapping[str, Value]
) -> NDArray[np.float64]:
    wanted = point_name(values)
    stored = tuning(engine, run_id, factors).points
    return next((point.gains for point in stored if point_name(point.values) == wanted), np.empty(0))


def _study(known: Tuning, ranges: dict[str, BaseDistribution], sampler: Sampler, seed: int) -> Study:
    """Return the study with the points of the store. Its random numbers continue after these points."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seed = (seed + len(known.points)) % 2**32
    chosen: Any = (
        optuna.samplers.RandomSampler(seed=seed) if sampler == "random" else optuna.samplers.TPESampler(seed=seed)
    )
    pruner = optuna.pruners.MedianPruner(n_startup_trials=BEFORE_PRUNING)
    study = optuna.create_study(direction="maximize", sampler=chosen, pruner=pruner)
    for point in known.points:
        study.add_trial(optuna.trial.create_trial(params=dict(point.values), distributions=ranges, value=point.gain))
    return study


def _distribution(factor: Factor) -> BaseDistribution:
    from optuna import distributions

    if factor.low is None or factor.high is None:
        return distributions.CategoricalDistribution(factor.levels)
    if isinstance(factor.low, int) and isinstance(factor.high, int):
        return distributions.IntDistribution(factor.low, factor.high, log=factor.log)
    return distributions.FloatDistribution(factor.low, factor.high, log=factor.log)
