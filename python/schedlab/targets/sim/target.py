"""A simulated machine as a target. The target does not change this machine and needs no privileges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from math import inf
from typing import Any

from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Plan, Trial
from schedlab.extension import build, extension
from schedlab.results.measurement import Measurement
from schedlab.simulation import models
from schedlab.simulation.models import Model
from schedlab.simulation.run import Pool, Running, Simulation
from schedlab.targets.groups import unmade
from schedlab.targets.protocol import SILENT_CONTROL, MissingRequirement, Target
from schedlab.targets.sim.cases import RowProgram, kernel_of, missing_requirements, row_program, simulation
from schedlab.targets.sim.measure import measurement

COMMON = "simulated, not measured; a block is a seed, and its variants share the seed's draws (common random numbers)"

AHEAD = 8
"""Trials started before their turn, for each CPU; at most so many outcomes are kept. With one trial for each CPU, the
other CPUs wait for the longest: in report 000's tbench 3072 clients take forty times as long as one."""


class Simulator(Target):
    """A machine model, with a kernel model for variants that name no kernel."""

    kind = "simulated"
    virtual = True
    warms = False

    def __init__(self, machine: Model, kernel: Model | None = None, variants: Sequence[Variant] = ()) -> None:
        """Make the target. ``variants`` are the variants of the experiment; the fingerprint names their kernels."""
        self.name = f"sim:{machine.name}" + (f"/{kernel.name}" if kernel else "")
        self._machine = machine
        self._kernel = kernel or models.kernel(models.DEFAULT_KERNEL)
        self._variants = variants

    def missing_requirements(self, plan: Plan) -> Sequence[MissingRequirement]:
        """See :mod:`schedlab.targets.sim.cases`."""
        return list(missing_requirements(plan, self._machine, self._kernel))

    def fingerprint(self) -> Mapping[str, Any]:
        """Return names and hashes of the models, and the simulator's version."""
        chosen = [kernel_of(variant, self._kernel) for variant in self._variants] or [self._kernel]
        kernels = {model.name: model for model in chosen}
        releases = ", ".join(name.removeprefix("linux-") for name in kernels)
        return {
            "cpu": {"model": f"{self._machine.name} (simulated)"},
            "topology": {"cpus": self._machine.cpus, "nodes": self._machine.nodes},
            "memory_kib": self._machine.data["memory_mib"] * self._machine.nodes * 1024,
            "kernel": {"release": f"{releases} (simulated)"},
            "machine": {"name": self._machine.name, "about": self._machine.about, "hash": _hash(self._machine)},
            "kernels": {name: _hash(model) for name, model in kernels.items()},
            "simulator": {"version": extension().__version__, "build": build()},
        }

    @contextmanager
    def session(self, plan: Plan, run_id: int) -> Iterator[SimulatorSession]:
        """Start a thread for each CPU that simulates trials before their turn."""
        programs = {row.key: row_program(row, self._machine) for row in plan.rows}
        with Pool() as pool:
            yield SimulatorSession(plan, programs, self._machine, self._kernel, pool)


class SimulatorSession:
    """Session that simulates trials; see :class:`schedlab.targets.protocol.Session`.

    Trials are simulated ahead of their turn on all CPUs. An outcome does not depend on the simulations that run at the
    same time.
    """

    def __init__(
        self, plan: Plan, programs: Mapping[tuple[str, str], RowProgram], machine: Model, kernel: Model, pool: Pool
    ) -> None:
        self._plan = plan
        self._programs = programs
        self._machine = machine
        self._kernel = kernel
        self._pool = pool
        self._started: dict[int, tuple[Simulation, Running]] = {}
        self._unmade: dict[str, None] = {}

    @property
    def notes(self) -> Sequence[str]:
        """Notes on the kind of the figures, on tools that native programs replace, and on changes that did not come."""
        control = [SILENT_CONTROL] if self._plan.experiment.design.control else []
        replaced = dict.fromkeys(row.note for row in self._programs.values() if row.note)
        return [COMMON, *control, *replaced, *self._unmade]

    def put_in_place(self, variant: Variant) -> None:
        """Do nothing: each simulation starts with its variant's settings."""

    def run(self, trial: Trial) -> Measurement:
        """Return the trial's measurement; the plan's next trials are started meanwhile.

        The trials of a search are in no plan, and start one at a time.
        """
        for index in [started for started in self._started if started < trial.index]:
            del self._started[index]
        planned = self._plan.trials[trial.index : trial.index + AHEAD * self._pool.workers]
        for ahead in planned if planned[:1] == (trial,) else (trial,):
            if ahead.index not in self._started:
                self._started[ahead.index] = self._start(ahead)
        started, running = self._started.pop(trial.index)
        measured = measurement(trial, self._programs[trial.row.key], started, running)
        seconds = measured.counters.get("sim.elapsed_ns", inf) / 1e9
        for group in self._plan.experiment.group:
            missed = (unmade(name, change) for name, change in group.changes if seconds < change.after)
            self._unmade.update(dict.fromkeys(missed))
        return measured

    def _start(self, trial: Trial) -> tuple[Simulation, Running]:
        row, groups = self._programs[trial.row.key], self._plan.experiment.group
        case = simulation(trial, row, self._plan.seed, self._machine, self._kernel, groups)
        return case, self._pool.submit(case)


def _hash(model: Model) -> str:
    return sha256(model.text.encode()).hexdigest()[:12]
