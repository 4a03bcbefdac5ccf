"""The steps of ``schedlab twin``: calibration, the run on the machine, the run on its model, the comparison."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Engine

from schedlab.cli.console import Console
from schedlab.cli.experiment_run import Request, file_source, measure
from schedlab.cli.interruption import UNDONE, ending
from schedlab.errors import CannotRunHere, SchedlabError
from schedlab.execution.loop import require_runnable
from schedlab.experiment.changes import Changes
from schedlab.experiment.plan import plan
from schedlab.findings import twin
from schedlab.findings.run import findings
from schedlab.results import kinds
from schedlab.store import reader
from schedlab.store.file import open_store
from schedlab.store.location import Location
from schedlab.targets.selection import SSH, choose


@dataclass(frozen=True)
class Wanted:
    """The arguments of the command."""

    file: Path | None
    changes: Changes
    target: str
    machine: str | None
    kernel: str | None
    quick: bool
    seed: int | None


def stored(store: Location, runs: str) -> twin.Twin:
    """Compare two runs of a store: ``"3,4"``."""
    numbers = runs.split(",")
    if len(numbers) != 2 or not all(number.strip().isdecimal() for number in numbers):
        raise SchedlabError(f"{runs!r} are not two runs", where="--runs", todo="write the numbers: --runs 3,4")
    measured, predicted = (int(number) for number in numbers)
    return _compared(open_store(store, create=False), measured, predicted)


def run(wanted: Wanted, store: Location, console: Console) -> twin.Twin:
    """Run the experiment on the machine and on its model, with the same seed, and compare the runs."""
    from schedlab.simulation import models

    if wanted.file is None:
        raise SchedlabError("an experiment is missing", todo="name a FILE, or two runs of the store with --runs")
    if wanted.target != "host" and not wanted.target.startswith(SSH):
        todo = "name host or ssh:[USER@]HOST[:PORT]; the model is --machine"
        raise SchedlabError(f"{wanted.target!r} is not a machine", where="--target", todo=todo)
    if wanted.target != "host" and wanted.machine is None:
        todo = "run 'schedlab machines calibrate' there, copy the file here and name it with --machine"
        raise CannotRunHere("only this machine can be calibrated from here", where="--machine", todo=todo)
    source = file_source(wanted.file, wanted.changes)
    experiment, _ = source.load()
    seed = next(each for each in (wanted.seed, experiment.design.seed, secrets.randbits(32)) if each is not None)
    real = choose(wanted.target, experiment)
    kernel = wanted.kernel or models.nearest_kernel(str(real.fingerprint()["kernel"]["release"]))
    with TemporaryDirectory(prefix="schedlab-twin-") as folder:
        # The plan must suit the model before the machine is measured for minutes.
        checked = wanted.machine or _calibrated(Path(folder), console)
        model = f"sim:{checked}/{kernel}"
        require_runnable(plan(experiment, seed, quick=wanted.quick), choose(model, experiment))
        numbers = []
        for target in (wanted.target, model):
            request = Request(source, store, wanted.quick, seed, False, None, target)
            with ending(console, UNDONE):
                engine, number = measure(request, console, None)
            numbers.append(number)
    measured, predicted = numbers
    console.hint("again:", f"schedlab twin --runs {measured},{predicted} --store {store}")
    return _compared(engine, measured, predicted)


def _calibrated(folder: Path, console: Console) -> str:
    """Measure this machine's costs; return the path of the machine file."""
    from schedlab.simulation.host.calibrate import calibrated
    from schedlab.workloads.tools import SCHEDLOAD, need

    console.hint("calibrating:", "measuring the costs of this machine")
    path = folder / "this-machine.toml"
    path.write_text(calibrated(need(SCHEDLOAD)))
    return str(path)


def _compared(engine: Engine, measured: int, predicted: int) -> twin.Twin:
    real, model = (reader.run(engine, number) for number in (measured, predicted))
    if real.kind == kinds.SIMULATED or model.kind != kinds.SIMULATED:
        names = " and ".join(f"run {each.id} is {each.kind}" for each in (real, model))
        raise SchedlabError(names, where="--runs", todo="name a run on a machine first, then a run on a model")
    return compared(engine, real, model)


def compared(engine: Engine, real: reader.Run, model: reader.Run) -> twin.Twin:
    """Compare two runs of a store."""
    counters = [reader.counters(engine, each.id) for each in (real, model)]
    return twin.compare(findings(engine, real), findings(engine, model), *counters)
