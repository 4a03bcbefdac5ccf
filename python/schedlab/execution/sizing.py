"""How large an experiment has to be, from a run of it that was measured: brought together from file and store."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine

from schedlab.analysis.cells import block_values
from schedlab.analysis.durations import Durations, durations
from schedlab.analysis.planning import Costs, RowPlan, Size, Wanted, cheapest, row_plan, size_for
from schedlab.analysis.variance import Noise, noise
from schedlab.analysis.verdicts import Options, Question
from schedlab.errors import SchedlabError
from schedlab.experiment.plan import Plan
from schedlab.store import reading
from schedlab.store.columns import variants_of
from schedlab.store.samples import sample_table
from schedlab.store.writing import describe, questions_of
from schedlab.workloads.registry import adapter


@dataclass(frozen=True)
class Sizing:
    """What a stored run tells of the size that an experiment needs.

    Attributes:
        run: the one whose noise and times these are.
        wanted: the effect, the power, and the level of a single row.
        rows: the experiment's rows that the run measured.
        unknown: the others, each with the reason.
        costs: of the experiment's own design.
        planned: seconds that its own design takes.
        kept: the blocks that all rows need with the design's iterations; None for more than anybody runs.
        best: the quickest design that finds the effect in every row; None where there is none.
    """

    run: reading.Run
    wanted: Wanted
    rows: tuple[RowPlan, ...]
    unknown: tuple[tuple[Question, str], ...]
    costs: Costs
    planned: float
    kept: Size | None
    best: Size | None


def options_of(plan: Plan) -> Options:
    """How the plan's run will be judged."""
    return describe(plan).options(plan.seed)


def sizing(plan: Plan, engine: Engine, run_id: int | None, effect: float | None, power: float) -> Sizing:
    """Size an experiment by a stored run (the newest when no number is given).

    Args:
        effect: the relative change to find, 0.01 for 1 %; None for the experiment's delta.
        power: the share of such changes that are to be found.

    Raises SchedlabError when the run shares no row with the experiment.
    """
    run = reading.run(engine, run_id)
    options, design = options_of(plan), plan.experiment.design
    wanted = Wanted(options.delta if effect is None else effect, power, options.strictest(plan.tests))
    times, held = durations(reading.times(engine, run.id)), _Held(engine, run)
    known, unknown = [], []
    for question in questions_of(plan):
        found = held.noise(question)
        if isinstance(found, str):
            unknown.append((question, found))
        else:
            ratio = _cost_ratio(question, plan, times)
            known.append(row_plan(question, found, design.blocks, design.iterations, wanted, ratio))
    if not known:
        raise SchedlabError(
            f"run {run.id} has nothing to plan this experiment by: {unknown[0][1] if unknown else 'it asks nothing'}",
            where=f"--from {run.id}",
            todo="give a run of this file, of at least two blocks; 'schedlab runs' lists them",
        )
    costs = _costs(plan, times)
    return Sizing(
        run=run,
        wanted=wanted,
        rows=tuple(known),
        unknown=tuple(unknown),
        costs=costs,
        planned=costs.seconds(design.blocks, design.iterations),
        kept=size_for(known, design.iterations, wanted, costs),
        best=cheapest(known, wanted, costs),
    )


class _Held:
    """A run's single measurements."""

    def __init__(self, engine: Engine, run: reading.Run) -> None:
        self._run = run
        self._values = block_values(sample_table(engine, variants_of(run)).rename({"column": "variant"}))

    def noise(self, question: Question) -> Noise | str:
        """A row's noise, or why it is not known."""
        row = (question.workload, question.parameters, question.metric)
        cells = [self._values.get((*row, variant), {}) for variant in self._run.design.variants]
        if not any(cells):
            return f"run {self._run.id} did not measure it"
        if any(value <= 0 for cell in cells for values in cell.values() for value in values):
            return "a value of 0 or below has no ratio"
        return noise(cells[0], cells[1:]) or f"no two blocks of run {self._run.id} have it under two variants"


def _costs(plan: Plan, times: Durations) -> Costs:
    design, variants = plan.experiment.design, len(plan.variants)
    row_pass = sum(_seconds(row.key, plan, times) for row in plan.rows)
    places = len(plan.rows) if design.interleave == "rows" else 1
    return Costs(times.place, places, variants, row_pass, design.warmup * variants * row_pass)


def _cost_ratio(question: Question, plan: Plan, times: Durations) -> float:
    """What a further block costs a row beside its iterations, in iterations: its share of putting variants in place."""
    sharing = 1 if plan.experiment.design.interleave == "rows" else len(plan.rows)
    seconds = _seconds((question.workload, question.parameters), plan, times)
    return times.place / sharing / seconds if seconds > 0 else 0.0


def _seconds(key: tuple[str, str], plan: Plan, times: Durations) -> float:
    """Of one trial: measured, or guessed by its adapter where the run has no such row."""
    if key in times.trial:
        return times.trial[key]
    row = next(row for row in plan.rows if row.key == key)
    found = adapter(row.use)
    return float(found.seconds(found.parameters.model_validate(row.parameters)))
