"""A guest's CPUs and NUMA nodes, as written behind the ``@`` of a target.

    4x2/4    4 sockets × 2 cores, 4 nodes        1x4      1 socket × 4 cores, 1 node
    2x4x2/2  2 sockets × 4 cores × 2 threads, 2 nodes     (``×`` may be written for ``x``)

CPUs are numbered thread by thread, core by core, socket by socket, and nodes hold equal stretches of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from schedlab.errors import SchedlabError

LOCAL, REMOTE = 10, 20
"""Distances of a node to itself and to others where none are given: the ACPI specification's own (SLIT: 10 is local),
and what the kernel takes for remote (``REMOTE_DISTANCE`` of include/linux/topology.h)."""

FARTHEST = 254
"""Largest distance that means something; 255 is "unreachable" (ACPI, SLIT)."""

MOST_CPUS = 255
"""QEMU's pc machine has no more without an interrupt remapping unit."""

_FORM = re.compile(r"(\d{1,3})[x×](\d{1,3})(?:[x×](\d{1,3}))?(?:/(\d{1,3}))?")


class BadTopology(SchedlabError):
    """A topology that cannot be built."""


@dataclass(frozen=True)
class Topology:
    """Sockets, cores of each, threads of each core, and NUMA nodes over all of them."""

    sockets: int
    cores: int
    threads: int = 1
    nodes: int = 1

    @classmethod
    def parse(cls, text: str) -> Topology:
        """From ``SOCKETSxCORES[xTHREADS][/NODES]``; BadTopology says what is wrong with it."""
        found = _FORM.fullmatch(text.strip())
        if found is None:
            raise BadTopology(f"{text!r} is no topology", todo="write SOCKETSxCORES[xTHREADS][/NODES], such as 4x2/4")
        made = cls(int(found[1]), int(found[2]), int(found[3] or 1), int(found[4] or 1))
        if 0 in (made.sockets, made.cores, made.threads, made.nodes):
            raise BadTopology(f"{text!r} has a zero in it", todo="at least one of each")
        if made.cpus > MOST_CPUS:
            raise BadTopology(f"{text!r} has {made.cpus} CPUs", todo=f"at most {MOST_CPUS}")
        if made.cpus % (made.threads * made.nodes):
            raise BadTopology(
                f"{text!r} shares {made.sockets * made.cores} cores among {made.nodes} nodes",
                todo="a number of nodes that the number of cores can be divided by",
            )
        return made

    def __str__(self) -> str:
        threads = f"x{self.threads}" if self.threads > 1 else ""
        return f"{self.sockets}x{self.cores}{threads}/{self.nodes}"

    @property
    def cpus(self) -> int:
        """How many CPUs."""
        return self.sockets * self.cores * self.threads

    def cpus_of(self, node: int) -> range:
        """The CPUs of a node."""
        each = self.cpus // self.nodes
        return range(node * each, (node + 1) * each)

    def node_of(self, cpu: int) -> int:
        """The node of a CPU."""
        return cpu * self.nodes // self.cpus

    def distances(self, given: Sequence[Sequence[int]] | None = None) -> list[list[int]]:
        """The table of distances between nodes: that given, checked, or 10 and 20; BadTopology says what is wrong."""
        nodes = range(self.nodes)
        if given is None:
            return [[LOCAL if one == other else REMOTE for other in nodes] for one in nodes]
        table = [list(row) for row in given]
        if [len(row) for row in table] != [self.nodes] * self.nodes:
            raise BadTopology(
                f"distances are to be a table of {self.nodes} by {self.nodes}",
                where="distances",
                todo="one row for each node, with its distance to each node",
            )
        for one in nodes:
            for other in nodes:
                value = table[one][other]
                right = value == LOCAL if one == other else LOCAL < value <= FARTHEST
                if not right or value != table[other][one]:
                    raise BadTopology(
                        f"{value} is no distance between nodes {one} and {other}",
                        where="distances",
                        todo=f"{LOCAL} from a node to itself, {LOCAL + 1} to {FARTHEST} to others, the same both ways",
                    )
        return table


DEFAULT = Topology(1, 4)
"""Where none is given."""
