"""Requirements of a plan that another machine does not meet. The checks change nothing there."""

from __future__ import annotations

from collections.abc import Iterator

from schedlab.experiment.model import Variant
from schedlab.experiment.plan import CONTROL, Plan, every_row
from schedlab.experiment.state import GUEST_ONLY
from schedlab.targets import groups
from schedlab.targets.protocol import Fault, MissingRequirement, naming
from schedlab.targets.ssh.agent import Agent
from schedlab.targets.trial import PreparedRow, attributes, under
from schedlab.tunables import System
from schedlab.tunables.availability import remedy_of
from schedlab.workloads.base import Command, Place
from schedlab.workloads.launcher import run_by
from schedlab.workloads.preparation import place_of
from schedlab.workloads.tools import install_line

PROBE_SECONDS = 10.0

ONLY_ELSEWHERE = ("sched_ext", *GUEST_ONLY)
"""Keys of a variant that another machine cannot have, or that need this machine."""


def missing_requirements(plan: Plan, agent: Agent, system: System) -> Iterator[MissingRequirement]:
    """Everything that would stop this plan there: tools, preparations, attributes, tunables."""
    reported = set()
    place = place_of(agent)
    for row in every_row(plan):
        prepared = PreparedRow.of(row)
        for fault in [*row_faults(prepared, place)] or _program_faults(prepared, place):
            if (key := (row.label, fault)) not in reported:
                reported.add(key)
                yield MissingRequirement(f"workload {row.label!r}", *fault)
    for variant in plan.variants:
        if variant.name != CONTROL:
            yield from _variant_faults(variant, agent)
    yield from _tunables(plan, system)
    yield from groups.missing_requirements(plan, agent)


def row_faults(row: PreparedRow, place: Place) -> Iterator[Fault]:
    """Yield why a row cannot run on the machine, with remedies."""
    machine = place.machine
    where = machine.agent.where
    if absent := machine.missing(row.adapter.tools):
        for tool in absent:
            yield f"{tool.program} is not installed there", f"on {where}: {install_line(absent)}"
        return
    for reason in row.adapter.missing_requirements(row.parameters, place):
        yield reason, f"on {where}"


def _program_faults(row: PreparedRow, place: Place) -> Iterator[Fault]:
    """Yield the folder and the programs of a trial's command that the machine lacks; setup may install any program."""
    if row.adapter.needs_state(row.parameters):
        return
    agent, command = place.machine.agent, row.adapter.trial_command(row.parameters, place)
    if command.cwd is not None:
        yield f"runs in the folder {command.cwd} of this machine", "run it with --target host"
    words = [command.argv[0], *(server.argv[0] for server in command.servers)]
    programs = [word for word in words if not word.startswith(agent.folder)]
    there = agent.find({word: [word] if "/" in word else [] for word in programs})
    for word in programs:
        if word not in there:
            yield f"there is no program {word!r} there", f"install it on {agent.where}"


def _variant_faults(variant: Variant, agent: Agent) -> Iterator[MissingRequirement]:
    subject = naming([variant.name])
    for key in ONLY_ELSEWHERE:
        if getattr(variant, key) is not None:
            remedy = f"use --target vm:KERNEL, or remove {key} from the variant"
            yield MissingRequirement(subject, f"sets {key}, which an ssh target cannot change", remedy)
    if not attributes(variant) or variant.kernel is not None:
        return
    # Only the kernel can say whether it permits the attributes; one that does not run yet says so in its first trial.
    probe = run_by(agent, under(Command(("true",)), variant), PROBE_SECONDS, attributes(variant))
    if probe.status != 0:
        reason, _, remedy = probe.stderr.strip().removeprefix("schedload: ").partition("\n")
        yield MissingRequirement(subject, reason or f"the launcher ended with {probe.status}", remedy.strip())


def _tunables(plan: Plan, system: System) -> Iterator[MissingRequirement]:
    users: dict[str, list[str]] = {}
    for variant in plan.variants:
        if variant.kernel is not None:
            continue  # the running kernel cannot answer for another
        for name, setting in variant.tunables.items():
            users.setdefault(name, []).append(variant.name)
            if setting.tunable is None:
                reason = "only simulated kernels have it"
                yield MissingRequirement(f"tunable {name!r} ({naming([variant.name])})", reason, "use --target sim:")
    if not users:
        return
    with system.debugfs():
        for variant in plan.variants:
            if variant.kernel is not None:
                continue
            real = {name: each for name, each in variant.tunables.items() if each.tunable is not None}
            for name, answer in system.check(real).items():
                if variants := users.pop(name, None):
                    yield MissingRequirement(
                        f"tunable {name!r} ({naming(variants)})", answer.why, remedy_of(name, answer)
                    )
