"""The size that an experiment needs to find a given effect, from the noise and times of a stored run."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine

from schedlab.analysis.cells import block_values
from schedlab.analysis.planning import Costs, Durations, RowPlan, Size, Wanted, cheapest, durations, row_plan, size_for
from schedlab.analysis.variance import Noise, noise
from schedlab.analysis.verdicts import Question
from schedlab.errors import SchedlabError
from schedlab.execution.design_size import number_of_rows, options_of
from schedlab.experiment.plan import Plan
from schedlab.store import reader
from schedlab.store.columns import sample_table, variants_of
from schedlab.store.writer import questions_of


@dataclass(frozen=True)
class Sizing:
    """The size that an experiment needs, from a stored run.

    Attributes:
        run: the run whose noise and times are used.
        wanted: the effect, the power, and the significance rule when a single row differs.
        rows: the experiment's rows that the run measured.
        unknown: the experiment's other rows, each with the reason.
        costs: times of the experiment's design.
        planned: seconds that the experiment's design takes.
        at_planned_iterations: the design's iterations with the blocks that all rows need; None when the size is too
            large to run.
        best: the quickest design that finds the effect in every row; None when there is no such design.
    """

    run: reader.Run
    wanted: Wanted
    rows: tuple[RowPlan, ...]
    unknown: tuple[tuple[Question, str], ...]
    costs: Costs
    planned: float
    at_planned_iterations: Size | None
    best: Size | None


def sizing(plan: Plan, engine: Engine, run_id: int | None, effect: float | None, power: float) -> Sizing:
    """Return the size of an experiment from a stored run (the newest when no number is given).

    Args:
        effect: relative change to find, 0.01 for 1 %; None for the experiment's delta.
        power: probability of detecting such a change.

    Raises SchedlabError when the run shares no row with the experiment.
    """
    run = reader.run(engine, run_id)
    options, design = options_of(plan), plan.experiment.design
    wanted = Wanted(
        options.delta if effect is None else effect, power, options.rule(*number_of_rows(plan.experiment, plan.rows))
    )
    times, samples = durations(reader.times(engine, run.id)), _RunSamples(engine, run)
    rows, unknown = [], []
    for question in questions_of(plan):
        row_noise = samples.noise(question)
        if isinstance(row_noise, str):
            unknown.append((question, row_noise))
        else:
            ratio = _cost_ratio(question, plan, times)
            rows.append(row_plan(question, row_noise, design.blocks, design.iterations, wanted, ratio))
    if not rows:
        raise SchedlabError(
            f"run {run.id} cannot size this experiment: {unknown[0][1] if unknown else 'the run judges no row'}",
            where=f"--from {run.id}",
            todo="name a run of this file with at least two blocks; 'schedlab store list' lists the runs",
        )
    costs = _costs(plan, times)
    return Sizing(
        run=run,
        wanted=wanted,
        rows=tuple(rows),
        unknown=tuple(unknown),
        costs=costs,
        planned=costs.seconds(design.blocks, design.iterations),
        at_planned_iterations=size_for(rows, design.iterations, wanted, costs),
        best=cheapest(rows, wanted, costs),
    )


class _RunSamples:
    """The single samples of a run."""

    def __init__(self, engine: Engine, run: reader.Run) -> None:
        self._run = run
        self._values = block_values(sample_table(engine, variants_of(run)).rename({"column": "variant"}))

    def noise(self, question: Question) -> Noise | str:
        """Return a row's noise, or the reason why it is unknown."""
        row = (question.workload, question.parameters, question.metric)
        cells = [self._values.get((*row, variant), {}) for variant in self._run.design.variants]
        if not any(cells):
            return f"run {self._run.id} did not measure the row"
        if any(value <= 0 for cell in cells for values in cell.values() for value in values):
            return "a value of 0 or below has no ratio"
        return noise(cells[0], cells[1:]) or (
            f"run {self._run.id}: fewer than two blocks contain the row under two variants"
        )


def _costs(plan: Plan, times: Durations) -> Costs:
    design, variants = plan.experiment.design, len(plan.variants)
    row_pass = sum(_seconds(row.key, plan, times) for row in plan.rows)
    places = len(plan.rows) if design.interleave == "rows" else 1
    return Costs(times.place, places, variants, row_pass, design.warmup * variants * row_pass)


def _cost_ratio(question: Question, plan: Plan, times: Durations) -> float:
    """Return the cost of putting the variants in place for another block of a row, in units of iterations."""
    sharing = 1 if plan.experiment.design.interleave == "rows" else len(plan.rows)
    seconds = _seconds((question.workload, question.parameters), plan, times)
    return times.place / sharing / seconds if seconds > 0 else 0.0


def _seconds(key: tuple[str, str], plan: Plan, times: Durations) -> float:
    """Return the seconds of a trial: as measured, or the guess of its adapter where the run lacks the row."""
    if key in times.trial:
        return times.trial[key]
    row = next(row for row in plan.rows if row.key == key)
    return float(row.adapter.seconds(row.validated))
