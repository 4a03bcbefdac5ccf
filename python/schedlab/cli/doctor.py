"""``schedlab doctor``: the capabilities of this machine, and remedies for missing ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from schedlab.cli.options import GivenFormat, OutputFormat

if TYPE_CHECKING:
    from schedlab.workloads.base import AnyAdapter


@dataclass(frozen=True)
class Check:
    """A fact about this machine. ``limited``: a feature cannot be used here; the text gives the reason or the
    remedy."""

    subject: str
    text: str
    state: Literal["fine", "limited"] = "fine"


@dataclass(frozen=True)
class Readiness:
    """Missing requirements of a workload: programs, with the command that installs the programs, or others."""

    name: str
    missing: list[str]
    reasons: list[str]
    install: str

    @property
    def text(self) -> str:
        """A short description of the state."""
        return f"missing {', '.join(self.missing)}" if self.missing else "; ".join(self.reasons) or "ready"


def doctor(form: GivenFormat = OutputFormat.TEXT) -> None:
    """Show the capabilities of this machine, and the commands that install missing programs."""
    from schedlab.cli.json_output import print_json

    checks = [*_machine(), *_journals(), *_tunables(), *_sched_ext(), *_guests(), *_simulator()]
    is_built = checks[-1].state == "fine"
    workloads = list(_workloads()) if is_built else []
    if form is OutputFormat.JSON:
        print_json({"checks": list(map(vars, checks)), "workloads": list(map(vars, workloads))})
    else:
        _print(checks, workloads)


def _print(checks: list[Check], workloads: list[Readiness]) -> None:
    from schedlab.cli.console import make, table

    console = make()
    before = ""
    for check in checks:
        # A second line about the same guests continues the first.
        subject = "" if check.subject == before == "guests" else check.subject
        console.say(f"{subject:<9}", check.text, "bold" if check.state == "fine" else "yellow")
        before = check.subject
    if not workloads:
        return
    listed = table("workload", "here")
    for workload in workloads:
        listed.add_row(workload.name, workload.text)
    console.print(listed)
    if any(workload.missing for workload in workloads):
        console.print(f"install the missing programs:\n  {_install_all()}", soft_wrap=True)
    elif not any(workload.reasons for workload in workloads):
        console.print("every workload can run here")


def _machine() -> Iterator[Check]:
    from schedlab.targets.host import Host

    target = Host()
    fingerprint = target.fingerprint()
    kernel, cpu = fingerprint["kernel"], fingerprint["cpu"]
    guest = ", a virtual machine" if fingerprint["virtualisation"]["virtualised"] else ""
    yield Check("machine", f"{target.fingerprint_hash(fingerprint)}{guest}")
    yield Check("CPUs", f"{fingerprint['topology']['cpus']} × {cpu.get('model', 'unknown model')}")
    yield Check("kernel", f"{kernel['release']}, clock source {kernel['clocksource']}")
    if os.geteuid() != 0:
        yield Check("user", "not root: most tunables cannot be written")


def _journals() -> Iterator[Check]:
    """Yield where damaged journals of killed runs are kept."""
    from schedlab.files import folders
    from schedlab.tunables.journal.journal_file import SUFFIX
    from schedlab.tunables.journal.undo import DAMAGED

    place = folders.journals() / DAMAGED
    if number := len(list(place.glob(f"*{SUFFIX}"))):
        yield Check("journals", f"{number} damaged, kept in {place}: compare their values, then delete them", "limited")


def _tunables() -> Iterator[Check]:
    """Yield the number of writable tunables, and each reason why a tunable is not writable."""
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
    yield Check("tunables", f"{summary} ('schedlab tunables list' shows them)")
    for reason, number in reasons.items():
        yield Check("refused", f"{number}: {reason}", "limited")


def _sched_ext() -> Iterator[Check]:
    """Yield whether a variant's sched_ext scheduler can be loaded, and reasons why not."""
    from schedlab.targets.sched_ext.requirements import faults
    from schedlab.tunables import System

    reasons = [reason for reason, _ in faults(System())]
    state = "; ".join(reasons) or "ready: a variant may load a scheduler"
    yield Check("sched_ext", state, "limited" if reasons else "fine")


def _guests() -> Iterator[Check]:
    """Yield whether kernels can be booted here, and how realistic their speed is."""
    from schedlab.targets.vm import host_files, initramfs, qemu

    absent = {qemu.PACKAGE: qemu.program() is None, initramfs.BUSYBOX_PACKAGE: initramfs.busybox() is None}
    if packages := [package for package, is_absent in absent.items() if is_absent]:
        yield Check("guests", f"cannot be booted: apt-get install {' '.join(packages)}", "limited")
        return
    how = "KVM" if qemu.kvm_usable() else "emulation: a kernel behaves as on real hardware, but its timing differs"
    yield Check("guests", f"ready by QEMU {qemu.version()}, {how}")
    if fault := host_files.fault():
        yield Check("guests", f"without host_files: {fault[0]}: {fault[1]}", "limited")
    else:
        yield Check("guests", f"host_files by {host_files.daemon()}")


def _simulator() -> Iterator[Check]:
    """Yield the state of the extension module."""
    from schedlab.extension import NotBuilt, extension
    from schedlab.simulation import models

    try:
        extension()
    except NotBuilt as error:
        yield Check("simulator", f"{error.what}: {error.todo}", "limited")
        return
    shipped = f"{len(models.machine_names())} machines, {len(models.kernel_names())} kernel models"
    yield Check("simulator", f"ready ({shipped}: 'schedlab machines list', 'schedlab kernels list')")


def _workloads() -> Iterator[Readiness]:
    from schedlab.workloads import registry
    from schedlab.workloads.tools import install_line, missing

    for name in registry.names():
        adapter = registry.adapter(name)
        absent = missing(adapter)
        reasons = [] if absent else missing_requirements(adapter)
        programs = [tool.program for tool in absent]
        yield Readiness(name, programs, reasons, install_line(absent) if absent else "")


def _install_all() -> str:
    """Return the commands that install every missing program, indented."""
    from schedlab.workloads import registry
    from schedlab.workloads.tools import install_line, missing

    tools = [tool for name in registry.names() for tool in missing(registry.adapter(name))]
    return install_line(list(dict.fromkeys(tools))).replace("\n", "\n  ")


def missing_requirements(adapter: AnyAdapter) -> list[str]:
    """Return why the workload cannot run with its default parameters; an empty text if the workload needs further
    parameters."""
    from pydantic import ValidationError

    try:
        return adapter.missing_requirements(adapter.parameters())
    except ValidationError:
        return []
