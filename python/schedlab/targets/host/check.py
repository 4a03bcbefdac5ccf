"""What would stop a plan on this machine: found by probing, before the first trial, without changing anything."""

from __future__ import annotations

from collections.abc import Iterator

from schedlab.experiment.model import GUEST_ONLY, Variant
from schedlab.experiment.plan import Plan
from schedlab.simulation.models import kernels_with
from schedlab.targets import sched_ext
from schedlab.targets.host.launch import attributes, launch
from schedlab.targets.host.lock import BUSY, WAIT, holder
from schedlab.targets.protocol import Obstacle
from schedlab.tunables import System
from schedlab.workloads.base import Command
from schedlab.workloads.registry import adapter
from schedlab.workloads.tools import SCHEDLOAD, find, install_line, missing

PROBE_SECONDS = 10.0


def obstacles(plan: Plan, system: System) -> Iterator[Obstacle]:
    """Everything that would stop this plan here: tools, attributes, tunables, sched_ext schedulers."""
    if find(SCHEDLOAD) is None:
        yield Obstacle("schedload", "the load generator and launcher is not built", "make build")
        return
    if (process := holder()) is not None:
        yield Obstacle("machine", f"{BUSY} (process {process})", WAIT)
    yield from _tools(plan)
    for variant in plan.variants:
        yield from _attributes(variant)
    yield from _tunables(plan, system)
    yield from sched_ext.obstacles(plan, system)


def _tools(plan: Plan) -> Iterator[Obstacle]:
    told: set[str] = set()
    for row in plan.rows:
        found = adapter(row.use)
        parameters = found.parameters.model_validate(row.parameters)
        lacking = missing(found)
        reasons = [f"{tool.program} is not installed" for tool in lacking] + found.missing_requirements(parameters)
        for reason in reasons:
            if (key := f"{row.label}/{reason}") not in told:
                told.add(key)
                yield Obstacle(f"workload {row.label!r}", reason, install_line(lacking) if lacking else "")


def _attributes(variant: Variant) -> Iterator[Obstacle]:
    """Attributes are probed by starting ``true`` under them: what the kernel will say cannot be guessed."""
    for key in ("kernel", "cmdline", *GUEST_ONLY):
        if getattr(variant, key) is not None:
            where = "vm:KERNEL" if key in GUEST_ONLY else "vm:KERNEL or sim:MACHINE"
            mend = f"run it with --target {where}, or take the key out"
            yield Obstacle(f"variant {variant.name!r}", f"sets {key}, and the host runs what it was booted with", mend)
    if not attributes(variant):
        return
    probe = launch(Command(("true",)), variant, PROBE_SECONDS)
    if probe.status != 0:
        reason, _, mend = probe.stderr.strip().removeprefix("schedload: ").partition("\n")
        yield Obstacle(f"variant {variant.name!r}", reason or f"the launcher ended with {probe.status}", mend.strip())


def _tunables(plan: Plan, system: System) -> Iterator[Obstacle]:
    wanted: dict[str, list[str]] = {}
    simulated: dict[str, None] = {}
    for variant in plan.variants:
        for name, setting in variant.tunables.items():
            wanted.setdefault(name, []).append(variant.name)
            if setting.tunable is None:
                simulated[name] = None
    for name in simulated:
        mend = f"run it with --target sim:MACHINE/{kernels_with(name)[0]}"
        subject = f"tunable {name!r} (variants {', '.join(wanted.pop(name))})"
        yield Obstacle(subject, "only simulated kernels have it", mend)
    if not wanted:
        return
    with system.debugfs():
        for variant in plan.variants:
            real = {name: setting for name, setting in variant.tunables.items() if name not in simulated}
            for name, answer in system.check(real).items():
                if variants := wanted.pop(name, None):
                    subject = f"tunable {name!r} (variants {', '.join(variants)})"
                    yield Obstacle(
                        subject, answer.why, f"'schedlab tunables show {name}' tells all that is known of it"
                    )
