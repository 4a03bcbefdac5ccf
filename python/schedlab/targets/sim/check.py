"""What would stop a plan on a simulated machine: every tunable, key and row is tried out before the first trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from schedlab.errors import SchedlabError
from schedlab.experiment.model import GUEST_ONLY, Variant
from schedlab.experiment.plan import CONTROL, Plan
from schedlab.simulation.errors import NotBuilt, SettingRefused
from schedlab.simulation.models import Model, kernels_with
from schedlab.simulation.native import extension
from schedlab.simulation.programs import Program, native_names
from schedlab.simulation.running import Simulation
from schedlab.simulation.settings import Settings, numbers
from schedlab.targets.protocol import Obstacle
from schedlab.targets.sim.cases import RowProgram, attributes_of, kernel_of, row_program
from schedlab.tunables import Setting

Fault = tuple[str, str]
"""Why, and what would mend it."""


def obstacles(plan: Plan, machine: Model, target_kernel: Model) -> Iterator[Obstacle]:
    """Everything that would stop this plan on this machine."""
    try:
        extension()
        made, refused = _programs(plan, machine)
    except NotBuilt as error:
        yield Obstacle(error.where, error.what, error.todo)
        return
    yield from refused
    yield from _of_variants(plan, made, machine, target_kernel)
    for program in _once(made):
        try:
            Simulation(machine, target_kernel, program, Settings()).check()
        except SchedlabError as error:
            yield Obstacle(f"program {program.name!r}", error.what, error.todo)


def _programs(plan: Plan, machine: Model) -> tuple[list[RowProgram], list[Obstacle]]:
    made, refused = [], {}
    for row in plan.rows:
        try:
            made.append(row_program(row, machine))
        except NotBuilt:
            raise
        except SchedlabError as error:
            mend = error.todo or f"native programs: {', '.join(native_names())}"
            refused[row.label, error.what] = Obstacle(f"workload {row.label!r}", error.what, mend)
    return made, list(refused.values())


def _of_variants(plan: Plan, made: list[RowProgram], machine: Model, target_kernel: Model) -> Iterator[Obstacle]:
    """What is wrong with variants, each thing once with all the variants that have it."""
    having: dict[tuple[str, str], list[str]] = {}
    for variant in plan.variants:
        if variant.name != CONTROL:
            for fault in _faults(variant, made, machine, target_kernel):
                having.setdefault(fault, []).append(variant.name)
    for (reason, mend), names in having.items():
        yield Obstacle(f"{'variants' if len(names) > 1 else 'variant'} {', '.join(map(repr, names))}", reason, mend)


def _faults(variant: Variant, made: list[RowProgram], machine: Model, target_kernel: Model) -> Iterator[Fault]:
    """Reason and mend of each fault: everything that the variant sets is tried by itself."""
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
            given = Settings(**settings())
            if made:
                Simulation(machine, kernel, made[0].program, given).check()
        except SchedlabError as error:
            yield f"{error.where}: {error.what}" if error.where else error.what, error.todo


def _tunable(kernel: Model, setting: Setting) -> Mapping[str, Any]:
    """The tunable for the simulator; SettingRefused names the kernel models that have it where this one does not."""
    tunables = numbers([setting])
    if setting.name not in kernel.tunables:
        having = kernels_with(setting.name)
        mend = f"these have it: {', '.join(having)}" if having else "no shipped kernel model has it"
        raise SettingRefused(f"{kernel.name} has no tunable {setting.name!r}", todo=mend)
    return {"tunables": tunables}


def _once(made: list[RowProgram]) -> list[Program]:
    """Each program once."""
    return list({each.program.text: each.program for each in made}.values())
