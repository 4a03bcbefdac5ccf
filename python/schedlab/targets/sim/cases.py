"""From a trial to a simulation.

A block is a seed. Trial *i* of a row in block *b* is simulated with the first 64 bits of the SHA-256 of
``"{seed}/{b}/simulation/{i}"``, the run's seed as in the plan: the same for all variants and rows of the block. So
variants are compared under the same phases of ticks, addresses and draws (common random numbers), and what differs
between them is what they change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Trial
from schedlab.experiment.rows import Row
from schedlab.simulation import models
from schedlab.simulation.errors import ProgramError
from schedlab.simulation.models import Model
from schedlab.simulation.programs import Program, native, program
from schedlab.simulation.running import Simulation
from schedlab.simulation.settings import Attributes, Settings, attributes, numbers
from schedlab.workloads.base import AnyAdapter
from schedlab.workloads.registry import adapter


@dataclass(frozen=True)
class RowProgram:
    """A row's program; ``metrics`` maps the workload's metrics to the program's where these are another's."""

    adapter: AnyAdapter
    program: Program
    metrics: Mapping[str, str] | None

    @property
    def note(self) -> str:
        """Words for a tool that a native program stands for; empty for native ones."""
        if self.metrics is None:
            return ""
        return f"{self.adapter.name} is simulated as the native program {self.program.name!r}"


def seed_of(seed: int, block: int, iteration: int) -> int:
    """The simulation's seed, from the run's."""
    return int.from_bytes(sha256(f"{seed}/{block}/simulation/{iteration}".encode()).digest()[:8], "big")


def row_program(row: Row, machine: Model) -> RowProgram:
    """The row's program on this machine; ProgramError when it is a tool without a native equivalent."""
    found = adapter(row.use)
    given = found.parameters.model_validate(row.parameters)
    if native(found) is not None:
        return RowProgram(found, program(row.use, row.parameters, machine.cpus), None)
    same = found.equivalent(given)
    if same is None:
        raise ProgramError(f"{row.use!r} is a tool, and no native program does the same", where=row.label)
    lacking = [name for name in row.judged if name not in same.metrics]
    if lacking:
        raise ProgramError(
            f"the native program {same.use!r} has no counterpart of {row.use!r}'s metric {lacking[0]!r}",
            where=row.label,
            todo=f'name others in metrics: {", ".join(same.metrics)}; or use = "{same.use}"',
        )
    return RowProgram(found, program(same.use, same.parameters, machine.cpus), same.metrics)


def kernel_of(variant: Variant, target: Model) -> Model:
    """The variant's kernel model, or the target's."""
    return target if variant.kernel is None else models.kernel(variant.kernel)


def attributes_of(variant: Variant, kernel: Model) -> Attributes:
    """The variant's scheduling attributes."""
    policy, priority, nice = variant.policy or "other", variant.priority, variant.nice or 0
    return attributes(policy, priority, nice, variant.slice, variant.cpus, kernel)


def simulation(trial: Trial, made: RowProgram, seed: int, machine: Model, target_kernel: Model) -> Simulation:
    """The trial's simulation; its timeout is one of virtual time."""
    variant = trial.variant
    kernel = kernel_of(variant, target_kernel)
    settings = Settings(
        seed=seed_of(seed, trial.block, trial.iteration),
        tunables=numbers(variant.tunables.values()),
        command_line=variant.cmdline or "",
        horizon_ns=round(trial.row.timeout * 1e9),
        attributes=attributes_of(variant, kernel),
    )
    return Simulation(machine, kernel, made.program, settings)
