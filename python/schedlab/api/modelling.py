"""``schedlab.twin``, ``schedlab.predict`` and ``schedlab.reproduce``: experiments on models of machines."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Engine

from schedlab.analysis.distributions import CellSamples
from schedlab.api.arguments import Experiment, Store, path_of, recovered, source_of, store_of
from schedlab.errors import CannotRunHere, SchedlabError
from schedlab.execution import runs
from schedlab.execution.design_size import quick as quickly
from schedlab.execution.loop import require_runnable
from schedlab.execution.runs import Request, file_source
from schedlab.execution.watch import SILENT, Watch
from schedlab.experiment.changes import Changes
from schedlab.experiment.load import load
from schedlab.experiment.plan import plan
from schedlab.experiment.seeds import run_seed
from schedlab.files import scratch
from schedlab.files.output_file import remedy, write_whole
from schedlab.findings import twin as twins
from schedlab.findings.history import kernel_of
from schedlab.findings.prediction import Backtest, Predicted, comparisons, predictions, require_skill
from schedlab.findings.run import findings
from schedlab.findings.twin import Twin
from schedlab.reproduction import counted, published
from schedlab.reproduction.result import Reproduction, Reproductions
from schedlab.reproduction.simulated import Figures
from schedlab.results import kinds
from schedlab.store import backends, reader
from schedlab.store.columns import read_cells
from schedlab.store.file import open_store
from schedlab.store.location import Location
from schedlab.store.run_rows import Run
from schedlab.targets.alternating import Alternating
from schedlab.targets.protocol import Target
from schedlab.targets.selection import SIM, SSH, choose

if TYPE_CHECKING:
    from schedlab.simulation.host.calibrate import HostCalibration

PASSES = 18
"""Passes over the probes of the calibration, spread over the measured trials: about 45 seconds. The speed of a virtual
machine varies by a half, in phases of seconds; the mean of as many passes is then known within a few percent."""


def twin(
    experiment: Experiment | None = None,
    *,
    runs: tuple[int, int] | None = None,
    machine: str | None = None,
    calibrated: str | os.PathLike[str] | None = None,
    kernel: str | None = None,
    target: str = "host",
    quick: bool = False,
    blocks: int | None = None,
    seed: int | None = None,
    store: Store = None,
    watch: Watch = SILENT,
) -> Twin:
    """Run an experiment on a machine and on a model of it, with the same seed, and compare the figures.

    Args:
        experiment: the experiment; see :func:`schedlab.run`.
        runs: numbers of a measured and a simulated run of the store, which are compared instead.
        machine: the model, a shipped machine or a TOML file; default: this machine's costs are measured between the
            trials.
        calibrated: file that gets the machine with the measured costs, without ``machine``.
        kernel: the kernel model; default the nearest to the running kernel.
        target: the machine: ``host`` or ``ssh:[USER@]HOST[:PORT]``.
        quick: as many blocks as a verdict needs.
        blocks: number of blocks instead of the file's.
        seed: random seed; default the file's, or a new seed.
        store: as for :func:`schedlab.run`.
        watch: gets the progress.

    Raises:
        ExperimentError: the experiment has mistakes.
        CannotRunHere: a requirement is missing; nothing was changed.
        SchedlabError: the runs are not a measurement and a simulation.
    """
    if runs is not None:
        return _compared(open_store(store_of(store), create=False), *runs)
    if experiment is None:
        raise SchedlabError("an experiment is missing", todo="name a FILE, or two runs of the store with --runs")
    if target != "host" and not target.startswith(SSH):
        todo = "name host or ssh:[USER@]HOST[:PORT]; the model is --machine"
        raise SchedlabError(f"{target!r} is not a machine", where="--target", todo=todo)
    if target != "host" and machine is None:
        todo = "run 'schedlab sim machines calibrate' there, copy the file here and name it with --machine"
        raise CannotRunHere("only this machine can be calibrated from here", where="--machine", todo=todo)
    recovered()
    request = Request(source_of(experiment, Changes(blocks=blocks)), store_of(store), quick=quick, target=target)
    return _twin(replace(request, seed=seed), machine, path_of(calibrated), kernel, watch)


def _twin(request: Request, machine: str | None, calibrated: Path | None, kernel: str | None, watch: Watch) -> Twin:
    """Run the request on its machine, with the calibration between the trials, then on the model."""
    from schedlab.simulation import models

    experiment = request.source.experiment
    request = replace(request, seed=run_seed(request.seed, experiment.design.seed))
    assert request.seed is not None
    real = choose(request.target, experiment)
    kernel = kernel or models.nearest_kernel(str(real.fingerprint()["kernel"]["release"]))
    with scratch.locked_folder("schedlab-twin-") as folder:
        path = folder / "this-machine.toml"
        calibration = None if machine else _calibration(watch)
        if calibration:
            path.write_text(calibration.uncalibrated)
            real = Alternating(real, lambda share: calibration.advance(PASSES * share))
        model = f"{SIM}{machine or path}/{kernel}"
        # The plan must suit the model before the machine is measured for minutes.
        require_runnable(plan(experiment, request.seed, quick=request.quick), choose(model, experiment))
        measured = _measured(request, watch, real)
        if calibration:
            path.write_text(calibration.machine_file())
            if calibrated:
                write_whole(calibrated, path.read_text(), remedy("--calibrated"))
        predicted = _measured(replace(request, target=model), watch, None)
    return _compared(open_store(request.store, create=False), measured, predicted)


def _measured(request: Request, watch: Watch, target: Target | None) -> int:
    with watch.interruptible():
        return runs.measure(request, watch, None, target)[1]


def _calibration(watch: Watch) -> HostCalibration:
    """Begin to measure this machine's costs."""
    from schedlab.simulation.host.calibrate import HostCalibration
    from schedlab.workloads.tools import SCHEDLOAD, need

    watch.step("calibrating:", "measuring the costs of this machine between the trials")
    return HostCalibration(need(SCHEDLOAD))


def _compared(engine: Engine, measured: int, predicted: int) -> Twin:
    real, model = (reader.run(engine, number) for number in (measured, predicted))
    if real.kind == kinds.SIMULATED or model.kind != kinds.SIMULATED:
        names = " and ".join(f"run {each.id} is {each.kind}" for each in (real, model))
        raise SchedlabError(names, where="--runs", todo="name a run on a machine first, then a run on a model")
    return twins.of_runs(engine, real, model)


def predict(
    experiment: Experiment,
    machine: str,
    *,
    kernel: str | None = None,
    blocks: int | None = None,
    seed: int | None = None,
    store: Store = None,
    watch: Watch = SILENT,
) -> Predicted:
    """Predict an experiment's figures on a machine by its model, with intervals.

    The intervals contain the errors of earlier comparisons (:func:`schedlab.twin`) of this model with its machine, in
    the store.

    Args:
        experiment: the experiment; see :func:`schedlab.run`.
        machine: the model, a name or a file.
        kernel: the kernel model; default the model of the comparisons.
        blocks, seed, store, watch: as for :func:`schedlab.twin`.

    Raises:
        CannotRunHere: there are no comparisons, or the model predicted no better than "nothing changes".
    """
    engine = open_store(store_of(store), create=False)
    source = source_of(experiment, Changes(blocks=blocks))
    models = choose(f"{SIM}{machine}", source.experiment).fingerprint()
    compared = comparisons(engine, models, kernel=kernel)
    backtest = Backtest.of(compared)
    require_skill(backtest, machine)
    kernel = kernel or kernel_of(compared[0].predicted.run)
    request = Request(source, store_of(store), seed=seed, target=f"{SIM}{machine}/{kernel}")
    return predictions(findings(*runs.run(request, watch)), backtest)


def reproduce(
    *reports: str, quick: bool = False, guest: bool = False, store: Store = None, watch: Watch = SILENT
) -> Reproductions:
    """Simulate published reports, and compare them with the published figures.

    A simulation or a deterministic guest has one outcome for each seed. A complete run of the same file and the same
    models and simulator, or kernel and QEMU, is therefore not repeated, and an interrupted run is resumed.

    Args:
        reports: names or numbers of reports (000 to 004); default all.
        quick: a few rows of each table.
        guest: whether to count on a real kernel in deterministic guests as well, which run first.
        store: as for :func:`schedlab.run`.
        watch: gets the progress.

    Raises:
        SchedlabError: there is no such report.
        CannotRunHere: a guest cannot run here; nothing was simulated.
    """
    names = list(dict.fromkeys(published.name_of(word) for word in reports or published.names()))
    where = store_of(store)
    with watch.interruptible():
        files = {name: file for name in names if guest and (file := published.guest_file(name)) is not None}
        for file in files.values():
            experiment, _ = load(file)
            trials = plan(quickly(experiment) if quick else experiment, experiment.design.seed or 0, quick=quick)
            require_runnable(trials, choose(None, experiment), watch.download)
        guests = {name: _run(file, where, watch, quick=quick) for name, file in files.items()}
        results = [_reproduce(name, where, watch, quick=quick) for name in names]
    return Reproductions([
        _with_guest(result, *guests[result.name]) if result.name in guests else replace(result, with_guest=guest)
        for result in results
    ])  # fmt: skip


def _with_guest(result: Reproduction, engine: Engine, number: int) -> Reproduction:
    run = reader.run(engine, number)
    effects = counted.beside(result.comparisons, read_cells(engine, run), reader.counters(engine, number))
    return replace(result, comparisons=effects, guest=run, with_guest=True)


def _reproduce(name: str, store: Location, watch: Watch, *, quick: bool) -> Reproduction:
    report = published.report(name)
    of_experiments: dict[str, Run] = {}
    cells: dict[str, list[CellSamples]] = {}
    for experiment in dict.fromkeys(table.experiment for table in report.table):
        engine, number = _run(published.experiment_file(name, experiment), store, watch, quick=quick)
        of_experiments[experiment] = reader.run(engine, number)
        counters = reader.counters(engine, number)
        wanted = counters.filter(counters["counter"].is_in({table.metric for table in report.table}))
        cells[experiment] = [*read_cells(engine, of_experiments[experiment]), *counted.as_cells(wanted)]
    figures = Figures(cells)
    # Programs of a quick run are shorter than the report's.
    levels = [] if quick else figures.levels(report)
    return Reproduction(name, report, tuple(of_experiments.values()), figures.comparisons(report), levels)


def _run(file: Path, store: Location, watch: Watch, *, quick: bool) -> tuple[Engine, int]:
    """Return the store, and the number of the experiment's run in it."""
    stored = _stored(file, store, quick=quick)
    if stored is not None and stored.state == "complete":
        watch.step("in the store:", f"run {stored.id}, {stored.name}")
        return open_store(store, create=False), stored.id
    return runs.measure(Request(file_source(file, Changes()), store, quick=quick), watch, stored)


def _stored(file: Path, store: Location, *, quick: bool) -> Run | None:
    """Return the newest run of this file with the same fingerprint of its target; a complete run first."""
    if not backends.exists(store):
        return None
    experiment, text = load(file)
    target = choose(None, experiment, None)
    machine = target.fingerprint_hash(target.fingerprint())
    same = [
        run
        for run in reader.runs(open_store(store, create=False))
        if (run.experiment_file, run.fingerprint_hash, run.quick) == (text, machine, quick)
    ]
    return min(same, key=lambda run: run.state != "complete", default=None)
