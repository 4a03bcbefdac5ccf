"""The steps of ``schedlab sim predict``: the comparisons in the store, the simulation, the intervals."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from schedlab.cli.console import Console
from schedlab.cli.experiment_run import Request, file_source, measure
from schedlab.cli.interruption import INTERRUPTED, ending
from schedlab.experiment.changes import Changes
from schedlab.findings.history import kernel_of
from schedlab.findings.prediction import Backtest, Predicted, comparisons, predictions, require_skill
from schedlab.findings.run import findings
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


def predict(wanted: Wanted, store: Location, console: Console) -> Predicted:
    """Simulate the experiment; return its predictions, and the comparisons behind the intervals."""
    engine = open_store(store, create=False)
    source = file_source(wanted.file, wanted.changes)
    models = choose(f"{SIM}{wanted.machine}", source.load()[0]).fingerprint()
    twins = comparisons(engine, models, kernel=wanted.kernel)
    backtest = Backtest.of(twins)
    require_skill(backtest, wanted.machine)
    kernel = wanted.kernel or kernel_of(twins[0].predicted.run)
    request = Request(source, store, False, wanted.seed, False, None, f"{SIM}{wanted.machine}/{kernel}")
    with ending(console, INTERRUPTED):
        _, number = measure(request, console, None)
    return predictions(findings(engine, number), backtest)
