"""CPUs and NUMA nodes of a virtual machine, as written after the ``@`` of a target.

    4x2/4    4 sockets × 2 cores, 4 nodes        1x4      1 socket × 4 cores, 1 node
    2x4x2/2  2 sockets × 4 cores × 2 threads, 2 nodes     (``×`` may be written for ``x``)

CPUs are numbered thread by thread, core by core, socket by socket. All nodes have equal ranges of CPUs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from schedlab.errors import SchedlabError

LOCAL, REMOTE = 10, 20
"""Default distances of a node to itself (ACPI specification, SLIT) and to other nodes (``REMOTE_DISTANCE`` of the
kernel's include/linux/topology.h)."""

FARTHEST = 254
"""Largest distance; 255 means "unreachable" (ACPI, SLIT)."""

MOST_CPUS = 255
"""Largest number of CPUs of QEMU's pc machine without an interrupt remapping unit."""

_FORM = re.compile(r"(\d{1,3})[x×](\d{1,3})(?:[x×](\d{1,3}))?(?:/(\d{1,3}))?")


class BadTopology(SchedlabError):
    """A topology that cannot be built."""


@dataclass(frozen=True)
class Topology:
    """Sockets, cores per socket, threads per core, and the number of NUMA nodes of the machine."""

    sockets: int
    cores: int
    threads: int = 1
    nodes: int = 1

    @classmethod
    def parse(cls, text: str) -> Topology:
        """Parse ``SOCKETSxCORES[xTHREADS][/NODES]``; BadTopology names the fault."""
        match = _FORM.fullmatch(text.strip())
        if match is None:
            raise BadTopology(
                f"{text!r} is not a topology", todo="write SOCKETSxCORES[xTHREADS][/NODES], such as 4x2/4"
            )
        topology = cls(int(match[1]), int(match[2]), int(match[3] or 1), int(match[4] or 1))
        if 0 in (topology.sockets, topology.cores, topology.threads, topology.nodes):
            raise BadTopology(f"{text!r} contains a zero", todo="give at least one of each kind")
        if topology.cpus > MOST_CPUS:
            raise BadTopology(f"{text!r} has {topology.cpus} CPUs", todo=f"at most {MOST_CPUS}")
        if topology.cpus % (topology.threads * topology.nodes):
            raise BadTopology(
                f"{text!r} divides {topology.sockets * topology.cores} cores among {topology.nodes} nodes",
                todo="give a number of nodes that divides the number of cores",
            )
        return topology

    def __str__(self) -> str:
        threads = f"x{self.threads}" if self.threads > 1 else ""
        return f"{self.sockets}x{self.cores}{threads}/{self.nodes}"

    @property
    def cpus(self) -> int:
        """Number of CPUs."""
        return self.sockets * self.cores * self.threads

    def cpus_of(self, node: int) -> range:
        """The CPUs of a node."""
        size = self.cpus // self.nodes
        return range(node * size, (node + 1) * size)

    def node_of(self, cpu: int) -> int:
        """The node of a CPU."""
        return cpu * self.nodes // self.cpus

    def distances(self, distances: Sequence[Sequence[int]] | None = None) -> list[list[int]]:
        """Return the table of node distances: the given table, checked, or 10 and 20. BadTopology names a fault."""
        nodes = range(self.nodes)
        if distances is None:
            return [[LOCAL if node == other else REMOTE for other in nodes] for node in nodes]
        table = [list(row) for row in distances]
        if [len(row) for row in table] != [self.nodes] * self.nodes:
            raise BadTopology(
                f"distances are not a table of {self.nodes} by {self.nodes}",
                where="distances",
                todo="one row for each node, with its distance to each node",
            )
        for node in nodes:
            for other in nodes:
                value = table[node][other]
                in_range = value == LOCAL if node == other else LOCAL < value <= FARTHEST
                if not in_range or value != table[other][node]:
                    raise BadTopology(
                        f"{value} is not a distance between nodes {node} and {other}",
                        where="distances",
                        todo=f"{LOCAL} from a node to itself, {LOCAL + 1} to {FARTHEST} to other nodes, symmetric",
                    )
        return table


DEFAULT = Topology(1, 4)
"""Topology of a virtual machine without a topology in the file."""
