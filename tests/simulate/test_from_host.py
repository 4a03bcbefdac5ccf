"""A machine file of the host has the host's topology, and marks values of other machines."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from schedlab.simulation import models
from schedlab.simulation.errors import ModelError
from schedlab.simulation.host import machine_file, read
from tests.simulate.conftest import Tree


def test_a_recorded_virtual_machine_is_read_without_remarks(recorded: Callable[[str], Path]) -> None:
    # lscpu of the same machine: 1 socket, 2 cores, 1 thread per core, L2 2 MiB (2 instances), L3 32 MiB (1 instance).
    text = machine_file(recorded("kvm-2"), "guest")
    machine = tomllib.loads(text)
    assert (machine["name"], machine["sockets"], machine["nodes_per_socket"], machine["caches_per_node"]) == (
        "guest",
        1,
        1,
        1,
    )
    assert (machine["cores_per_cache"], machine["threads_per_core"]) == (2, 1)
    assert (machine["private_kib"], machine["llc_kib"]) == (1024, 32 * 1024)
    assert "distances" not in machine


def test_costs_are_copied_from_the_nearest_shipped_machine_and_marked(recorded: Callable[[str], Path]) -> None:
    text = machine_file(recorded("kvm-2"))
    assert tomllib.loads(text)["costs"] == models.machine("laptop-4").data["costs"]
    assert "[costs] # laptop-4's, without exception" in text
    assert "NOT measured here" in text
    # The tree has no /boot/config, so hz is copied, with a comment.
    assert "hz = 250 # laptop-4's: this host does not show this value" in text


def test_properties_that_sysfs_lacks_are_copied(recorded: Callable[[str], Path]) -> None:
    machine, nearest = tomllib.loads(machine_file(recorded("kvm-2"))), models.machine("laptop-4").data
    assert machine.keys() | {"threads_per_core", "numbering"} == nearest.keys() | {"threads_per_core", "numbering"}


@pytest.mark.slow
def test_two_epycs_of_four_dies_each_keep_dies_complexes_and_siblings(built: Tree) -> None:
    # EPYC 7451: 24 cores in 4 dies of 2 core complexes of 3 cores; Linux numbers all first threads first. AMD's
    # firmware reports the distances 16 within a package and 32 between packages.
    die = [f"{6 * d}-{6 * d + 5},{48 + 6 * d}-{48 + 6 * d + 5}" for d in range(8)]
    complexes = [f"{3 * c}-{3 * c + 2},{48 + 3 * c}-{48 + 3 * c + 2}" for c in range(16)]
    rows = [" ".join("10" if a == b else "16" if a // 4 == b // 4 else "32" for b in range(8)) for a in range(8)]
    cpuinfo = {
        "proc/cpuinfo": "vendor_id\t: AuthenticAMD\ncpu family\t: 23\nmodel name\t: EPYC 7451\ncpu MHz\t\t: 2300.000"
    }
    root = built(["0-23,48-71", "24-47,72-95"], die, complexes, [f"{c},{c + 48}" for c in range(48)], rows, cpuinfo)
    results = read(root)
    shape = (results.sockets, results.nodes_per_socket, results.caches_per_node, results.cores_per_cache)
    assert (*shape, results.threads_per_core) == (2, 4, 2, 3, 2)
    assert (results.numbering, results.cpus, results.llc_kib, results.private_kib) == ("split", 96, 8192, 512)
    assert results.distances[0] == [10, 16, 16, 16, 32, 32, 32, 32]
    assert results.remarks == ()
    # The Xeon is the most similar machine: two sockets, SMT and a similar clock.
    text = machine_file(root, "epyc")
    assert "[costs] # xeon-e5-2670v3's, without exception" in text
    assert tomllib.loads(text)["reclaim_distance"] == 32


def test_cpu_numbers_that_alternate_between_nodes_get_a_remark(built: Tree) -> None:
    root = built(["0,2", "1,3"], ["0,2", "1,3"], ["0,2", "1,3"], ["0", "1", "2", "3"], ["10 21", "21 10"])
    assert read(root).distances == [[10, 21], [21, 10]]
    assert "# CPU numbers are the model's, node by node" in machine_file(root, "alternating")


def test_clusters_of_cores_get_a_key_and_other_clusters_do_not(built: Tree) -> None:
    # Eight cores under two caches. Without clusters the kernel shows the CPUs of a core, of a cache or of a socket.
    caches, cores = ["0-3", "4-7"], [str(cpu) for cpu in range(8)]

    def clusters(of: list[str]) -> tuple[int | None, bool]:
        root = built(["0-7"], ["0-7"], caches, cores, clusters=of)
        return read(root).cores_per_cluster, "cores_per_cluster = 2\n" in machine_file(root)

    assert clusters(["0-1", "2-3", "4-5", "6-7"]) == (2, True)
    assert [clusters(of) for of in (caches, cores, ["0-7"])] == [(None, False)] * 3
    # A kernel before 5.16 has no such file, and some kernels an empty one.
    for cpu in range(8):
        (
            built(["0-7"], ["0-7"], caches, cores) / f"sys/devices/system/cpu/cpu{cpu}/topology/cluster_cpus_list"
        ).unlink()
    assert clusters([]) == (None, False)


def test_clusters_of_unequal_sizes_are_refused(built: Tree) -> None:
    root = built(["0-5"], ["0-5"], ["0-5"], [str(cpu) for cpu in range(6)], clusters=["0-1", "2-5"])
    with pytest.raises(ModelError, match=r"clusters have different numbers of cores \(2, 4\)"):
        read(root)


def test_a_host_without_clusters_does_not_get_those_of_the_nearest_machine(built: Tree) -> None:
    arm = {"proc/cpuinfo": "CPU implementer\t: 0x48\nmodel name\t: Kunpeng-920\ncpu MHz\t\t: 2600.000"}
    nodes, cores = ["0-15", "16-31", "32-47", "48-63"], [str(cpu) for cpu in range(64)]
    rows = ["10 12 20 22", "12 10 22 24", "20 22 10 12", "22 24 12 10"]
    text = machine_file(built(["0-31", "32-63"], nodes, nodes, cores, rows, arm))
    assert "[costs] # kunpeng920's, without exception" in text
    assert "cores_per_cluster" not in tomllib.loads(text)


def test_nodes_without_cpus_are_ignored(built: Tree) -> None:
    files = {"sys/devices/system/node/node2/cpulist": "", "sys/devices/system/node/node2/distance": "17 28 10"}
    rows = ["10 20 17", "20 10 28"]
    results = read(built(["0", "1"], ["0", "1"], ["0", "1"], ["0", "1"], rows, files))
    assert results.distances == [[10, 20], [20, 10]]


def test_an_asymmetric_machine_is_refused_with_the_numbers(built: Tree) -> None:
    root = built(["0-3"], ["0-3"], ["0-3"], ["0,1", "2", "3"])
    with pytest.raises(ModelError, match=r"different numbers of threads \(2, 1\)"):
        read(root)


def test_a_tree_without_topology_is_refused_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="online"):
        read(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", models.machine_names())
def test_every_shipped_machine_can_be_made_from_its_own_topology(name: str, built: Tree) -> None:
    """Read a tree with the numbering of the model: counts and numbering are equal, and there is no remark."""
    data = models.machine(name).data
    threads, cores = data.get("threads_per_core", 1), models.machine(name).cpus // data.get("threads_per_core", 1)
    split = data.get("numbering", "adjacent") == "split"

    def cpus(first: int, number: int) -> str:
        of_core = [[c + t * cores if split else c * threads + t for t in range(threads)] for c in range(cores)]
        return ",".join(str(cpu) for core in of_core[first : first + number] for cpu in core)

    def groups(size: int) -> list[str]:
        return [cpus(first, size) for first in range(0, cores, size)]

    per_node = data["caches_per_node"] * data["cores_per_cache"]
    nodes = data["sockets"] * data["nodes_per_socket"]
    rows = [" ".join("10" if a == b else "20" for b in range(nodes)) for a in range(nodes)]
    sizes = (per_node * data["nodes_per_socket"], per_node, data["cores_per_cache"], 1)
    packages, in_nodes, caches, single = map(groups, sizes)
    clusters = groups(data["cores_per_cluster"]) if "cores_per_cluster" in data else []
    results = read(built(packages, in_nodes, caches, single, rows, clusters=clusters))
    assert results.cores_per_cluster == data.get("cores_per_cluster")
    for key in ("sockets", "nodes_per_socket", "caches_per_node", "cores_per_cache"):
        assert getattr(results, key) == data[key], key
    assert (results.threads_per_core, results.numbering) == (threads, data.get("numbering", "adjacent"))
    assert results.remarks == ()
