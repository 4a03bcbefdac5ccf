"""The choice of a run's target: the command line's ``--target``, otherwise the file's ``[target]`` table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from schedlab.errors import SchedlabError
from schedlab.experiment.draft import Draft, draft
from schedlab.experiment.model import Experiment
from schedlab.experiment.plan import Plan
from schedlab.experiment.target_table import FOR_BOOTS, TargetTable
from schedlab.experiment.topology import DEFAULT, Topology
from schedlab.targets.host import Host
from schedlab.targets.protocol import Boots, Target
from schedlab.targets.ssh.connection import Address

SIM = "sim:"
VM = "vm:"
SSH = "ssh:"


class UnknownTarget(SchedlabError):
    """A target specification that names no target."""


def table_of(spec: str | None, experiment: Experiment) -> TargetTable:
    """Return the ``[target]`` table for ``--target SPEC``, or the experiment's table for None.

    SPEC is ``host``, ``ssh:[USER@]HOST[:PORT]``, ``sim:MACHINE``, ``sim:MACHINE/KERNEL`` or ``vm:KERNEL[@TOPOLOGY]``.
    A machine or kernel model of the user is a path that ends in ``.toml``. A ``vm:`` target keeps the file's other
    keys of a virtual machine.
    UnknownTarget for any other text.
    """
    if spec is None and experiment.machine:
        spec = machines(None, experiment)[0]
    if spec is None:
        return experiment.target
    if spec == "host":
        return TargetTable()
    if spec.startswith(SSH):
        return _machine(str(Address.parse(spec.removeprefix(SSH))), experiment)
    if spec.startswith(VM):
        return _guest(spec, experiment.target)
    machine, kernel = _split(spec.removeprefix(SIM))
    if not spec.startswith(SIM) or not machine:
        raise UnknownTarget(
            f"{spec!r} is not a target",
            where="--target",
            todo="name host, ssh:[USER@]HOST[:PORT][,HOST…], vm:KERNEL@TOPOLOGY, sim:MACHINE or sim:MACHINE/KERNEL "
            "('schedlab sim machines list', 'schedlab sim kernels list')",
        )
    return TargetTable(kind="sim", machine=machine, kernel=kernel)


def machines(spec: str | None, experiment: Experiment) -> list[str]:
    """Return the targets of a fleet: ``ssh:A,B`` or the file's ``[[machine]]`` tables; [] for a single target.

    BadAddress, UnknownTarget for a machine that is named twice.
    """
    if spec is None:
        return [f"{SSH}{Address.parse(machine.host)}" for machine in experiment.machine]
    if not spec.startswith(SSH) or "," not in spec:
        return []
    named = [f"{SSH}{Address.parse(part.strip())}" for part in spec.removeprefix(SSH).split(",")]
    if twice := [name for name in dict.fromkeys(named) if named.count(name) > 1]:
        raise UnknownTarget(f"{twice[0]} is named twice", where="--target", todo="name each machine once")
    return named


def _machine(host: str, experiment: Experiment) -> TargetTable:
    """Return the table of another machine, with the file's keys for boots: of its ``[[machine]]``, or ``[target]``."""
    table = next((each for each in experiment.machine if str(Address.parse(each.host)) == host), None)
    keys = table or (experiment.target if experiment.target.kind == "ssh" else None)
    kept = keys.model_dump(include=set(FOR_BOOTS)) if keys else {}
    return TargetTable(kind="ssh", host=host).model_copy(update=kept)


def parse_guest(spec: str) -> tuple[str, Topology]:
    """Return kernel name and topology of ``vm:KERNEL[@TOPOLOGY]``; the path of a kernel may contain an ``@``.

    UnknownTarget without a kernel name, BadTopology for a wrong topology.
    """
    rest = spec.removeprefix(VM)
    kernel, at, topology = rest.rpartition("@")
    if at and "/" in topology and not topology[:1].isdecimal():
        kernel, at = rest, ""
    name = kernel if at else rest
    if not name:
        raise UnknownTarget(
            f"{spec!r} names no kernel", todo="write vm:debian-6.12, vm:/path/to/bzImage or vm:tree:FOLDER"
        )
    return name, Topology.parse(topology) if at else DEFAULT


def _guest(spec: str, table: TargetTable) -> TargetTable:
    """The table for a ``vm:`` specification. The file's distances are used if the distances fit the number of nodes."""
    kernel, topology = parse_guest(spec)
    kept = table.model_dump(exclude_unset=True, exclude={"kind", "kernel", "topology"}) if table.kind == "vm" else {}
    if len(kept.get("distances") or ()) != topology.nodes:
        kept.pop("distances", None)
    return TargetTable(kind="vm", kernel=kernel, topology=str(topology), **kept)


def split_simulated(spec: str) -> tuple[str, str | None]:
    """Return machine and kernel, or None for the default kernel, of ``sim:MACHINE`` or ``sim:MACHINE/KERNEL``."""
    return _split(spec.removeprefix(SIM))


def _split(rest: str) -> tuple[str, str | None]:
    """Machine and kernel of ``MACHINE[/KERNEL]``, where a machine's path may contain slashes."""
    match = None if Path(rest).is_file() else re.fullmatch(r"(.+\.toml|[^/]+)/(.+)", rest)
    return (match[1], match[2]) if match else (rest, None)


def choose(spec: str | None, experiment: Experiment, sysroot: Path | None = None) -> Target:
    """Return the target; SchedlabError when the machine model or the kernel model of a simulation does not exist.

    UnknownTarget for several machines.
    """
    if len(named := machines(spec, experiment)) > 1:
        raise UnknownTarget(
            f"the experiment is for {len(named)} machines; only the command 'schedlab run' uses several",
            where="[[machine]]" if spec is None else "--target",
            todo=f"name one of the machines as the target: {named[0]}",
        )
    table = table_of(spec, experiment)
    if table.kind == "host":
        return Host(sysroot) if sysroot else Host()
    if table.kind == "ssh":
        from schedlab.targets.ssh.target import Remote

        assert table.host is not None
        return Remote(table.host, sysroot or Path("/"), table, experiment.variant)
    if sysroot is not None:
        message = "only tunables of host and ssh can be taken from other files"
        raise UnknownTarget(message, where="--sysroot", todo="remove --sysroot, or give --target host or ssh:…")
    # This late import keeps the simulator and the guest machinery out of a run on the host.
    if table.kind == "vm":
        from schedlab.targets.vm import VirtualMachine

        return VirtualMachine(table, experiment.variant)
    from schedlab.simulation import models
    from schedlab.targets.sim import Simulator

    assert table.machine is not None
    kernel = None if table.kernel is None else models.kernel(table.kernel)
    return Simulator(models.machine(table.machine), kernel, experiment.variant)


def boots_of(plan: Plan, table: TargetTable) -> Boots | None:
    """Return the plan's boots on a target, with an estimate of their time; None for a target that boots nothing."""
    if table.kind == "vm":
        from schedlab.targets.vm import machine

        return machine.boots(plan, table)
    if table.kind == "ssh":
        from schedlab.targets.boots import session

        return session.planned(plan)
    return None


def name_of(spec: str | None, experiment: Experiment) -> tuple[str, bool]:
    """Return the target's name and whether its time is virtual, without creating the target."""
    table = table_of(spec, experiment)
    if table.kind == "host":
        return "host", False
    if table.kind == "ssh":
        return f"{SSH}{table.host}", False
    if table.kind == "vm":
        from schedlab.targets.vm import name_of_table

        return name_of_table(table), True
    return f"{SIM}{table.machine}" + (f"/{table.kernel}" if table.kernel else ""), True


def drafted(
    words: list[str],
    variants: list[str],
    *,
    blocks: int | None = None,
    iterations: int | None = None,
    delta: str | None = None,
    target: str | None = None,
    about: dict[str, str] | None = None,
) -> Draft:
    """Return the experiment of the words of a command line; see :func:`schedlab.experiment.draft.draft`.

    A target becomes a ``[target]`` table, so that the text alone repeats the experiment.
    """
    design: dict[str, tuple[str, Any]] = {
        "design.blocks": ("--blocks", blocks),
        "design.iterations": ("--iterations", iterations),
        "analysis.delta": ("--delta", delta),
    }
    plain = draft(words, variants, design, about=about)
    if target is None:
        return plain
    table = table_of(target, plain.parsed())
    return draft(words, variants, design, table.model_dump(exclude_defaults=True), about)
