"""The target's short form: ``vm:KERNEL[@TOPOLOGY]``."""

from __future__ import annotations

from dataclasses import dataclass

from schedlab.errors import SchedlabError
from schedlab.vm.topology import DEFAULT, BadTopology, Topology

PREFIX = "vm:"


class BadSpec(SchedlabError):
    """A short form that names no kernel."""


@dataclass(frozen=True)
class Spec:
    """A kernel by name (see :mod:`schedlab.vm.images`) and the machine that it is booted on."""

    kernel: str
    topology: Topology = DEFAULT

    @classmethod
    def parse(cls, text: str) -> Spec:
        """From ``vm:KERNEL[@TOPOLOGY]``; BadSpec or BadTopology otherwise. A path may hold an ``@`` of its own."""
        rest = text.removeprefix(PREFIX)
        kernel, at, last = rest.rpartition("@")
        if at and "/" in last and not last[:1].isdecimal():
            kernel, at = rest, ""
        topology = Topology.parse(last) if at else DEFAULT
        name = kernel if at else rest
        if not name:
            raise BadSpec(f"{text!r} names no kernel", todo="vm:debian-6.12, vm:/path/to/bzImage or vm:tree:FOLDER")
        return cls(name, topology)

    def __str__(self) -> str:
        return f"{PREFIX}{self.kernel}@{self.topology}"


__all__ = ["PREFIX", "BadSpec", "BadTopology", "Spec"]
