"""The simulation of a trial, and the requirements of a plan that a simulated machine does not meet.

The random seed of iteration *i* in block *b* is the first 64 bits of the SHA-256 of ``"{seed}/{b}/simulation/{i}"``,
where ``seed`` is the run's random seed. All variants and rows of the block use this seed, so that variants are compared
under the same tick phases, addresses and draws (common random numbers).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from schedlab.errors import SchedlabError
from schedlab.experiment.groups import Group, in_place
from schedlab.experiment.model import Variant
from schedlab.experiment.plan import CONTROL, Plan, Row, Trial
from schedlab.experiment.seeds import simulation_seed
from schedlab.experiment.state import GUEST_ONLY
from schedlab.extension import NotBuilt, extension
from schedlab.simulation import models
from schedlab.simulation.errors import ProgramError, SettingRefused
from schedlab.simulation.models import Model, kernels_with
from schedlab.simulation.programs import Program, beside, program
from schedlab.simulation.run import Simulation
from schedlab.simulation.settings import Attributes, ControlGroups, Settings, attributes, numbers
from schedlab.targets import hooks
from schedlab.targets.protocol import Fault, MissingRequirement, by_variant
from schedlab.tunables import Setting
from schedlab.workloads import declarations
from schedlab.workloads.base import AnyAdapter, Parameters
from schedlab.workloads.registry import adapter


@dataclass(frozen=True)
class RowProgram:
    """A row's program; ``metrics`` maps a tool's metrics to the metrics of the native program that replaces it.

    ``watches``: the tool's ``parameters`` name a CPU, whose interruptions give the tool's metrics. ``policy`` replaces
    the variant's policy, with ``priority``, for a tool that sets the policy of its tasks.
    """

    adapter: AnyAdapter
    program: Program
    metrics: Mapping[str, str] | None
    watches: bool = False
    parameters: Parameters | None = None
    policy: str | None = None
    priority: int | None = None
    groups: ControlGroups = field(default_factory=ControlGroups)

    @property
    def note(self) -> str:
        """A note on a tool that a native program replaces; empty for native workloads."""
        if self.metrics is None:
            return ""
        return f"{self.adapter.name} is simulated as the native program {self.program.name!r}"


def row_program(row: Row, machine: Model) -> RowProgram:
    """Return the row's program on this machine, with its loads; ProgramError for a tool without a native equivalent."""
    alone = _row_program(row, machine)
    if pressure := [name for name in row.judged if ".cpu.pressure" in name]:
        message = f"the simulator does not count the pressure {pressure[0]!r}"
        raise ProgramError(message, where=row.label, todo="remove the metric from metrics, or use a real kernel")
    loads = [_row_program(load, machine) for load in row.beside]
    groups = ControlGroups(workload=row.group, loads=[load.group for load in row.beside])
    return replace(alone, program=beside(alone.program, [load.program for load in loads]), groups=groups)


def _row_program(row: Row, machine: Model) -> RowProgram:
    tool = adapter(row.use)
    parameters = tool.parameters.model_validate(row.parameters)
    if row.use in declarations.names():
        return RowProgram(tool, program(row.use, row.parameters, machine.cpus), None)
    equivalent = tool.equivalent(parameters)
    if equivalent is None:
        message = f"{row.use!r} is a tool without an equivalent native program"
        todo = f"simulate one of {', '.join(declarations.names())}, or measure on the host"
        raise ProgramError(message, where=row.label, todo=todo)
    if equivalent.watches:
        if (cpu := parameters.model_dump()["cpu"] or 0) >= machine.cpus:
            todo = f"name a CPU from 0 to {machine.cpus - 1}"
            raise ProgramError(f"{machine.name} has no CPU {cpu}", where=row.label, todo=todo)
        chosen = program(equivalent.use, equivalent.parameters, machine.cpus)
        return RowProgram(tool, chosen, {}, True, parameters)
    names = {*equivalent.metrics, *(spec.name for spec in row.metrics if spec not in tool.metrics)}
    missing = [name for name in row.judged if name not in names]
    if missing:
        raise ProgramError(
            f"the native program {equivalent.use!r} has no counterpart of {row.use!r}'s metric {missing[0]!r}",
            where=row.label,
            todo=f'list only these under metrics: {", ".join(equivalent.metrics)}; or write use = "{equivalent.use}"',
        )
    chosen = program(equivalent.use, equivalent.parameters, machine.cpus)
    policy, priority = equivalent.policy, equivalent.priority
    return RowProgram(tool, chosen, equivalent.metrics, policy=policy, priority=priority)


def kernel_of(variant: Variant, target: Model) -> Model:
    """Return the variant's kernel model, by default the kernel model of the target."""
    return target if variant.kernel is None else models.kernel(variant.kernel)


ATTRIBUTES = ("policy", "priority", "nice", "slice", "runtime", "deadline", "period", "cpus")
"""Keys of a variant that :func:`attributes_of` reads."""


UNMODELLED = {
    "uclamp_min": "the simulator has no model of CPU capacity and frequency",
    "uclamp_max": "the simulator has no model of CPU capacity and frequency",
    "timer_slack": "simulated tasks keep the default slack of their kernel",
    "mempolicy": "the pages of simulated tasks are where the workload's model puts them",
}
"""Keys of a variant that no simulated machine has, each with the reason."""


def attributes_of(variant: Variant, kernel: Model) -> Attributes:
    """Return the variant's scheduling attributes."""
    policy, priority, nice = variant.policy or "other", variant.priority, variant.nice or 0
    times = (variant.runtime, variant.deadline, variant.period)
    return attributes(policy, priority, nice, variant.slice, variant.cpus, kernel, times)


def control_groups(groups: Sequence[Group], variant: Variant, tasks: ControlGroups) -> ControlGroups:
    """Return the groups of an experiment under a variant, with the groups of a row's tasks."""
    changes = [(group.name, round(change.after * 1e9), change.settings) for group in groups for change in group.at]
    return replace(tasks, settings=in_place(groups, variant.groups), changes=changes)


def simulation(
    trial: Trial, row: RowProgram, seed: int, machine: Model, target_kernel: Model, groups: Sequence[Group] = ()
) -> Simulation:
    """Return the trial's simulation; the trial's timeout limits its virtual time."""
    variant = trial.variant
    kernel = kernel_of(variant, target_kernel)
    main = chosen = attributes_of(variant, kernel)
    if row.policy is not None:
        # The tool sets the policy of its threads, not of its main thread.
        chosen = replace(chosen, policy=row.policy, priority=row.priority, budget=None)
    watched: tuple[int, ...] = ()
    if row.watches:
        # ``schedload noise`` starts its loops from another CPU.
        main = replace(chosen, cpus=None)
        chosen, watched = _watching(row, chosen, machine)
    settings = Settings(
        seed=simulation_seed(seed, trial.block, trial.iteration),
        tunables=numbers(variant.tunables.values()),
        command_line=variant.cmdline or "",
        horizon_ns=round(trial.row.timeout * 1e9),
        attributes=chosen,
        main=main,
        control_groups=control_groups(groups, variant, row.groups),
    )
    return Simulation(machine, kernel, row.program, settings, watched)


def _watching(row: RowProgram, chosen: Attributes, machine: Model) -> tuple[Attributes, tuple[int, ...]]:
    """Return the attributes of a loop on the CPU under test, by default the last CPU of the variant, and this CPU."""
    wanted = row.parameters.model_dump() if row.parameters is not None else {}
    allowed = machine.cpus - 1 if chosen.cpus is None else max(chosen.cpus)
    cpu = allowed if wanted["cpu"] is None else wanted["cpu"]
    pinned = replace(chosen, cpus=(cpu,))
    if wanted["fifo"] is not None:
        pinned = replace(pinned, policy="fifo", priority=wanted["fifo"], nice=0, budget=None)
    return pinned, (cpu,)


def missing_requirements(plan: Plan, machine: Model, target_kernel: Model) -> Iterator[MissingRequirement]:
    """Yield the requirements of a plan that this machine does not meet. Every tunable, key and row is tried."""
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
        for fault in _faults(variant, programs, machine, target_kernel, plan.experiment.group)
    )
    yield from hooks.refused(plan, "a simulated machine runs no commands")
    distinct = {row.program.text: row.program for row in programs}
    for tried_program in distinct.values():
        try:
            Simulation(machine, target_kernel, tried_program, Settings()).check()
        except SchedlabError as error:
            yield MissingRequirement(f"program {tried_program.name!r}", error.what, error.todo)


def _programs(plan: Plan, machine: Model) -> tuple[list[RowProgram], list[MissingRequirement]]:
    programs, refused = [], {}
    for row in plan.rows:
        try:
            programs.append(row_program(row, machine))
        except NotBuilt:
            raise
        except SchedlabError as error:
            remedy = error.todo or f"use a native program: {', '.join(declarations.names())}"
            requirement = MissingRequirement(f"workload {row.label!r}", error.what, remedy)
            refused[row.label, error.what] = requirement
    return programs, list(refused.values())


def _faults(
    variant: Variant, programs: list[RowProgram], machine: Model, target_kernel: Model, groups: Sequence[Group]
) -> Iterator[Fault]:
    """Try each key of the variant separately, so that every fault is reported."""
    if variant.environment:
        yield "sets environment variables, which simulated programs do not read", "remove these keys from the variant"
    if variant.sched_ext is not None:
        yield "sets sched_ext, and a simulated kernel runs no BPF programs", "use a real kernel, or remove sched_ext"
    for key in (key for key in GUEST_ONLY if getattr(variant, key) is not None):
        yield f"sets {key}, which a machine model fixes", f"use --target vm:KERNEL, or remove {key} from the variant"
    for key in (key for key in UNMODELLED if getattr(variant, key) is not None):
        yield f"sets {key}, and {UNMODELLED[key]}", f"use a real kernel, or remove {key} from the variant"
    try:
        kernel = kernel_of(variant, target_kernel)
    except SchedlabError as error:
        yield error.what, error.todo
        return
    # Each check parses the models and the program again, and a plan may have thousands of variants.
    checks: list[Callable[[], Mapping[str, Any]]] = [
        partial(_tunable, kernel, setting) for setting in variant.tunables.values()
    ]
    if variant.cmdline is not None:
        checks.append(lambda: {"command_line": variant.cmdline})
    checks += [partial(_group, name, file, text) for name, file, text in _texts(groups, variant)]
    if not checks or any(getattr(variant, key) is not None for key in ATTRIBUTES):
        checks.append(lambda: {"attributes": attributes_of(variant, kernel)})
    for settings in checks:
        try:
            tried = Settings(**settings())
            if programs:
                Simulation(machine, kernel, programs[0].program, tried).check()
        except SchedlabError as error:
            yield f"{error.where}: {error.what}" if error.where else error.what, error.todo


def _texts(groups: Sequence[Group], variant: Variant) -> Iterator[tuple[str, str, str]]:
    """Yield each setting of each group: group, file and text."""
    timed = ((group.name, change.settings) for group in groups for change in group.at)
    for name, texts in (*in_place(groups, variant.groups).items(), *timed):
        yield from ((name, file, text) for file, text in texts.items())


def _group(name: str, file: str, text: str) -> Mapping[str, Any]:
    return {"control_groups": ControlGroups({name: {file: text}})}


def _tunable(kernel: Model, setting: Setting) -> Mapping[str, Any]:
    """Return the tunable as the simulator's setting; SettingRefused names the kernel models that have the tunable."""
    tunables = numbers([setting])
    if setting.name not in kernel.tunables:
        models = kernels_with(setting.name)
        remedy = (
            f"use a kernel model with this tunable: {', '.join(models)}"
            if models
            else ("no shipped kernel model has this tunable")
        )
        raise SettingRefused(f"{kernel.name} has no tunable {setting.name!r}", todo=remedy)
    return {"tunables": tunables}
