"""``schedlab doctor --target ssh:HOST``: the capabilities of another machine. Nothing is changed there.

The agent that reads the machine works in a private folder, which it deletes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from schedlab.cli.examination import Check, Examination, Readiness, machine_checks, tunable_checks, workload_checks
from schedlab.errors import CannotRunHere
from schedlab.targets.boots import machine
from schedlab.targets.boots.grub import Grub
from schedlab.targets.boots.shell import Shell, Unreachable
from schedlab.targets.boots.systemd_boot import NOT_STARTED, SystemdBoot
from schedlab.targets.ssh.agent import Agent
from schedlab.targets.ssh.target import Remote
from schedlab.workloads.base import Tool


def examine(address: str) -> Examination:
    """Examine the machine at an address. Unreachable without a connection.

    A machine that cannot run schedload has no workloads.
    """
    target = Remote(address)
    with closing(target):
        checks: list[Check] = []
        workloads: list[Readiness] = []
        missing: list[Tool] = []
        try:
            agent = target.reached()
        except Unreachable:
            raise
        except CannotRunHere as error:
            checks.append(Check("schedload", _sentence(error.what, error.todo), "limited"))
        else:
            checks += _system(target, agent)
            workloads, missing = workload_checks(agent)
        return Examination([*checks, *boot_checks(target.connected(), target.name)], workloads, missing, target.name)


def _system(target: Remote, agent: Agent) -> Iterator[Check]:
    """Yield everything about the running system that an agent can see."""
    is_root = agent.facts.uid == 0
    yield Check("schedload", f"runs there: Linux {agent.facts.machine}")
    yield from machine_checks(target, is_root=is_root)
    if not is_root:
        yield Check("rights", f"log in as root: --target ssh:root@{target.name[4:].rpartition('@')[2]}", "limited")
    yield from _journals(agent)
    yield from tunable_checks(target.system(agent))


def _journals(agent: Agent) -> Iterator[Check]:
    """Yield the journals of live and of killed runs."""
    place = agent.facts.journals
    damaged, open_ = (len(agent.read([f"{place}/{part}*.journal"])[0]) for part in ("damaged/", ""))
    if open_:
        text = f"{open_} of runs that are alive or were killed: the next run puts the values of killed runs back"
        yield Check("journals", text)
    if damaged:
        text = f"{damaged} damaged, kept in {place}/damaged: compare their values, then delete them"
        yield Check("journals", text, "limited")


def boot_checks(shell: Shell, where: str) -> Iterator[Check]:
    """Yield whether the machine can start kernels by kexec, and once through its boot loader."""
    facts = machine.facts(shell)
    try:
        machine.require_other_machine(facts.seen, where)
    except CannotRunHere as error:
        yield Check("boots", _sentence(error.what, error.todo), "limited")
    every = list(facts.faults(kexec=False))
    for fault in every:
        yield Check("boots", _sentence(*fault), "limited")
    of_kexec = [fault for fault in facts.faults() if fault not in every]
    for fault in of_kexec:
        yield Check("kexec", _sentence(*fault), "limited")
    if not of_kexec:
        yield Check("kexec", "ready: kernels can be started by kexec" if not every else "the kernel offers kexec")
    yield _boot_once(shell, where)


def _boot_once(shell: Shell, where: str) -> Check:
    """Return which boot loader can start an entry once, or what GRUB lacks on a machine without systemd-boot."""
    faults: list[CannotRunHere] = []
    for method, loader in (("systemd-boot", SystemdBoot), ("grub", Grub)):
        try:
            loader(shell, where)
        except CannotRunHere as error:
            faults.append(error)
        else:
            return Check("boot once", f'ready: an entry can be started once (boot_method = "{method}")')
    of_systemd_boot, of_grub = faults
    fault = of_grub if of_systemd_boot.what == NOT_STARTED else of_systemd_boot
    return Check("boot once", _sentence(fault.what, fault.todo), "limited")


def _sentence(reason: str, remedy: str) -> str:
    return f"{reason}: {remedy}" if remedy else reason
