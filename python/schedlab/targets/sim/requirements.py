"""Requirements of a plan that a simulated machine does not meet: every tunable, key and row is tried out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from schedlab.errors import SchedlabError
from schedlab.experiment.model import GUEST_ONLY, Variant
from schedlab.experiment.plan import CONTROL, Plan
from schedlab.extension import NotBuilt, extension
from schedlab.simulation.errors import SettingRefused
from schedlab.simulation.models import Model, kernels_with
from schedlab.simulation.running import Simulation
from schedlab.simulation.settings import Settings, numbers
from schedlab.targets.protocol import Fault, MissingRequirement, by_variant
from schedlab.targets.sim.cases import RowProgram, attributes_of, kernel_of, row_program
from schedlab.tunables import Setting
from schedlab.workloads.native import names as native_names


def missing_requirements(plan: Plan, machine: Model, target_kernel: Model) -> Iterator[MissingRequirement]:
    """Everything that would stop this plan on this machine."""
    try:
        extension()
        programs, refused = _programs(plan, machine)
    except NotBuilt as error:
        yield MissingRequirement(error.where, error.what, error.todo)
        return
    yield from refused
    yield from by_variant(
        (variant.name, fault)
        for variant in plan.variants
        if variant.name != CONTROL
        for fault in _faults(variant, programs, machine, target_kernel)
    )
    distinct = {row.program.text: row.program for row in programs}
    for program in distinct.values():
        try:
            Simulation(machine, target_kernel, program, Settings()).check()
        except SchedlabError as error:
            yield MissingRequirement(f"program {program.name!r}", error.what, error.todo)


def _programs(plan: Plan, machine: Model) -> tuple[list[RowProgram], list[MissingRequirement]]:
    programs, refused = [], {}
    for row in plan.rows:
        try:
            programs.append(row_program(row, machine))
        except NotBuilt:
            raise
        except SchedlabError as error:
            remedy = error.todo or f"native programs: {', '.join(native_names())}"
            requirement = MissingRequirement(f"workload {row.label!r}", error.what, remedy)
            refused[row.label, error.what] = requirement
    return programs, list(refused.values())


def _faults(variant: Variant, programs: list[RowProgram], machine: Model, target_kernel: Model) -> Iterator[Fault]:
    """Try each key of the variant by itself, so that every fault is reported."""
    if variant.environment:
        yield "sets environment variables, and simulated programs read none", "take them out"
    if variant.sched_ext is not None:
        yield "sets sched_ext, and a simulated kernel runs no BPF programs", "run it on a real kernel, or take it out"
    for key in (key for key in GUEST_ONLY if getattr(variant, key) is not None):
        yield f"sets {key}, and a simulated machine has its own", "run it with --target vm:KERNEL, or take it out"
    try:
        kernel = kernel_of(variant, target_kernel)
    except SchedlabError as error:
        yield error.what, error.todo
        return
    trials: list[Callable[[], Mapping[str, Any]]] = [
        *(partial(_tunable, kernel, setting) for setting in variant.tunables.values()),
        lambda: {"command_line": variant.cmdline or ""},
        lambda: {"attributes": attributes_of(variant, kernel)},
    ]
    for settings in trials:
        try:
            tried = Settings(**settings())
            if programs:
                Simulation(machine, kernel, programs[0].program, tried).check()
        except SchedlabError as error:
            yield f"{error.where}: {error.what}" if error.where else error.what, error.todo


def _tunable(kernel: Model, setting: Setting) -> Mapping[str, Any]:
    """Return the tunable as the simulator's setting; SettingRefused names the kernel models that have it."""
    tunables = numbers([setting])
    if setting.name not in kernel.tunables:
        models = kernels_with(setting.name)
        remedy = f"these have it: {', '.join(models)}" if models else "no shipped kernel model has it"
        raise SettingRefused(f"{kernel.name} has no tunable {setting.name!r}", todo=remedy)
    return {"tunables": tunables}
