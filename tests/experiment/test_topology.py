"""Topologies and the target's short form: parsing, and messages for topologies that cannot be built."""

from __future__ import annotations

import pytest

from schedlab.errors import SchedlabError
from schedlab.experiment.topology import BadTopology, Topology
from schedlab.targets.selection import parse_guest


def test_sockets_cores_threads_and_nodes_are_read() -> None:
    assert Topology.parse("4x2/4") == Topology(4, 2, 1, 4)
    assert Topology.parse("2×4×2/2") == Topology(2, 4, 2, 2)
    assert Topology.parse("1x8") == Topology(1, 8)


@pytest.mark.parametrize("text", ["", "4", "4x", "x2", "0x2", "4x2/3", "4x2/0", "64x8", "2x2x2/8", "4x2/4/4"])
def test_a_topology_that_cannot_be_built_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(BadTopology) as refused:
        Topology.parse(text)
    assert refused.value.todo


def test_every_cpu_is_on_the_node_that_names_it() -> None:
    assert [str(Topology.parse(text)) for text in ("2x4", "2x4x1/2", "2x4x2/1")] == ["2x4/1", "2x4/2", "2x4x2/1"]
    topology = Topology.parse("4x3/6")
    assert [list(topology.cpus_of(node)) for node in range(6)] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]]
    assert all(cpu in topology.cpus_of(topology.node_of(cpu)) for cpu in range(topology.cpus))


def test_distances_are_checked_against_the_nodes() -> None:
    topology = Topology.parse("2x1/2")
    assert topology.distances() == [[10, 20], [20, 10]]
    assert topology.distances([[10, 31], [31, 10]]) == [[10, 31], [31, 10]]
    for wrong in ([[10]], [[10, 20]], [[10, 20], [21, 10]], [[20, 20], [20, 10]], [[10, 10], [10, 10]]):
        with pytest.raises(BadTopology):
            topology.distances(wrong)


@pytest.mark.parametrize(
    ("text", "kernel", "topology"),
    [
        ("vm:debian-6.12@4x2/4", "debian-6.12", Topology(4, 2, 1, 4)),
        ("vm:debian-6.1", "debian-6.1", Topology(1, 4)),
        ("vm:/srv/a@b/bzImage", "/srv/a@b/bzImage", Topology(1, 4)),
        ("vm:/srv/a@b/bzImage@1x2", "/srv/a@b/bzImage", Topology(1, 2)),
        ("vm:tree:/src/linux@2x2/2", "tree:/src/linux", Topology(2, 2, 1, 2)),
    ],
)
def test_the_short_form_names_kernel_and_topology(text: str, kernel: str, topology: Topology) -> None:
    assert parse_guest(text) == (kernel, topology)


@pytest.mark.parametrize("text", ["vm:", "vm:@4x2", "vm:debian-6.12@", "vm:debian-6.12@4by2"])
def test_a_wrong_short_form_is_refused(text: str) -> None:
    with pytest.raises(SchedlabError):
        parse_guest(text)
