"""Chunks of a sweep's cells, simulated in a worker process. A worker gets texts and numbers, and returns
measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from time import time
from typing import Any

from schedlab.errors import SchedlabError
from schedlab.experiment.load import parse
from schedlab.experiment.plan import Trial
from schedlab.experiment.sweep import Point, Sweep, sweep
from schedlab.extension import build, extension
from schedlab.results.measurement import Measurement
from schedlab.simulation import models
from schedlab.simulation.models import Model
from schedlab.simulation.run import Running
from schedlab.targets.sim.cases import row_program, simulation
from schedlab.targets.sim.measure import measurement


def simulated(text: str, seed: int, indices: Sequence[int]) -> list[Measurement]:
    """Return the measurements of cells by their index in the plan; a cell's error is a failed measurement.

    Args:
        text: text of the experiment file.
        seed: the run's random seed.
        indices: indices of the cells.
    """
    whole = _sweep(text, seed)
    return [simulate_cell(whole.point_of(trial), trial, seed) for trial in map(whole.plan.trials.__getitem__, indices)]


@lru_cache(maxsize=2)
def _sweep(text: str, seed: int) -> Sweep:
    return sweep(parse(text, "the sweep"), seed)


def simulate_cell(point: Point, trial: Trial, seed: int) -> Measurement:
    """Return the measurement of a point under the seed of its block."""
    try:
        machine, kernel = models_of(point)
        row = row_program(point.row, machine)
        variant = point.variant.model_copy(update={"kernel": None})
        case = simulation(replace(trial, variant=variant), row, seed, machine, kernel)
        running = Running()
        running.simulate(case)
        return measurement(trial, row, case, running)
    except SchedlabError as error:
        return Measurement("failed", time(), 0.0, reason=str(error))


def models_of(point: Point) -> tuple[Model, Model]:
    """Return the machine and the kernel of a point."""
    return _model("machine", point.machine, tuple(point.machine_keys.items())), _model(
        "kernel", point.variant.kernel or point.kernel or models.DEFAULT_KERNEL, tuple(point.kernel_keys.items())
    )


@lru_cache(maxsize=64)
def _model(kind: str, name: str, values: tuple[tuple[str, Any], ...]) -> Model:
    find = models.machine if kind == "machine" else models.kernel
    return models.with_values(find(name), dict(values))


def fingerprint(points: Sequence[Point]) -> Mapping[str, Any]:
    """Return the models of a sweep with their hashes, and the simulator's version. Models that do not exist have no
    hash: their cells fail."""
    machines = {point.machine: _hash("machine", point.machine) for point in points}
    kernels = (point.variant.kernel or point.kernel or models.DEFAULT_KERNEL for point in points)
    return {
        "cpu": {"model": "simulated"},
        "machines": machines,
        "kernels": {name: _hash("kernel", name) for name in dict.fromkeys(kernels)},
        "simulator": {"version": extension().__version__, "build": build()},
    }


def _hash(kind: str, name: str) -> str:
    try:
        return sha256(_model(kind, name, ()).text.encode()).hexdigest()[:12]
    except SchedlabError:
        return ""
