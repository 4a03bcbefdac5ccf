"""A simulated machine as a target: no tunable of this machine is touched, no right is needed, nobody waits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

from schedlab.experiment.model import Variant
from schedlab.experiment.plan import CONTROL, Plan, Trial
from schedlab.measurement import Measurement
from schedlab.observe.fingerprint import differences, stable_hash
from schedlab.simulation import models
from schedlab.simulation.models import Model
from schedlab.simulation.native import build, extension
from schedlab.simulation.running import Pool, Running, Simulation
from schedlab.targets.protocol import Download, Obstacle
from schedlab.targets.sim.cases import RowProgram, kernel_of, row_program, simulation
from schedlab.targets.sim.check import obstacles
from schedlab.targets.sim.measure import measurement

COMMON = "simulated, not measured; a block is a seed, and its variants share the seed's draws (common random numbers)"
SAME = f"{CONTROL!r} is the baseline under the same seeds: equal by construction, it tells nothing of noise"


class Simulator:
    """A machine model under a kernel model; variants may name kernels of their own."""

    kind = "simulated"
    virtual = True
    warms = False

    def __init__(self, machine: Model, kernel: Model | None = None, variants: Sequence[Variant] = ()) -> None:
        """``variants`` are those of the experiment: the fingerprint names the kernels that they run under."""
        self.name = f"sim:{machine.name}" + (f"/{kernel.name}" if kernel else "")
        self._machine = machine
        self._kernel = kernel or models.kernel(models.DEFAULT_KERNEL)
        self._variants = variants
        self.leftovers: Sequence[str] = ()

    def obstacles(self, plan: Plan) -> Sequence[Obstacle]:
        """See :mod:`schedlab.targets.sim.check`."""
        return list(obstacles(plan, self._machine, self._kernel))

    def downloads(self) -> Sequence[Download]:
        """Nothing: a simulation needs what is installed."""
        return ()

    def fingerprint(self) -> Mapping[str, Any]:
        """The models, whole, as hashes, and the simulator that they run in."""
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

    def fingerprint_hash(self, fingerprint: Mapping[str, Any]) -> str:
        """See :func:`schedlab.observe.fingerprint.stable_hash`."""
        return stable_hash(fingerprint)

    def changes(self, fingerprint: Mapping[str, Any]) -> Sequence[str]:
        """Models or a simulator that were changed since."""
        return differences(fingerprint, self.fingerprint())

    @contextmanager
    def session(self, plan: Plan, run_id: int) -> Iterator[Simulating]:
        """Threads that simulate ahead, one for each CPU."""
        programs = {row.key: row_program(row, self._machine) for row in plan.rows}
        with Pool() as pool:
            yield Simulating(plan, programs, self._machine, self._kernel, pool)


class Simulating:
    """Runs trials; see :class:`schedlab.targets.protocol.Session`.

    Trials are simulated ahead of their turn, as many at a time as there are CPUs: they do not disturb each other, and
    an outcome does not depend on what runs beside it.
    """

    def __init__(
        self, plan: Plan, programs: Mapping[tuple[str, str], RowProgram], machine: Model, kernel: Model, pool: Pool
    ) -> None:
        self._plan = plan
        self._programs = programs
        self._machine = machine
        self._kernel = kernel
        self._pool = pool
        self._begun: dict[int, tuple[Simulation, Running]] = {}

    @property
    def notes(self) -> Sequence[str]:
        """What the figures are, and which tools native programs stand for."""
        control = [SAME] if self._plan.experiment.design.control else []
        return [COMMON, *control, *dict.fromkeys(made.note for made in self._programs.values() if made.note)]

    def put_in_place(self, variant: Variant) -> None:
        """Nothing: each simulation begins with its variant in place."""

    def run(self, trial: Trial) -> Measurement:
        """The trial's outcome; those next in the plan are begun meanwhile."""
        for index in [known for known in self._begun if known < trial.index]:
            del self._begun[index]
        for ahead in self._plan.trials[trial.index : trial.index + self._pool.workers]:
            if ahead.index not in self._begun:
                self._begun[ahead.index] = self._begin(ahead)
        made, (asked, running) = self._programs[trial.row.key], self._begun.pop(trial.index)
        return measurement(trial, made, asked, running)

    def _begin(self, trial: Trial) -> tuple[Simulation, Running]:
        made = self._programs[trial.row.key]
        asked = simulation(trial, made, self._plan.seed, self._machine, self._kernel)
        return asked, self._pool.submit(asked)


def _hash(model: Model) -> str:
    return sha256(model.text.encode()).hexdigest()[:12]
