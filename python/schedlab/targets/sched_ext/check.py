"""What would keep the schedulers of a plan's variants from being loaded; found without changing anything."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from schedlab.experiment.plan import CONTROL, Plan
from schedlab.targets.protocol import Obstacle
from schedlab.targets.sched_ext.kernel import FOLDER, Kernel
from schedlab.tunables import System

OPTION = "CONFIG_SCHED_CLASS_EXT"
FIRST = (6, 12)
"""The first mainline release with sched_ext (merged in the 6.12 window, September 2024)."""

Fault = tuple[str, str]
"""Why, and what would mend it."""


def obstacles(plan: Plan, system: System) -> Iterator[Obstacle]:
    """Everything that would stop the plan's ``sched_ext`` here; nothing where no variant has one."""
    wanting = [variant for variant in plan.variants if variant.sched_ext is not None and variant.name != CONTROL]
    if not wanting:
        return
    names = ", ".join(repr(variant.name) for variant in wanting)
    for reason, mend in faults(system):
        yield Obstacle(f"sched_ext ({'variants' if len(wanting) > 1 else 'variant'} {names})", reason, mend)
    for variant in wanting:
        assert variant.sched_ext is not None
        program = variant.sched_ext[0]
        if shutil.which(program) is None:
            mend = "give its path, or install it: github.com/sched-ext/scx, or tools/sched_ext of the kernel's source"
            yield Obstacle(f"variant {variant.name!r}", f"sched_ext: {program!r} is no program here", mend)


def faults(system: System) -> Iterator[Fault]:
    """Why no scheduler can be loaded into this kernel now."""
    status = Kernel(system.root).status()
    if status is None:
        yield missing(system), "boot a kernel that has it; 'schedlab doctor' tells whether one does"
        return
    if status.loaded:
        mend = (
            "stop it (a service: 'systemctl stop scx'; else the process that loaded it); the kernel takes one at a time"
        )
        yield f"{status.shown} is loaded already", mend
    if system.real and not system.is_root:
        yield "loading a BPF scheduler needs root", "run schedlab with sudo"


def missing(system: System) -> str:
    """Why this kernel has no sched_ext, as far as it can be told."""
    what = f"this kernel ({system.release}) has none"
    if system.version < FIRST:
        return f"{what}: it came with Linux {FIRST[0]}.{FIRST[1]}"
    if system.config is not None and OPTION not in system.config:
        return f"{what}: it was built without {OPTION}"
    return f"{what}: /{FOLDER}/state is not there"
