"""``schedlab doctor``: the capabilities of this machine, and remedies for missing ones."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schedlab.cli.console import Console
    from schedlab.workloads.base import AnyAdapter


def doctor() -> None:
    """Show what this machine can run, and the commands that install missing programs."""
    from schedlab.cli.console import make

    console = make()
    _machine(console)
    _journals(console)
    _tunables(console)
    _sched_ext(console)
    _guests(console)
    if _simulator(console):
        _workloads(console)


def _machine(console: Console) -> None:
    from schedlab.targets.host import Host

    target = Host()
    fingerprint = target.fingerprint()
    kernel, cpu = fingerprint["kernel"], fingerprint["cpu"]
    guest = ", a virtual machine" if fingerprint["virtualisation"]["virtualised"] else ""
    console.say("machine  ", f"{target.fingerprint_hash(fingerprint)}{guest}", "bold")
    console.say("CPUs     ", f"{fingerprint['topology']['cpus']} × {cpu.get('model', 'unknown model')}", "bold")
    console.say("kernel   ", f"{kernel['release']}, clock source {kernel['clocksource']}", "bold")
    if os.geteuid() != 0:
        console.say("user     ", "not root: most tunables cannot be written", "bold")


def _journals(console: Console) -> None:
    """Print where damaged journals of killed runs are kept."""
    from schedlab.files import folders
    from schedlab.tunables.journal.journal_file import SUFFIX
    from schedlab.tunables.journal.undo import DAMAGED

    place = folders.journals() / DAMAGED
    if number := len(list(place.glob(f"*{SUFFIX}"))):
        console.say("journals ", f"{number} damaged, kept in {place}: compare their values, then delete them", "yellow")


def _tunables(console: Console) -> None:
    """Print the number of writable tunables, and each reason why others are not."""
    from schedlab.tunables import Absent, Available, BootOnly, System, catalogue

    system = System()
    reasons: dict[str, int] = {}
    counts = {"writable": 0, "at boot only": 0, "not in this kernel": 0}
    with system.debugfs():
        for tunable in catalogue().values():
            match system.resolve(tunable):
                case Available():
                    counts["writable"] += 1
                case BootOnly():
                    counts["at boot only"] += 1
                case Absent():
                    counts["not in this kernel"] += 1
                case refused:
                    reasons[refused.reason] = reasons.get(refused.reason, 0) + 1
    summary = ", ".join(f"{number} {what}" for what, number in counts.items())
    console.say("tunables ", f"{summary} ('schedlab tunables list' shows them)", "bold")
    for reason, number in reasons.items():
        console.say("refused  ", f"{number}: {reason}", "yellow")


def _sched_ext(console: Console) -> None:
    """Print whether a variant's sched_ext scheduler can be loaded, and reasons why not."""
    from schedlab.targets.sched_ext.requirements import faults
    from schedlab.tunables import System

    reasons = [reason for reason, _ in faults(System())]
    state = "; ".join(reasons) or "ready: a variant may load a scheduler"
    console.say("sched_ext", state, "yellow" if reasons else "bold")


def _guests(console: Console) -> None:
    """Print whether kernels can be booted here, and how realistic their speed is."""
    from schedlab.targets.vm import host_files, initramfs, qemu

    absent = {qemu.PACKAGE: qemu.program() is None, initramfs.BUSYBOX_PACKAGE: initramfs.busybox() is None}
    if packages := [package for package, is_absent in absent.items() if is_absent]:
        console.say("guests   ", f"cannot be booted: apt-get install {' '.join(packages)}", "yellow")
        return
    how = "KVM" if qemu.kvm_usable() else "emulation: a kernel behaves as on real hardware, but its timing differs"
    console.say("guests   ", f"ready by QEMU {qemu.version()}, {how}", "bold")
    if fault := host_files.fault():
        console.say("         ", f"without host_files: {fault[0]}: {fault[1]}", "yellow")
    else:
        console.say("         ", f"host_files by {host_files.daemon()}", "bold")


def _simulator(console: Console) -> bool:
    """Print the state of the extension module; return whether it is built."""
    from schedlab.extension import NotBuilt, extension
    from schedlab.simulation import models

    try:
        extension()
    except NotBuilt as error:
        console.say("simulator", f"{error.what}: {error.todo}", "yellow")
        return False
    shipped = f"{len(models.machine_names())} machines, {len(models.kernel_names())} kernel models"
    console.say("simulator", f"ready ({shipped}: 'schedlab machines list', 'schedlab kernels list')", "bold")
    return True


def _workloads(console: Console) -> None:
    from schedlab.cli.console import table
    from schedlab.workloads import registry
    from schedlab.workloads.base import Tool
    from schedlab.workloads.tools import install_line, missing

    listed = table("workload", "here")
    to_install: list[Tool] = []
    hindered = False
    for name in registry.names():
        absent = missing(registry.adapter(name))
        to_install += absent
        reasons = [] if absent else missing_requirements(registry.adapter(name))
        hindered = hindered or bool(reasons)
        state = f"missing {', '.join(tool.program for tool in absent)}" if absent else "; ".join(reasons)
        listed.add_row(name, state or "ready")
    console.print(listed)
    if to_install:
        lines = install_line(list(dict.fromkeys(to_install))).replace("\n", "\n  ")
        console.print(f"install the missing programs:\n  {lines}", soft_wrap=True)
    elif not hindered:
        console.print("every workload can run here")


def missing_requirements(adapter: AnyAdapter) -> list[str]:
    """Return why the workload cannot run with its default parameters; nothing if it needs further parameters."""
    from pydantic import ValidationError

    try:
        return adapter.missing_requirements(adapter.parameters())
    except ValidationError:
        return []
