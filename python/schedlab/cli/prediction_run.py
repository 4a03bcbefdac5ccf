"""The steps of ``schedlab predict``: the comparisons in the store, the simulation, the intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from schedlab.cli.console import Console
from schedlab.cli.experiment_run import Request, file_source, measure
from schedlab.cli.interruption import ending
from schedlab.cli.twin_run import compared
from schedlab.errors import CannotRunHere
from schedlab.experiment.changes import Changes
from schedlab.findings.prediction import Backtest, Prediction, predictions, require_skill
from schedlab.findings.run import findings
from schedlab.findings.twin import Twin
from schedlab.results import kinds
from schedlab.store import reader
from schedlab.store.file import open_store
from schedlab.store.location import Location
from schedlab.targets.selection import SIM, choose


@dataclass(frozen=True)
class Wanted:
    """The arguments of the command."""

    file: Path
    changes: Changes
    machine: str
    kernel: str | None
    seed: int | None


def predict(wanted: Wanted, store: Location, console: Console) -> tuple[reader.Run, list[Prediction], Backtest]:
    """Simulate the experiment; return the run, its predictions, and the comparisons behind the intervals."""
    engine = open_store(store, create=False)
    source = file_source(wanted.file, wanted.changes)
    models = choose(f"{SIM}{wanted.machine}", source.load()[0]).fingerprint()
    twins = _twins(engine, models, wanted)
    backtest = Backtest.of(twins)
    require_skill(backtest, wanted.machine)
    kernel = wanted.kernel or _kernel(twins[0].predicted.run)
    request = Request(source, store, False, wanted.seed, False, None, f"{SIM}{wanted.machine}/{kernel}")
    with ending(console, "\ninterrupted"):
        _, number = measure(request, console, None)
    found = findings(engine, number)
    return found.run, predictions(found, backtest), backtest


def _twins(engine: Engine, models: Mapping[str, Any], wanted: Wanted) -> list[Twin]:
    """Return the comparisons: complete runs of one file under one seed, on a machine and on the model.

    Runs of another simulator, or of a machine file with the same name and other values, are of another model.
    """
    runs = [run for run in reader.runs(engine) if run.state == "complete"]
    real = {(run.experiment_file, run.seed): run for run in reversed(runs) if run.kind == kinds.REAL}
    # A simulation has one outcome for each seed, so a repeated simulation adds no comparison.
    pairs = {
        (run.experiment_file, run.seed, run.target): (real[run.experiment_file, run.seed], run)
        for run in runs
        if run.kind == kinds.SIMULATED
        and (run.experiment_file, run.seed) in real
        and all(run.fingerprint.get(key) == models[key] for key in ("machine", "simulator"))
        and wanted.kernel in (None, _kernel(run))
    }
    if not pairs:
        raise CannotRunHere(
            "the store has no comparison of this model with its machine",
            where=wanted.machine,
            todo=f"compare: schedlab twin FILE --machine {wanted.machine}",
        )
    return [compared(engine, *pair) for pair in pairs.values()]


def _kernel(run: reader.Run) -> str:
    return run.target.partition("/")[2]
