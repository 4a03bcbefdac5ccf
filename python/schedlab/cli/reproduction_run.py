"""The steps of ``schedlab sim reproduce``: guests and simulations that are not in the store yet, then the scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Engine

from schedlab.analysis.distributions import CellSamples
from schedlab.cli.console import Console
from schedlab.cli.experiment_run import Request, file_source, measure
from schedlab.execution.design_size import quick as quickly
from schedlab.execution.loop import require_runnable
from schedlab.experiment.changes import Changes
from schedlab.experiment.load import load
from schedlab.experiment.plan import plan
from schedlab.reproduction import counted, published
from schedlab.reproduction.result import Reproduction
from schedlab.reproduction.simulated import Figures
from schedlab.store import backends, reader
from schedlab.store.columns import read_cells
from schedlab.store.file import open_store
from schedlab.store.location import Location
from schedlab.store.run_rows import Run
from schedlab.targets.selection import choose


def reproduce(
    names: Sequence[str], store: Location, console: Console, *, quick: bool, guest: bool
) -> list[Reproduction]:
    """Simulate the reports, and compare them with the published figures; with ``guest`` also count on a real kernel.

    A simulation or a deterministic guest has one outcome for each seed. A complete run of the same file and the same
    models and simulator, or kernel and QEMU, is therefore not repeated, and an interrupted run is resumed. Guests run
    first: CannotRunHere before any simulation.
    """
    files = {name: file for name in names if guest and (file := published.guest_file(name)) is not None}
    for file in files.values():
        _require_runnable(file, console, quick=quick)
    guests = {name: _run(file, store, console, quick=quick) for name, file in files.items()}
    results = [_reproduce(name, store, console, quick=quick) for name in names]
    return [
        _with_guest(result, *guests[result.name]) if result.name in guests else replace(result, with_guest=guest)
        for result in results
    ]


def _require_runnable(file: Path, console: Console, *, quick: bool) -> None:
    """Download kernels that the guests of an experiment need; CannotRunHere where the guests cannot run."""
    experiment, _ = load(file)
    trials = plan(quickly(experiment) if quick else experiment, experiment.design.seed or 0, quick=quick)
    require_runnable(trials, choose(None, experiment), lambda what: console.hint("downloading", what))


def _with_guest(result: Reproduction, engine: Engine, number: int) -> Reproduction:
    run = reader.run(engine, number)
    effects = counted.beside(result.comparisons, read_cells(engine, run), reader.counters(engine, number))
    return replace(result, comparisons=effects, guest=run, with_guest=True)


def _reproduce(name: str, store: Location, console: Console, *, quick: bool) -> Reproduction:
    report = published.report(name)
    runs: dict[str, Run] = {}
    cells: dict[str, list[CellSamples]] = {}
    for experiment in dict.fromkeys(table.experiment for table in report.table):
        engine, number = _run(published.experiment_file(name, experiment), store, console, quick=quick)
        runs[experiment] = reader.run(engine, number)
        counters = reader.counters(engine, number)
        wanted = counters.filter(counters["counter"].is_in({table.metric for table in report.table}))
        cells[experiment] = [*read_cells(engine, runs[experiment]), *counted.as_cells(wanted)]
    figures = Figures(cells)
    # Programs of a quick run are shorter than the report's.
    levels = [] if quick else figures.levels(report)
    return Reproduction(name, report, tuple(runs.values()), figures.comparisons(report), levels)


def _run(file: Path, store: Location, console: Console, *, quick: bool) -> tuple[Engine, int]:
    """Return the store, and the number of the experiment's run in it."""
    stored = _stored(file, store, quick=quick)
    if stored is not None and stored.state == "complete":
        console.hint("in the store:", f"run {stored.id}, {stored.name}")
        return open_store(store, create=False), stored.id
    request = Request(file_source(file, Changes()), store, quick, None, stored is not None, None)
    return measure(request, console, stored)


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
