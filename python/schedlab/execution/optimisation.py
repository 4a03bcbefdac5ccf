"""The search for the best values of tunables: points that Optuna chooses, each compared with the baseline in blocks.

One process runs the search: it alone writes the study and the store. Blocks are measured in its session, or by workers,
which measure several points at the same time. The next block of a point may be on another machine of a fleet: each
block has the baseline as well.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import Engine

from schedlab.errors import CannotRunHere
from schedlab.execution import studies
from schedlab.execution.cells import Block, on_target
from schedlab.execution.loop import Measure, Progress, pause_of, recorded, running
from schedlab.execution.pairs import Pairs, pair_of
from schedlab.execution.search import Budget
from schedlab.execution.studies import Sampler
from schedlab.execution.sweep import ATTEMPTS
from schedlab.execution.tuning import SearchedPoint, tuning
from schedlab.execution.workers import Lane, Next, Place
from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Plan, Trial
from schedlab.experiment.sweep_table import Factor, Value
from schedlab.experiment.tuning import point_name, point_variant
from schedlab.store import reader, writer
from schedlab.targets.protocol import Target

if TYPE_CHECKING:
    from optuna.trial import Trial as StudyTrial


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


def tune(
    search: Search,
    target: Target,
    engine: Engine,
    run_id: int,
    progress: Progress,
    place: Place | None = None,
    spec: str | None = None,
) -> None:
    """Measure points that the sampler chooses, until the number of points is reached or the budget is spent.

    Args:
        search: the search.
        target: the target, or the machines of a fleet.
        engine: the store.
        run_id: the run, new or interrupted.
        progress: see :data:`schedlab.execution.loop.Progress`.
        place: the workers; None to measure in a session of this process, one point after another.
        spec: the target of workers without machines, as ``--target`` names it.
    """
    plan = search.plan
    if place is not None:
        with running(engine, run_id) as finish:
            _by_workers(plan, _Points(search, engine, run_id), _Blocks(plan, engine, run_id, progress, place), spec)
            finish()
        return
    with recorded(plan, target, engine, run_id) as session:
        pairs = Pairs(plan, Measure(session, pause_of(plan, target), engine, run_id, progress))
        pairs.warm_up()
        points = _Points(search, engine, run_id)
        while (point := points.next()) is not None:
            pairs.plan = replace(plan, variants=(plan.variants[0], points.variant(point)))
            pairs.measure(1)
            points.ended(point)


@dataclass(frozen=True)
class _Blocks:
    """Blocks of a run that workers measure. A block is stored in one transaction when it has ended."""

    plan: Plan
    engine: Engine
    run_id: int
    progress: Progress
    place: Place

    def ended(self, next_block: Next) -> Iterator[tuple[int, bool]]:
        """Yield the number of each block, in any order, and whether the block was lost with its worker."""
        for (_, trials), measured in self.place.ended(partial(on_target, self.plan, self.run_id), next_block):
            if measured is not None:
                stored = list(zip(trials, measured, strict=True))
                writer.record_all(self.engine, self.run_id, stored)
                for trial, measurement in stored:
                    self.progress(trial, None)
                    self.progress(trial, measurement)
            yield trials[0].block, measured is None


def _by_workers(plan: Plan, points: _Points, blocks: _Blocks, spec: str | None) -> None:
    """Measure blocks of points until no point needs any."""
    counts = reader.trial_counts(blocks.engine, blocks.run_id)
    number = max((block for of_variant in counts.values() for block in of_variant), default=0)
    position = 1 + max(writer.done(blocks.engine, blocks.run_id), default=-1)
    measuring: dict[int, StudyTrial] = {}

    def next_block(lane: Lane) -> Block | None:
        nonlocal number, position
        if (point := points.next()) is None:
            return None
        number += 1
        measuring[number] = point
        pair = replace(plan, variants=(plan.variants[0], points.variant(point)))
        trials = list(pair_of(pair, number, position))
        position += len(trials)
        return lane or spec, trials

    for block, lost in blocks.ended(next_block):
        points.ended(measuring.pop(block), lost=lost)


def execute_blocks(plan: Plan, engine: Engine, run_id: int, progress: Progress, place: Place) -> None:
    """Run the blocks of a plan that are not in the store, each on one of the machines, whichever is free.

    CannotRunHere for a block that ended several workers.
    """
    done = writer.done(engine, run_id)
    of_block: dict[int, list[Trial]] = {}
    for trial in plan.trials:
        if trial.phase == "measure" and trial.index not in done:
            of_block.setdefault(trial.block, []).append(trial)
    left, losses = deque(of_block), Counter[int]()

    def next_block(lane: Lane) -> Block | None:
        return (lane, of_block[left.popleft()]) if left else None

    with running(engine, run_id) as finish:
        for block, lost in _Blocks(plan, engine, run_id, progress, place).ended(next_block):
            losses[block] += lost
            if losses[block] >= ATTEMPTS:
                raise CannotRunHere(f"block {block} ended {ATTEMPTS} workers", todo="repeat it with --resume")
            if lost:
                left.append(block)
        finish()


class _Points:
    """The points of a search: those that are measured now, and the study that chooses the next."""

    def __init__(self, search: Search, engine: Engine, run_id: int) -> None:
        self._search = search
        self._end = time.monotonic() + search.budget.seconds
        self._ranges = {name: studies.distribution(factor) for name, factor in search.factors.items()}
        self._arguments = engine, run_id, search.factors, search.constraints, search.budget.blocks
        self._found = tuning(*self._arguments)
        self._study = studies.study_of(engine, run_id, len(self._found.objectives))
        self._lost = Counter[int]()
        self._waiting = deque(self._begun())

    def _begun(self) -> Iterator[StudyTrial]:
        """Yield the points that an interruption left, and prepare the study: its first points, and the points that the
        store has without the study."""
        from optuna.trial import Trial as StudyTrial
        from optuna.trial import TrialState, create_trial

        study = self._study
        known = {point_name(trial.params) for trial in study.trials}
        for point in self._found.points:
            if point_name(point.values) in known:
                continue
            if point.blocks < self._search.budget.blocks:
                study.enqueue_trial(dict(point.values))
                continue
            gains = [point.gain(question) for question in self._found.objectives]
            study.add_trial(create_trial(
                values=gains, params=dict(point.values), distributions=self._ranges, constraints=self._excess(point)
            ))  # fmt: skip
        for values in self._search.first:
            study.enqueue_trial(dict(values), skip_if_exists=True)
        for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            if trial.params.keys() == self._ranges.keys():
                yield StudyTrial(study, trial._trial_id)
            else:
                study.tell(trial.number, state=TrialState.FAIL)

    def variant(self, point: StudyTrial) -> Variant:
        """Return the point's variant."""
        return point_variant(self._search.plan.variants[0], self._search.factors, point.params)

    def next(self) -> StudyTrial | None:
        """Return the point that needs a block, or None if no point does now.

        A point whose blocks are all in the store is reported to the study at once.
        """
        while True:
            if self._waiting:
                point = self._waiting.popleft()
            elif self._wants_more():
                seed = self._search.plan.seed + len(self._search.first)
                point = studies.ask(self._study, self._search.sampler, seed, self._ranges)
            else:
                return None
            if not self._is_over(point):
                return point

    def ended(self, point: StudyTrial, *, lost: bool = False) -> None:
        """Take note of a block that is in the store, or that was lost with its worker.

        A point whose block has no value, or whose blocks end several workers, has failed.
        """
        from optuna.trial import TrialState

        before = self._blocks(point)
        self._found = tuning(*self._arguments)
        self._lost[point.number] += lost
        if self._blocks(point) > before or 0 < self._lost[point.number] < ATTEMPTS:
            self._waiting.append(point)
        else:
            self._study.tell(point, state=TrialState.FAIL)

    def _wants_more(self) -> bool:
        """Whether a new point may begin. Points that wait to be measured first are among the study's."""
        from optuna.trial import TrialState

        begun = sum(trial.state != TrialState.WAITING for trial in self._study.get_trials(deepcopy=False))
        return begun < self._search.points and time.monotonic() < self._end

    def _is_over(self, point: StudyTrial) -> bool:
        """Report a point to the study; return whether the point needs no further block."""
        from optuna.trial import TrialState

        measured, blocks = self._point(point), self._blocks(point)
        if measured is None:
            return False
        objective, *others = self._found.objectives
        complete = blocks >= self._search.budget.blocks
        # Optuna gives up points of searches for one objective only.
        trial = self._study.get_trials(deepcopy=False)[point.number]
        if not complete and not others and blocks not in trial.intermediate_values:
            point.report(float(measured.gains[objective.metric].mean()), blocks)
        if not complete and (others or not point.should_prune()):
            return False
        for name, excess in self._excess(measured).items():
            point.set_constraint(name, excess)
        if complete:
            self._study.tell(point, [measured.gain(question) for question in self._found.objectives])
        else:
            self._study.tell(point, state=TrialState.PRUNED)
        return True

    def _excess(self, point: SearchedPoint) -> dict[str, float]:
        """Return by how much a point breaks each constraint; positive values break it."""
        return {each.metric: -self._found.margin - point.gain(each) for each in self._found.constraints}

    def _point(self, trial: StudyTrial) -> SearchedPoint | None:
        name = point_name(trial.params)
        return next((point for point in self._found.points if point_name(point.values) == name), None)

    def _blocks(self, trial: StudyTrial) -> int:
        point = self._point(trial)
        return 0 if point is None else point.blocks
