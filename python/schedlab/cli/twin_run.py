"""The steps of ``schedlab sim twin``: the run on the machine with the calibration between its trials, the run on its
model, the comparison."""

from __future__ import annotations

import secrets
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Engine

from schedlab.cli.console import Console
from schedlab.cli.experiment_run import Request, file_source, measure
from schedlab.cli.interruption import UNDONE, ending
from schedlab.cli.options import again
from schedlab.cli.output_file import remedy, write_whole
from schedlab.errors import CannotRunHere, SchedlabError
from schedlab.execution.loop import require_runnable
from schedlab.experiment.changes import Changes
from schedlab.experiment.plan import plan
from schedlab.files import scratch
from schedlab.findings import twin
from schedlab.results import kinds
from schedlab.store import reader
from schedlab.store.file import open_store
from schedlab.store.location import Location
from schedlab.targets.alternating import Alternating
from schedlab.targets.protocol import Target
from schedlab.targets.selection import SSH, choose

if TYPE_CHECKING:
    from schedlab.simulation.host.calibrate import HostCalibration

PASSES = 18
"""Passes over the probes of the calibration, spread over the measured trials: about 45 seconds. The speed of a virtual
machine varies by a half, in phases of seconds; the mean of as many passes is then known within a few percent."""


@dataclass(frozen=True)
class Wanted:
    """The arguments of the command."""

    file: Path | None
    changes: Changes
    target: str
    machine: str | None
    calibrated: Path | None
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
        todo = "run 'schedlab sim machines calibrate' there, copy the file here and name it with --machine"
        raise CannotRunHere("only this machine can be calibrated from here", where="--machine", todo=todo)
    source = file_source(wanted.file, wanted.changes)
    experiment, _ = source.load()
    seed = next(each for each in (wanted.seed, experiment.design.seed, secrets.randbits(32)) if each is not None)
    real = choose(wanted.target, experiment)
    kernel = wanted.kernel or models.nearest_kernel(str(real.fingerprint()["kernel"]["release"]))
    with scratch.locked_folder("schedlab-twin-") as folder:
        path = folder / "this-machine.toml"
        calibration = None if wanted.machine else _calibration(console)
        if calibration:
            path.write_text(calibration.uncalibrated)
            real = Alternating(real, lambda share: calibration.advance(PASSES * share))
        model = f"sim:{wanted.machine or path}/{kernel}"
        # The plan must suit the model before the machine is measured for minutes.
        require_runnable(plan(experiment, seed, quick=wanted.quick), choose(model, experiment))

        def run_on(target: str, instance: Target | None) -> int:
            request = Request(source, store, wanted.quick, seed, False, None, target)
            with ending(console, UNDONE):
                return measure(request, console, None, instance)[1]

        measured = run_on(wanted.target, real)
        if calibration:
            path.write_text(calibration.machine_file())
            if wanted.calibrated:
                write_whole(wanted.calibrated, path.read_text(), remedy("--calibrated"))
        predicted = run_on(model, None)
    shown = ["schedlab", "sim", "twin", "--runs", f"{measured},{predicted}", "--store", str(store)]
    console.hint("again:", shlex.join(again(store, shown)))
    return _compared(open_store(store, create=False), measured, predicted)


def _calibration(console: Console) -> HostCalibration:
    """Begin to measure this machine's costs."""
    from schedlab.simulation.host.calibrate import HostCalibration
    from schedlab.workloads.tools import SCHEDLOAD, need

    console.hint("calibrating:", "measuring the costs of this machine between the trials")
    return HostCalibration(need(SCHEDLOAD))


def _compared(engine: Engine, measured: int, predicted: int) -> twin.Twin:
    real, model = (reader.run(engine, number) for number in (measured, predicted))
    if real.kind == kinds.SIMULATED or model.kind != kinds.SIMULATED:
        names = " and ".join(f"run {each.id} is {each.kind}" for each in (real, model))
        raise SchedlabError(names, where="--runs", todo="name a run on a machine first, then a run on a model")
    return twin.of_runs(engine, real, model)
