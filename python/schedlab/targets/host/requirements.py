"""Requirements of a plan that this machine does not meet, found by probes that change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from schedlab.errors import CannotRunHere
from schedlab.experiment.model import GUEST_ONLY, Variant
from schedlab.experiment.plan import Plan
from schedlab.simulation.models import kernels_with
from schedlab.targets import sched_ext
from schedlab.targets.protocol import MissingRequirement, naming
from schedlab.targets.trial import PreparedRow, attributes, launch
from schedlab.tunables import System
from schedlab.tunables.journal.client import WAIT
from schedlab.tunables.journal.local import LocalAgent
from schedlab.workloads.base import Command
from schedlab.workloads.tools import SCHEDLOAD, find, install_line, missing

PROBE_SECONDS = 10.0


def missing_requirements(plan: Plan, system: System) -> Iterator[MissingRequirement]:
    """Everything that would stop this plan here: tools, attributes, tunables, sched_ext schedulers."""
    if find(SCHEDLOAD) is None:
        yield MissingRequirement("schedload", "the load generator and launcher is missing", SCHEDLOAD.package)
        return
    try:
        with closing(LocalAgent()) as agent:
            busy = agent.holder()
        if busy is not None:
            yield MissingRequirement("machine", f"another run is measuring on this machine ({busy})", WAIT)
    except CannotRunHere as error:
        yield MissingRequirement(error.where or "machine", error.what, error.todo)
    yield from _tools(plan)
    for variant in plan.variants:
        yield from _guest_only(variant)
    yield from _attributes(plan)
    yield from _tunables(plan, system)
    yield from sched_ext.missing_requirements(plan, system)


def _tools(plan: Plan) -> Iterator[MissingRequirement]:
    reported: set[str] = set()
    for row in plan.rows:
        prepared = PreparedRow.of(row)
        absent = missing(prepared.adapter)
        reasons = [f"{tool.program} is not installed" for tool in absent]
        for reason in reasons + prepared.adapter.missing_requirements(prepared.parameters):
            if (key := f"{row.label}/{reason}") not in reported:
                reported.add(key)
                yield MissingRequirement(f"workload {row.label!r}", reason, install_line(absent) if absent else "")


def _guest_only(variant: Variant) -> Iterator[MissingRequirement]:
    subject = naming([variant.name])
    for key in ("kernel", "cmdline", *GUEST_ONLY):
        if getattr(variant, key) is not None:
            where = "vm:KERNEL" if key in GUEST_ONLY else "vm:KERNEL or sim:MACHINE"
            remedy = f"use --target {where}, or remove {key} from the variant"
            yield MissingRequirement(subject, f"sets {key}, which cannot change on the running host", remedy)


def _attributes(plan: Plan) -> Iterator[MissingRequirement]:
    """Probe each set of attributes by starting ``true`` with it: only the kernel can say whether it permits the set."""
    users: dict[tuple[str, ...], list[Variant]] = {}
    for variant in plan.variants:
        if options := attributes(variant):
            users.setdefault(tuple(options), []).append(variant)
    for variants in users.values():
        probe = launch(Command(("true",)), variants[0], PROBE_SECONDS)
        if probe.status != 0:
            reason, _, remedy = probe.stderr.strip().removeprefix("schedload: ").partition("\n")
            reason = reason or f"the launcher ended with {probe.status}"
            yield MissingRequirement(naming([variant.name for variant in variants]), reason, remedy.strip())


def _tunables(plan: Plan, system: System) -> Iterator[MissingRequirement]:
    users: dict[str, list[str]] = {}
    simulated: dict[str, None] = {}
    for variant in plan.variants:
        for name, setting in variant.tunables.items():
            users.setdefault(name, []).append(variant.name)
            if setting.tunable is None:
                simulated[name] = None
    for name in simulated:
        remedy = f"run it with --target sim:MACHINE/{kernels_with(name)[0]}"
        subject = f"tunable {name!r} ({naming(users.pop(name))})"
        yield MissingRequirement(subject, "only simulated kernels have this tunable", remedy)
    if not users:
        return
    with system.debugfs():
        for variant in plan.variants:
            real = {name: setting for name, setting in variant.tunables.items() if name not in simulated}
            for name, answer in system.check(real).items():
                if variants := users.pop(name, None):
                    subject = f"tunable {name!r} ({naming(variants)})"
                    remedy = f"read its description with 'schedlab tunables show {name}'"
                    yield MissingRequirement(subject, answer.why, remedy)
