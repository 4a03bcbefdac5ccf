"""``[target]`` and ``[[machine]]``: the places where the trials run."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from schedlab.experiment.topology import DEFAULT, BadTopology, Topology
from schedlab.experiment.values import CommandLine, CommandWords, Limit, MemoryMib, Table, TopologyText

FOR_BOOTS = ("boot_method", "boot_command", "boot_limit", "power", "console")
"""Keys of a target that is another machine."""

BootMethod = Literal["kexec", "grub", "systemd-boot", "command"]
"""Ways to start a kernel under test: see :mod:`schedlab.targets.boots.loaders`."""


def _require_boot_command(method: BootMethod | None, command: str | None) -> None:
    if (method == "command") != (command is not None):
        raise ValueError('boot_method = "command" and boot_command go together')


class TargetTable(Table):
    """``[target]``: where the trials run, unless ``schedlab run --target`` names another target.

    Another machine (``ssh``) has a ``host``, ``[USER@]HOST[:PORT]``, which the user's OpenSSH client reaches. Variants
    with a kernel or a command line boot the other machine, by kexec or through a boot loader (``boot_method``), which a
    command of that machine may control (``boot_command``); ``boot_limit`` is the time in which a kernel has to come up.
    ``power`` is a command of this machine that switches a hanging machine off and on, ``console`` a command that prints
    the console of the other machine all the time.

    A simulated target (``sim``) has a machine model, and a kernel model for variants that name no kernel. A model is
    the name of a shipped model or the path of a TOML file.

    A virtual machine (``vm``) has a topology (``"4x2/4"``), memory for each node, distances between the nodes, and a
    kernel image for variants that name no kernel. A variant's command line is appended to ``cmdline``. ``tools`` are
    programs of this machine that the guest receives; with ``host_files`` the guest can read this machine's file tree.
    ``functions`` counts the instructions of a deterministic guest by kernel function, and ``cache`` names the machine
    model whose caches and cache lines are counted as well.
    """

    kind: Literal["host", "ssh", "sim", "vm"] = "host"
    host: Annotated[str, Field(min_length=1)] | None = None
    boot_method: BootMethod | None = None
    boot_command: Annotated[str, Field(min_length=1)] | None = None
    boot_limit: Limit | None = None
    power: CommandWords | None = None
    console: CommandWords | None = None
    machine: Annotated[str, Field(min_length=1)] | None = None
    kernel: Annotated[str, Field(min_length=1)] | None = None
    topology: TopologyText | None = None
    memory_mib: MemoryMib | None = None
    distances: list[list[int]] | None = None
    accel: Literal["kvm", "tcg"] | None = None
    deterministic: bool = False
    functions: bool = False
    cache: Annotated[str, Field(min_length=1)] | None = None
    cmdline: CommandLine | None = None
    tools: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list)
    host_files: bool = False

    @model_validator(mode="after")
    def _fits(self) -> TargetTable:
        if self.kind == "sim" and self.machine is None:
            raise ValueError("a simulated target needs a machine: 'schedlab sim machines' prints the shipped machines")
        if (self.kind == "ssh") != (self.host is not None):
            raise ValueError('kind = "ssh" needs a host, and no other kind has a host: host = "[USER@]HOST[:PORT]"')
        if self.kind != "ssh" and (keys := sorted(self.model_fields_set & set(FOR_BOOTS))):
            raise ValueError(f'only kind = "ssh" takes: {", ".join(keys)}')
        _require_boot_command(self.boot_method, self.boot_command)
        if self.kind in {"host", "ssh"} and (self.machine or self.kernel):
            raise ValueError(
                'machine and kernel go with kind = "sim" or "vm": host trials use this machine and its kernel'
            )
        vm_only = {"topology", "memory_mib", "distances", "accel", "deterministic", "functions", "cache"}
        vm_only |= {"cmdline", "tools", "host_files"}
        if self.kind != "vm" and (keys := sorted(self.model_fields_set & vm_only)):
            raise ValueError(f'only kind = "vm" takes: {", ".join(keys)}')
        if self.kind == "vm":
            self._check_guest()
        return self

    def _check_guest(self) -> None:
        if self.kernel is None:
            raise ValueError("a virtual machine needs a kernel: debian-6.12, a bzImage's path or tree:FOLDER")
        if self.machine is not None:
            raise ValueError('machine goes with kind = "sim": a virtual machine has a topology')
        if self.deterministic and self.accel == "kvm":
            raise ValueError("a deterministic guest counts instructions, which KVM cannot: remove accel")
        if self.functions and not self.deterministic:
            raise ValueError("functions counts the instructions of a deterministic guest: add deterministic = true")
        if self.cache and not self.functions:
            raise ValueError("cache counts cache lines by kernel function: add functions = true")
        if self.host_files and self.deterministic:
            raise ValueError(
                "host_files answers at the speed of this machine: a deterministic guest cannot use host_files"
            )
        if self.host_files and self.tools:
            raise ValueError("host_files gives the guest every program of this machine: remove tools")
        try:
            topology = Topology.parse(self.topology) if self.topology else DEFAULT
            topology.distances(self.distances)
        except BadTopology as error:
            raise ValueError(f"{error.what}; {error.todo}") from error


class MachineTable(Table):
    """``[[machine]]``: a machine of a fleet, on which the whole experiment runs, with the keys of an ssh target."""

    host: Annotated[str, Field(min_length=1)]
    boot_method: BootMethod | None = None
    boot_command: Annotated[str, Field(min_length=1)] | None = None
    boot_limit: Limit | None = None
    power: CommandWords | None = None
    console: CommandWords | None = None

    @model_validator(mode="after")
    def _fits(self) -> MachineTable:
        _require_boot_command(self.boot_method, self.boot_command)
        return self
