"""Findings of a stored search for the best values: its points, and the verdicts on its winners in fresh blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Engine

from schedlab.errors import CannotRunHere, StoreError
from schedlab.execution.confirmation import confirmations, confirming
from schedlab.execution.tuning import WARM, Confirmed, Tuning, tuning
from schedlab.experiment import tuning as files
from schedlab.experiment.load import parse
from schedlab.experiment.model import Experiment
from schedlab.experiment.sweep_table import Factor, Value
from schedlab.findings.history import machine_description
from schedlab.findings.prediction import Backtest, comparisons, require_ranking
from schedlab.findings.run import findings
from schedlab.notation.units import counted
from schedlab.results.kinds import SIMULATED
from schedlab.store import reader
from schedlab.targets.protocol import Target
from schedlab.targets.selection import SIM

WARM_POINTS = 5
"""Points of another search that a search measures first."""


@dataclass(frozen=True)
class Tuned:
    """A search with its result.

    Attributes:
        found: the points of the search.
        confirmed: the newest complete confirmation of the winners; None before it.
        first: the points of ``[tune] first``, the best first as expected.
    """

    found: Tuning
    confirmed: Confirmed | None
    first: Sequence[Mapping[str, Value]]


def tuned(engine: Engine, run_id: int) -> Tuned:
    """Return a stored search; StoreError for other runs."""
    experiment = _searched(engine, run_id, str(engine.url.database))
    factors = files.space(experiment)
    found = tuning(engine, run_id, factors, files.roles(experiment)[1])
    return Tuned(found, _confirmed(engine, found, factors), files.first_points(experiment, factors))


def _searched(engine: Engine, run_id: int, where: str) -> Experiment:
    """Return the experiment of a stored search; StoreError with the place ``where`` for other runs."""
    run = reader.run(engine, run_id)
    if not run.design.tuning:
        raise StoreError(f"run {run_id} is not a search", where=where, todo="'schedlab store list' lists the runs")
    return parse(run.experiment_file, f"run {run_id}")


def _confirmed(engine: Engine, found: Tuning, factors: Mapping[str, Factor]) -> Confirmed | None:
    """Return the newest complete confirmation of the search's winners."""
    if not found.winners:
        return None
    expected = confirming(found, factors, found.run.experiment_file, None, 1)[0].variant
    numbered = [*enumerate(confirmations(engine, found.run.id), 1)]
    for number, run in reversed(numbered):
        if run.state == "complete" and parse(run.experiment_file, f"run {run.id}").variant == expected:
            judged = findings(engine, run)
            names = files.winner_names(len(found.winners))
            verdicts = [[verdict for verdict in judged.verdicts if verdict.variant == name] for name in names]
            return Confirmed(run.id, number, judged.options.alpha, verdicts)
    return None


@dataclass(frozen=True)
class Warm:
    """The points of a warm start, the best first, or the reason why the search begins without them; and the note."""

    points: tuple[Mapping[str, Value], ...]
    cold: str
    note: str


def warm_start(engine: Engine, run_id: int, target: Target) -> Warm:
    """Return the best points of another search.

    A search on a model warms a search on a machine only if the store shows that the model predicts this machine.
    """
    experiment = _searched(engine, run_id, "--warm-start")
    found = tuning(engine, run_id, files.space(experiment), files.roles(experiment)[1])
    ordered = sorted(filter(found.keeps, found.points), key=lambda point: -point.gain(found.objectives[0]))
    points = tuple(point.values for point in ordered[:WARM_POINTS])
    other = found.run
    of_run = f"{WARM}{counted(len(points), 'point')} of run {other.id} on {other.target}"
    if other.kind != SIMULATED or target.kind == SIMULATED:
        return Warm(points, "", of_run)
    facts = target.fingerprint()
    described = {machine_description(name, each) for name, each in facts.get("targets", {target.name: facts}).items()}
    twins = comparisons(engine, other.fingerprint, machines=described)
    try:
        shown = require_ranking(Backtest.of(twins), other.target.removeprefix(SIM).partition("/")[0])
    except CannotRunHere as error:
        cold = f"run {other.id} is left out, the search starts cold: {error.what}"
        return Warm(points, f"{cold}\n  → {error.todo}", f"{WARM}{cold}")
    return Warm(points, "", f"{of_run}: {shown}")
