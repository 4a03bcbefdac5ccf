"""The host's topology from sysfs, in the form of a machine model: sockets, nodes, caches, clusters, cores, threads.

Documentation/admin-guide/cputopology.rst, Documentation/ABI/stable/sysfs-devices-node and
Documentation/ABI/testing/sysfs-devices-system-cpu describe the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from schedlab.notation.cpulist import parse_cpu_list
from schedlab.simulation.errors import ModelError

Cpus = frozenset[int]


@dataclass(frozen=True)
class Topology:
    """The number of units at each level.

    ``remarks`` list differences to the host. None where sysfs has no value, and for ``cores_per_cluster`` where cores
    form no clusters.
    """

    sockets: int
    nodes_per_socket: int
    caches_per_node: int
    cores_per_cache: int
    cores_per_cluster: int | None
    threads_per_core: int
    numbering: str
    distances: list[list[int]]
    private_kib: int | None
    llc_kib: int | None
    remarks: tuple[str, ...]

    @property
    def nodes(self) -> int:
        """NUMA nodes."""
        return self.sockets * self.nodes_per_socket

    @property
    def cpus(self) -> int:
        """CPUs."""
        return self.nodes * self.caches_per_node * self.cores_per_cache * self.threads_per_core


def read(root: Path) -> Topology:
    """Read the topology below ``root``. ModelError when the folder does not exist, or when units of one level
    differ."""
    folder = root / "sys/devices/system/cpu"
    try:
        online = parse_cpu_list((folder / "online").read_text())
        return _shaped(root, folder, online)
    except (OSError, ValueError) as error:
        where = getattr(error, "filename", None) or str(folder)
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ModelError(f"the topology cannot be read: {reason}", where=where, todo=_BY_HAND) from error


_BY_HAND = "write a machine file by hand; 'schedlab sim machines show NAME' prints an example"


def _shaped(root: Path, folder: Path, online: list[int]) -> Topology:
    remarks: list[str] = []
    cores = _sets(_siblings(folder, cpu, online) for cpu in online)
    packages = _packages(folder, online)
    nodes, distances = _nodes(root, online)
    sockets = packages
    if not _inside(nodes, packages):
        sockets = nodes
        remarks.append(f"{len(packages)} packages share {len(nodes)} NUMA nodes: the model has a socket for each node")
    private, llc = _caches(folder, online, cores)
    shared = _sets(cpus for cpus, _ in llc.values()) if llc else nodes
    if not llc:
        remarks.append("sysfs shows no shared cache: the model has a cache for each node")
    if not _inside(shared, nodes):
        shared = nodes
        remarks.append("a last-level cache spans NUMA nodes: the model has a cache for each node")
    counts = {
        "nodes_per_socket": _each(sockets, nodes, "sockets", "NUMA nodes"),
        "caches_per_node": _each(nodes, shared, "NUMA nodes", "last-level caches"),
        "cores_per_cache": _each(shared, cores, "last-level caches", "cores"),
        "threads_per_core": _each(cores, [frozenset({cpu}) for cpu in online], "cores", "threads"),
    }
    clusters = _clusters(folder, online, cores, shared)
    numbering = "adjacent" if all(max(core) - min(core) == len(core) - 1 for core in cores) else "split"
    if _model_nodes(len(nodes), len(cores), counts["threads_per_core"], numbering) != nodes:
        remarks.append("CPU numbers are the model's, node by node: this host distributes its CPU numbers differently")
    if len(nodes) > 1 and not _is_plausible(distances):
        distances = []
        remarks.append("the distances between nodes are not plausible: the model uses 20 for each distance")
    return Topology(
        sockets=len(sockets),
        **counts,
        cores_per_cluster=_each(clusters, cores, "clusters", "cores") if clusters else None,
        numbering=numbering,
        distances=distances if len(nodes) > 1 else [],
        private_kib=private,
        llc_kib=max(size for _, size in llc.values()) if llc else None,
        remarks=tuple(remarks),
    )


def _sets(sets: Iterable[Cpus]) -> list[Cpus]:
    """Each set once, ordered by its first CPU."""
    return sorted(set(sets), key=min)


def _inside(inner: list[Cpus], outer: list[Cpus]) -> bool:
    return all(any(small <= large for large in outer) for small in inner)


def _each(outer: list[Cpus], inner: list[Cpus], of: str, unit: str) -> int:
    """The number of inner units in each outer unit; ModelError when the number is not the same for all."""
    numbers = [sum(small <= large for small in inner) for large in outer]
    if len(set(numbers)) > 1 or numbers[0] == 0:
        counts = ", ".join(map(str, dict.fromkeys(numbers)))
        raise ModelError(
            f"this machine's {of} have different numbers of {unit} ({counts}): a model has one number for all",
            todo=f"bring all CPUs on line, or {_BY_HAND}",
        )
    return numbers[0]


def _siblings(folder: Path, cpu: int, online: list[int]) -> Cpus:
    topology = folder / f"cpu{cpu}/topology"
    names = ("core_cpus_list", "thread_siblings_list")  # the second name was used before 5.3
    file = next((topology / name for name in names if (topology / name).exists()), topology / names[0])
    return frozenset(parse_cpu_list(file.read_text())) & frozenset(online)


def _clusters(folder: Path, online: list[int], cores: list[Cpus], caches: list[Cpus]) -> list[Cpus]:
    """The clusters of several cores, of which each cache has several; empty where cores form no such clusters.

    Kernels since 5.16 show clusters: the cores below a node of the firmware's table (ACPI PPTT), on x86 the cores that
    share a second-level cache. Without clusters the file has the CPUs of a core, or of all cores below a cache or
    socket.
    """
    clusters = [cpus for cpu in online if (cpus := _cluster(folder, cpu, online))]
    if len(clusters) < len(online) or not _inside(cores, sets := _sets(clusters)) or not _inside(sets, caches):
        return []
    return [] if {*cores, *caches} & {*sets} else sets


def _cluster(folder: Path, cpu: int, online: list[int]) -> Cpus:
    file = folder / f"cpu{cpu}/topology/cluster_cpus_list"
    text = file.read_text().strip() if file.exists() else ""
    return frozenset(parse_cpu_list(text) if text else ()) & frozenset(online)


def _packages(folder: Path, online: list[int]) -> list[Cpus]:
    by_package: dict[int, set[int]] = {}
    for cpu in online:
        number = int((folder / f"cpu{cpu}/topology/physical_package_id").read_text())
        by_package.setdefault(number, set()).add(cpu)
    return _sets(map(frozenset, by_package.values()))


def _nodes(root: Path, online: list[int]) -> tuple[list[Cpus], list[list[int]]]:
    """The nodes with CPUs, ordered by their first CPU, and their distances; a single node where sysfs shows no
    nodes."""
    folder, nodes = root / "sys/devices/system/node", {}
    for path in folder.glob("node[0-9]*"):
        text = (path / "cpulist").read_text().strip()
        cpus = frozenset(parse_cpu_list(text) if text else ()) & frozenset(online)
        if cpus:
            nodes[int(path.name.removeprefix("node"))] = cpus
    if not nodes:
        return [frozenset(online)], []
    order = sorted(nodes, key=lambda node: min(nodes[node]))
    places = {node: place for place, node in enumerate(_present(folder))}
    rows = {node: [int(word) for word in (folder / f"node{node}/distance").read_text().split()] for node in order}
    return [nodes[node] for node in order], [[rows[a][places[b]] for b in order] for a in order]


def _present(folder: Path) -> list[int]:
    """The numbers of all nodes, with and without CPUs: a row of distances has an element for each node."""
    return sorted(int(path.name.removeprefix("node")) for path in folder.glob("node[0-9]*"))


def _is_plausible(distances: list[list[int]]) -> bool:
    nodes = range(len(distances))
    return all((distances[a][b] == 10) == (a == b) and distances[a][b] >= 10 for a in nodes for b in nodes)


def _caches(folder: Path, online: list[int], cores: list[Cpus]) -> tuple[int | None, dict[int, tuple[Cpus, int]]]:
    """The KiB of the last private level, and for each CPU its last level: the CPUs that share the cache, and its
    KiB."""
    private: int | None = None
    last: dict[int, tuple[Cpus, int]] = {}
    for cpu in online:
        core = next(core for core in cores if cpu in core)
        for _, cpus, size in sorted(_levels(folder / f"cpu{cpu}/cache", online), key=lambda cache: cache[0]):
            if cpus == core:
                private = size if cpu == online[0] or private is None else private
            last[cpu] = (cpus, size)
    return private, last


def _levels(folder: Path, online: list[int]) -> Iterable[tuple[int, Cpus, int]]:
    for index in folder.glob("index[0-9]*"):
        if (index / "type").read_text().strip() == "Instruction" or not (index / "size").exists():
            continue
        match = re.fullmatch(r"(\d+)([KM])", (index / "size").read_text().strip())
        if match is not None:
            cpus = frozenset(parse_cpu_list((index / "shared_cpu_list").read_text())) & frozenset(online)
            yield int((index / "level").read_text()), cpus, int(match[1]) * (1024 if match[2] == "M" else 1)


def _model_nodes(nodes: int, cores: int, threads: int, numbering: str) -> list[Cpus]:
    """The CPUs of each node with the numbers of a model: core by core, or all first threads first."""
    members: list[set[int]] = [set() for _ in range(nodes)]
    for cpu in range(cores * threads):
        core = cpu // threads if numbering == "adjacent" else cpu % cores
        members[core * nodes // cores].add(cpu)
    return [frozenset(cpus) for cpus in members]
