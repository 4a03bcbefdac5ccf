"""``schedlab doctor``: the capabilities of this machine or of another machine, with remedies for missing programs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schedlab.cli.answering import AnswerForm, AnswerFormat, present
from schedlab.cli.examination import Check, Examination, Readiness, machine_checks, tunable_checks, workload_checks
from schedlab.cli.options import Output, SshConfig
from schedlab.errors import SchedlabError

if TYPE_CHECKING:
    from schedlab.workloads.base import Tool


def doctor(
    form: AnswerForm = AnswerFormat.TEXT,
    output: Output = None,
    target: Annotated[
        str, typer.Option("--target", metavar="TARGET", help="host, or another machine: ssh:[USER@]HOST[:PORT].")
    ] = "host",
    ssh_config: SshConfig = None,
    quiet: Annotated[
        str | None,
        typer.Option(
            "--quiet",
            metavar="CPUS",
            help="Show instead what disturbs tasks on these CPUs (3, 2-3), and remedies.",
        ),
    ] = None,
    noise: Annotated[
        Path | None,
        typer.Option(
            "--noise",
            metavar="FILE",
            help="With --quiet, also show the gain of each remedy, by a file of 'schedlab noise --format json'.",
        ),
    ] = None,
) -> None:
    """Show the capabilities of this machine or of another, and the commands that install missing programs.

    With --quiet CPUS, show what may interrupt a task on these CPUs, how often it did in the last seconds, and the
    command or boot parameter that ends it. Nothing is changed, here or there.
    """
    from schedlab.cli.json_output import print_json

    if ssh_config is not None:
        os.environ["SCHEDLAB_SSH_CONFIG"] = str(ssh_config)
    if quiet is not None:
        from schedlab.cli.quiet_doctor import examine_quiet

        present(examine_quiet(quiet, _checked(target), noise), form, output)
        return
    if noise is not None:
        raise SchedlabError("gains belong to CPUs", where="--noise", todo="name the measured CPUs: --quiet 3")
    if form not in (AnswerFormat.TEXT, AnswerFormat.JSON) or output is not None:
        raise SchedlabError("only the answer about CPUs is a page or a file", todo="name the CPUs: --quiet 3")
    examined = _here() if _checked(target) == "host" else _there(target)
    if form is AnswerFormat.JSON:
        print_json({"checks": list(map(vars, examined.checks)), "workloads": list(map(vars, examined.workloads))})
    else:
        _print(examined)


def _here() -> Examination:
    """Examine this machine."""
    from schedlab.targets.host import Host
    from schedlab.tunables import System

    checks = [*machine_checks(Host(), is_root=os.geteuid() == 0), *_journals(), *tunable_checks(System())]
    checks += [*_sched_ext(), *_guests(), *_simulator()]
    is_built = checks[-1].state == "fine"
    return Examination(checks, *(_workloads() if is_built else ([], [])))


def _checked(target: str) -> str:
    """Return the target; UnknownTarget unless the target is a machine."""
    from schedlab.targets.selection import SSH, UnknownTarget

    if target != "host" and not target.startswith(SSH):
        todo = "name host or ssh:[USER@]HOST[:PORT]; kernels and models need no examination"
        raise UnknownTarget(f"{target!r} is not a machine", where="--target", todo=todo)
    return target


def _there(target: str) -> Examination:
    """Examine the machine of an ssh target."""
    from schedlab.cli.console import make
    from schedlab.cli.interruption import INTERRUPTED, ending
    from schedlab.cli.remote_doctor import examine
    from schedlab.targets.selection import SSH

    with ending(make(stderr=True), INTERRUPTED):
        return examine(target.removeprefix(SSH))


def _print(examined: Examination) -> None:
    from schedlab.cli.console import make, table

    console = make()
    before = ""
    for check in examined.checks:
        # A second line about the same guests continues the first.
        subject = "" if check.subject == before == "guests" else check.subject
        console.say(f"{subject:<9}", check.text, "bold" if check.state == "fine" else "yellow")
        before = check.subject
    if not examined.workloads:
        return
    listed = table("workload", "there" if examined.where else "here")
    for workload in examined.workloads:
        listed.add_row(workload.name, workload.text)
    console.print(listed)
    place = f"on {examined.where}" if examined.where else "here"
    if examined.missing:
        from schedlab.workloads.tools import install_line

        on = f" {place}" if examined.where else ""
        console.print(f"install the missing programs{on}:")
        for line in install_line(examined.missing).splitlines():
            console.say(" ", line)
    elif not any(workload.reasons for workload in examined.workloads):
        console.print(f"every workload can run {place}")


def _journals() -> Iterator[Check]:
    """Yield where damaged journals of killed runs are kept."""
    from schedlab.files import folders
    from schedlab.tunables.journal.recovery import kept_damaged

    if damaged := kept_damaged(folders.journals()):
        place = damaged[0].parent
        text = f"{len(damaged)} damaged, kept in {place}: compare their values, then delete them"
        yield Check("journals", text, "limited")


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
    yield Check("simulator", f"ready ({shipped}: 'schedlab sim machines list', 'schedlab sim kernels list')")


def _workloads() -> tuple[list[Readiness], list[Tool]]:
    from schedlab.tunables.journal.local import LocalAgent

    with closing(LocalAgent()) as agent:
        return workload_checks(agent)
