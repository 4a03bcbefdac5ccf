"""The confirmation of a search's winners: a run of its own on fresh blocks, whose verdicts are the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import Engine

from schedlab.analysis.multiplicity import confirmation_share
from schedlab.execution.loop import execute, require_runnable
from schedlab.execution.optimisation import execute_blocks
from schedlab.execution.runs import Request, begin
from schedlab.execution.tuning import Tuning
from schedlab.execution.watch import Watch
from schedlab.execution.workers import Place
from schedlab.experiment import tuning as files
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import CONTROL, plan
from schedlab.experiment.seeds import confirmation_seed
from schedlab.experiment.sweep_table import Factor
from schedlab.store import reader
from schedlab.store.design import Purpose
from schedlab.store.reader import Run
from schedlab.targets.protocol import Target


def confirm(
    engine: Engine,
    request: Request,
    found: Tuning,
    factors: Mapping[str, Factor],
    target: Target,
    watch: Watch,
    *,
    blocks: int | None,
    place: Place | None,
) -> None:
    """Measure the winners on fresh blocks, or the rest of an interrupted confirmation of the same winners.

    Args:
        engine: the store.
        request: the request of the search.
        found: the search.
        factors: its search space.
        target: the target, or the machines of a fleet.
        watch: gets the progress.
        blocks: number of fresh blocks; None for the file's.
        place: the workers of a fleet; None to measure in a session of this process.
    """
    text, earlier = found.run.experiment_file, confirmations(engine, found.run.id)
    same = (
        number
        for number, run in enumerate(earlier, 1)
        if run.experiment_file == confirming(found, factors, text, blocks, number)[1]
    )
    number = next(same, len(earlier) + 1)
    experiment, of_winners = confirming(found, factors, text, blocks, number)
    trials = plan(experiment, confirmation_seed(found.run.seed, number))
    if number <= len(earlier):
        begun = earlier[number - 1]
        if begun.state == "complete":
            return
        run_id = begun.id
    else:
        require_runnable(trials, target)
        source = replace(request.source, experiment=experiment, text=of_winners)
        request = replace(request, source=source, purpose=Purpose(confirms=found.run.id))
        run_id = begin(engine, request, trials, target)
    progress = watch.points({trials.variants[0].name, CONTROL})
    if place is None:
        execute(trials, target, engine, run_id, progress)
    else:
        execute_blocks(trials, engine, run_id, progress, place)


def confirming(
    found: Tuning, factors: Mapping[str, Factor], text: str, blocks: int | None, number: int
) -> tuple[Experiment, str]:
    """Return the experiment of a confirmation of the winners, numbered from 1, and its text."""
    alpha = found.run.design.alpha * confirmation_share(number)
    return files.confirmation(text, factors, [point.values for point in found.winners], blocks, alpha)


def confirmations(engine: Engine, run_id: int) -> list[Run]:
    """Return the runs that confirm a search, the oldest first. Each of them may have shown its verdicts."""
    return [run for run in reversed(reader.runs(engine)) if run.validated().design.confirms == run_id]
