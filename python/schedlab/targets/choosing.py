"""Which target a run is on: what the command line says, else what the file says."""

from __future__ import annotations

import re
from pathlib import Path

from schedlab.errors import SchedlabError
from schedlab.experiment.model import Experiment, TargetTable
from schedlab.targets.host import Host
from schedlab.targets.protocol import Target
from schedlab.vm.spec import PREFIX, Spec

SIM = "sim:"
VM = PREFIX


class UnknownTarget(SchedlabError):
    """A target that is not one of those there are."""


def table_of(spec: str | None, experiment: Experiment) -> TargetTable:
    """The ``[target]`` table that ``--target SPEC`` stands for; the experiment's own without one.

    ``host``, ``sim:MACHINE`` or ``sim:MACHINE/KERNEL``; a machine or kernel of one's own is a path that ends in
    ``.toml``. ``vm:KERNEL[@TOPOLOGY]``: what else the file says of a virtual machine stays. UnknownTarget when it is
    none of these.
    """
    if spec is None:
        return experiment.target
    if spec == "host":
        return TargetTable()
    if spec.startswith(VM):
        return _guest(spec, experiment.target)
    machine, kernel = _split(spec.removeprefix(SIM))
    if not spec.startswith(SIM) or not machine:
        raise UnknownTarget(
            f"{spec!r} is no target",
            where="--target",
            todo="host, vm:KERNEL@TOPOLOGY, sim:MACHINE or sim:MACHINE/KERNEL "
            "('schedlab machines list', 'schedlab kernels list')",
        )
    return TargetTable(kind="sim", machine=machine, kernel=kernel)


def _guest(spec: str, table: TargetTable) -> TargetTable:
    """A virtual machine by its short form; a topology of another number of nodes has its own distances."""
    asked = Spec.parse(spec)
    kept = table.model_dump(exclude_unset=True, exclude={"kind", "kernel", "topology"}) if table.kind == "vm" else {}
    if len(kept.get("distances") or ()) != asked.topology.nodes:
        kept.pop("distances", None)
    return TargetTable(kind="vm", kernel=asked.kernel, topology=str(asked.topology), **kept)


def _split(rest: str) -> tuple[str, str | None]:
    """Machine and kernel; a path's own slashes belong to it."""
    match = None if Path(rest).is_file() else re.fullmatch(r"(.+\.toml|[^/]+)/(.+)", rest)
    return (match[1], match[2]) if match else (rest, None)


def choose(spec: str | None, experiment: Experiment, sysroot: Path | None = None) -> Target:
    """The target; SchedlabError when there is none like that."""
    table = table_of(spec, experiment)
    if table.kind == "host":
        return Host(sysroot) if sysroot else Host()
    if sysroot is not None:
        raise UnknownTarget("only the host's tunables can be taken from other files", where="--sysroot")
    if table.kind == "vm":
        from schedlab.targets.vm import VirtualMachine

        return VirtualMachine(table, experiment.variant)
    # Only here: what a simulation needs is nothing to a run on the host.
    from schedlab.simulation import models
    from schedlab.targets.sim import Simulator

    assert table.machine is not None
    kernel = None if table.kernel is None else models.kernel(table.kernel)
    return Simulator(models.machine(table.machine), kernel, experiment.variant)


def name_of(spec: str | None, experiment: Experiment) -> tuple[str, bool]:
    """The target's name, and whether its time is virtual, without making it."""
    table = table_of(spec, experiment)
    if table.kind == "host":
        return "host", False
    if table.kind == "vm":
        from schedlab.targets.vm import name_of_table

        return name_of_table(table), True
    return f"{SIM}{table.machine}" + (f"/{table.kernel}" if table.kernel else ""), True
