"""Replacements of sysfs: trees recorded with ``grep -r .`` on a real machine, or built from a description."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

TREES = Path(__file__).parent / "trees"

Tree = Callable[..., Path]


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[[str], Path]:
    """Function that unpacks the recorded tree of a real machine by name."""

    def unpack(name: str) -> Path:
        for line in (TREES / f"{name}.txt").read_text(encoding="utf-8").splitlines():
            path, _, content = line.partition(":")
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            with (tmp_path / path).open("a", encoding="utf-8") as file:
                file.write(content + "\n")
        return tmp_path

    return unpack


@pytest.fixture
def built(tmp_path: Path) -> Tree:
    """Function that builds a tree from CPU lists of packages, nodes, caches, cores and clusters, and from distances."""

    def build(
        packages: list[str],
        nodes: list[str],
        caches: list[str],
        cores: list[str],
        distances: list[str] | None = None,
        files: Mapping[str, str] | None = None,
        clusters: Sequence[str] = (),
    ) -> Path:
        cpu, node = "sys/devices/system/cpu", "sys/devices/system/node"
        content = {f"{cpu}/online": f"0-{sum(map(len, map(_cpus, cores))) - 1}"}
        for number, package in enumerate(packages):
            content |= {f"{cpu}/cpu{member}/topology/physical_package_id": str(number) for member in _cpus(package)}
        for core in cores:
            for member in _cpus(core):
                content[f"{cpu}/cpu{member}/topology/core_cpus_list"] = core
                content |= _cache(f"{cpu}/cpu{member}/cache/index2", 2, "512K", core)
        for cache in caches:
            for member in _cpus(cache):
                content |= _cache(f"{cpu}/cpu{member}/cache/index3", 3, "8192K", cache)
        for cluster in clusters:
            for member in _cpus(cluster):
                content[f"{cpu}/cpu{member}/topology/cluster_cpus_list"] = cluster
        for number, cpus in enumerate(nodes):
            content[f"{node}/node{number}/cpulist"] = cpus
            content[f"{node}/node{number}/distance"] = (distances or ["10"])[number]
        for path, text in (content | dict(files or {})).items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text + "\n", encoding="utf-8")
        return tmp_path

    return build


def _cpus(text: str) -> list[int]:
    from schedlab.notation.cpulist import parse_cpu_list

    return parse_cpu_list(text)


def _cache(index: str, level: int, size: str, cpus: str) -> dict[str, str]:
    return {
        f"{index}/level": str(level), f"{index}/type": "Unified", f"{index}/size": size,
        f"{index}/shared_cpu_list": cpus,
    }  # fmt: skip
