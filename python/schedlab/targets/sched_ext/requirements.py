"""Requirements of a plan's sched_ext schedulers that a kernel does not meet; the checks change nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping

from schedlab.experiment.plan import CONTROL, Plan
from schedlab.targets.protocol import Fault, MissingRequirement, naming
from schedlab.targets.sched_ext.kernel import Kernel
from schedlab.targets.sched_ext.protocol import BUSY, FOLDER
from schedlab.tunables import System

OPTION = "CONFIG_SCHED_CLASS_EXT"
FIRST = (6, 12)
"""The first mainline release with sched_ext (merged in the 6.12 window, September 2024)."""


def missing_requirements(plan: Plan, system: System) -> Iterator[MissingRequirement]:
    """All reasons why the plan's ``sched_ext`` cannot run on this machine."""
    programs = {
        variant.name: variant.sched_ext[0]
        for variant in plan.variants
        if variant.sched_ext is not None and variant.name != CONTROL
    }
    if not programs:
        return
    for reason, remedy in faults(system):
        yield MissingRequirement(f"sched_ext ({naming(list(programs))})", reason, remedy)
    for name, program in programs.items():
        if shutil.which(program) is None:
            remedy = (
                "write the program's path, or install the program from github.com/sched-ext/scx or from "
                "tools/sched_ext of a kernel source"
            )
            yield MissingRequirement(naming([name]), f"sched_ext: there is no program {program!r} here", remedy)


def faults(system: System) -> Iterator[Fault]:
    """Reasons why the running kernel cannot load a scheduler now."""
    status = Kernel(system.root).status()
    if status is None:
        yield missing(system), "boot a kernel with sched_ext; 'schedlab doctor' checks the running kernel"
        return
    if status.loaded:
        remedy = (
            "end that scheduler ('systemctl stop scx', or the process that loaded the scheduler): a kernel "
            "runs one scheduler at a time"
        )
        yield BUSY.format(status.shown), remedy
    if system.real and not system.is_root:
        yield "loading a BPF scheduler needs root", "run schedlab with sudo"


def missing(system: System) -> str:
    """Explain why the running kernel has no sched_ext, as far as its version and configuration show."""
    fault = f"this kernel ({system.release}) has no sched_ext"
    if system.version < FIRST:
        return f"{fault}: sched_ext came with Linux {FIRST[0]}.{FIRST[1]}"
    if system.config is not None and OPTION not in system.config:
        return f"{fault}: the kernel was built without {OPTION}"
    return f"{fault}: /{FOLDER}/state does not exist"


def guest_fault(options: Mapping[str, str] | None, release: str) -> Fault | None:
    """Explain why a guest's kernel has no sched_ext; None when the kernel has the option, or its ``options`` are
    unknown (None)."""
    if options is None or OPTION in options:
        return None
    return (
        f"kernel {release} has no sched_ext: the kernel is built without {OPTION}",
        "use a kernel built with this option, such as debian-7.2",
    )
