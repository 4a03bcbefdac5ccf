"""Simulated cells of a sweep, and the models behind the cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from time import time
from typing import Any

from schedlab.errors import SchedlabError
from schedlab.experiment.groups import Group
from schedlab.experiment.plan import Trial
from schedlab.experiment.sweep import Point
from schedlab.extension import build, extension
from schedlab.results.kinds import SIMULATED
from schedlab.results.measurement import Measurement
from schedlab.simulation import models
from schedlab.simulation.models import Model
from schedlab.simulation.run import Running
from schedlab.targets.protocol import Identity
from schedlab.targets.selection import SIM, split_simulated
from schedlab.targets.several import joined
from schedlab.targets.sim.cases import row_program, simulation
from schedlab.targets.sim.measure import measurement


def simulate_cell(point: Point, trial: Trial, seed: int, groups: Sequence[Group] = ()) -> Measurement:
    """Return the measurement of a point under the seed of its block; an error is a failed measurement.

    ``groups`` are the control groups of the experiment.
    """
    try:
        machine, kernel = models_of(point)
        row = row_program(point.row, machine)
        variant = point.variant.model_copy(update={"kernel": None})
        case = simulation(replace(trial, variant=variant), row, seed, machine, kernel, groups)
        running = Running()
        running.simulate(case)
        return measurement(trial, row, case, running)
    except SchedlabError as error:
        return Measurement("failed", time(), 0.0, reason=str(error))


def models_of(point: Point) -> tuple[Model, Model]:
    """Return the machine and the kernel of a point."""
    machine, kernel = _names(point)
    return (
        _model("machine", machine, tuple(point.machine_keys.items())),
        _model("kernel", kernel, tuple(point.kernel_keys.items())),
    )


class Models(Identity):
    """The models of a simulated sweep."""

    kind = SIMULATED

    def __init__(self, points: Sequence[Point]) -> None:
        self.name = joined(dict.fromkeys(map(_simulated_name, points)))
        self._points = points

    def fingerprint(self) -> Mapping[str, Any]:
        """Return the models with their hashes, and the simulator's version. Models that do not exist have no hash:
        their cells fail."""
        machines, kernels = (dict.fromkeys(names) for names in zip(*map(_names, self._points), strict=True))
        return {
            "cpu": {"model": "simulated"},
            "machines": {name: _hash("machine", name) for name in machines},
            "kernels": {name: _hash("kernel", name) for name in kernels},
            "simulator": {"version": extension().__version__, "build": build()},
        }


def _simulated_name(point: Point) -> str:
    """Return the point's target as ``--target`` names it."""
    return point.target or f"{SIM}{point.machine}" + (f"/{point.kernel}" if point.kernel else "")


def _names(point: Point) -> tuple[str, str]:
    """Return the names of the machine and the kernel of a point."""
    machine, kernel = split_simulated(point.target) if point.target else (str(point.machine), point.kernel)
    return machine, point.variant.kernel or kernel or models.DEFAULT_KERNEL


@lru_cache(maxsize=64)
def _model(kind: str, name: str, values: tuple[tuple[str, Any], ...]) -> Model:
    find = models.machine if kind == "machine" else models.kernel
    return models.with_values(find(name), dict(values))


def _hash(kind: str, name: str) -> str:
    try:
        return sha256(_model(kind, name, ()).text.encode()).hexdigest()[:12]
    except SchedlabError:
        return ""
