"""The steps of ``schedlab reproduce``: the simulations that are not in the store yet, then the scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import Engine

from schedlab.cli.console import Console
from schedlab.cli.experiment_run import Request, file_source, measure
from schedlab.experiment.changes import Changes
from schedlab.experiment.load import load
from schedlab.report.reproduction import Reproduction
from schedlab.reproduction import published
from schedlab.reproduction.simulated import Figures
from schedlab.store import backends, reader
from schedlab.store.columns import read_cells
from schedlab.store.file import open_store
from schedlab.store.location import Location
from schedlab.store.run_rows import Run
from schedlab.targets.selection import choose


def reproduce(names: Sequence[str], store: Location, console: Console, *, quick: bool) -> list[Reproduction]:
    """Simulate the reports, and compare them with the published figures.

    A simulation has one outcome for each seed, so a complete run of the same file, models and simulator in the store is
    not repeated, and an interrupted run is resumed.
    """
    return [_reproduce(name, store, console, quick=quick) for name in names]


def _reproduce(name: str, store: Location, console: Console, *, quick: bool) -> Reproduction:
    report = published.report(name)
    runs: dict[str, Run] = {}
    for experiment in dict.fromkeys(table.experiment for table in report.table):
        engine, number = _run(published.experiment_file(name, experiment), store, console, quick=quick)
        runs[experiment] = reader.run(engine, number)
    figures = Figures({experiment: read_cells(engine, run) for experiment, run in runs.items()})
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
    """Return the newest run of this file with the same models and the same simulator; a complete run first."""
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
