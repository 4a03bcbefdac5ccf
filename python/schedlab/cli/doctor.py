"""``schedlab doctor``: what this machine can run, and what would mend the rest."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schedlab.cli.console import Console
    from schedlab.workloads.base import AnyAdapter


def doctor() -> None:
    """Tell what this machine can run, and the command that mends what is missing."""
    from schedlab.cli.console import make
    from schedlab.cli.recovery import recover

    console = make()
    recover(console)
    _machine(console)
    _tunables(console)
    _sched_ext(console)
    _guests(console)
    _simulator(console)
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


def _tunables(console: Console) -> None:
    """How many tunables can be written, and each reason why others cannot, once."""
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
    told = ", ".join(f"{number} {what}" for what, number in counts.items())
    console.say("tunables ", f"{told} ('schedlab tunables list' names them)", "bold")
    for reason, number in reasons.items():
        console.say("refused  ", f"{number}: {reason}", "yellow")


def _sched_ext(console: Console) -> None:
    """Whether a variant's sched_ext scheduler could be loaded, and else why not."""
    from schedlab.targets.sched_ext.check import faults
    from schedlab.tunables import System

    reasons = [reason for reason, _ in faults(System())]
    told = "; ".join(reasons) or "ready: a variant may load a scheduler"
    console.say("sched_ext", told, "yellow" if reasons else "bold")


def _guests(console: Console) -> None:
    """Whether kernels can be booted here, and how fast their CPUs would be."""
    from schedlab.vm import packing, qemu, sharing

    lacking = {qemu.PACKAGE: qemu.program() is None, packing.BUSYBOX_PACKAGE: packing.busybox() is None}
    if wanted := [package for package, absent in lacking.items() if absent]:
        console.say("guests   ", f"cannot be booted: apt-get install {' '.join(wanted)}", "yellow")
        return
    how = "KVM" if qemu.kvm_usable() else "emulation: right in what a kernel does, wrong in how long it takes"
    console.say("guests   ", f"ready by QEMU {qemu.version()}, {how}", "bold")
    if fault := sharing.fault():
        console.say("         ", f"without host_files: {fault[0]}: {fault[1]}", "yellow")
    else:
        console.say("         ", f"host_files by {sharing.daemon()}", "bold")


def _simulator(console: Console) -> None:
    from schedlab.simulation import models
    from schedlab.simulation.errors import NotBuilt
    from schedlab.simulation.native import extension

    try:
        extension()
    except NotBuilt as error:
        console.say("simulator", f"{error.what}: {error.todo}", "yellow")
        return
    shipped = f"{len(models.machine_names())} machines, {len(models.kernel_names())} kernel models"
    console.say("simulator", f"ready ({shipped}: 'schedlab machines list', 'schedlab kernels list')", "bold")


def _workloads(console: Console) -> None:
    from rich.table import Table

    from schedlab.workloads import registry
    from schedlab.workloads.base import Tool
    from schedlab.workloads.tools import install_line, missing

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("workload")
    table.add_column("here", overflow="fold")
    lacking: list[Tool] = []
    hindered = False
    for name in registry.names():
        absent = missing(registry.adapter(name))
        lacking += absent
        in_the_way = [] if absent else obstacles(registry.adapter(name))
        hindered = hindered or bool(in_the_way)
        told = f"missing {', '.join(tool.program for tool in absent)}" if absent else "; ".join(in_the_way)
        table.add_row(name, told or "ready")
    console.print(table)
    if lacking:
        lines = install_line(list(dict.fromkeys(lacking))).replace("\n", "\n  ")
        console.print(f"install what is missing:\n  {lines}", soft_wrap=True)
    elif not hindered:
        console.print("every workload can run here")


def obstacles(adapter: AnyAdapter) -> list[str]:
    """What keeps the workload from running with its default parameters; nothing where some must be given."""
    from pydantic import ValidationError

    try:
        return adapter.missing_requirements(adapter.parameters())
    except ValidationError:
        return []
