"""The simulation of a trial.

A block is a seed. Trial *i* of a row in block *b* is simulated with the first 64 bits of the SHA-256 of
``"{seed}/{b}/simulation/{i}"``, where ``seed`` is the run's. The seed is the same for all variants and rows of the
block, so that variants are compared under the same tick phases, addresses and draws (common random numbers).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schedlab.experiment.model import Variant
from schedlab.experiment.plan import Trial
from schedlab.experiment.rows import Row
from schedlab.experiment.seeds import simulation_seed
from schedlab.simulation import models
from schedlab.simulation.errors import ProgramError
from schedlab.simulation.models import Model
from schedlab.simulation.programs import Program, program
from schedlab.simulation.running import Simulation
from schedlab.simulation.settings import Attributes, Settings, attributes, numbers
from schedlab.workloads import native
from schedlab.workloads.base import AnyAdapter
from schedlab.workloads.registry import adapter


@dataclass(frozen=True)
class RowProgram:
    """A row's program; ``metrics`` maps a tool's metrics to those of the native program that replaces it."""

    adapter: AnyAdapter
    program: Program
    metrics: Mapping[str, str] | None

    @property
    def note(self) -> str:
        """A note on a tool that a native program replaces; empty for native workloads."""
        if self.metrics is None:
            return ""
        return f"{self.adapter.name} is simulated as the native program {self.program.name!r}"


def row_program(row: Row, machine: Model) -> RowProgram:
    """Return the row's program on this machine; ProgramError for a tool without a native equivalent."""
    tool = adapter(row.use)
    parameters = tool.parameters.model_validate(row.parameters)
    if row.use in native.names():
        return RowProgram(tool, program(row.use, row.parameters, machine.cpus), None)
    equivalent = tool.equivalent(parameters)
    if equivalent is None:
        raise ProgramError(f"{row.use!r} is a tool, and no native program does the same", where=row.label)
    missing = [name for name in row.judged if name not in equivalent.metrics]
    if missing:
        raise ProgramError(
            f"the native program {equivalent.use!r} has no counterpart of {row.use!r}'s metric {missing[0]!r}",
            where=row.label,
            todo=f'name others in metrics: {", ".join(equivalent.metrics)}; or use = "{equivalent.use}"',
        )
    return RowProgram(tool, program(equivalent.use, equivalent.parameters, machine.cpus), equivalent.metrics)


def kernel_of(variant: Variant, target: Model) -> Model:
    """Return the variant's kernel model, or the target's."""
    return target if variant.kernel is None else models.kernel(variant.kernel)


def attributes_of(variant: Variant, kernel: Model) -> Attributes:
    """Return the variant's scheduling attributes."""
    policy, priority, nice = variant.policy or "other", variant.priority, variant.nice or 0
    return attributes(policy, priority, nice, variant.slice, variant.cpus, kernel)


def simulation(trial: Trial, row: RowProgram, seed: int, machine: Model, target_kernel: Model) -> Simulation:
    """Return the trial's simulation; the trial's timeout limits its virtual time."""
    variant = trial.variant
    kernel = kernel_of(variant, target_kernel)
    settings = Settings(
        seed=simulation_seed(seed, trial.block, trial.iteration),
        tunables=numbers(variant.tunables.values()),
        command_line=variant.cmdline or "",
        horizon_ns=round(trial.row.timeout * 1e9),
        attributes=attributes_of(variant, kernel),
    )
    return Simulation(machine, kernel, row.program, settings)
