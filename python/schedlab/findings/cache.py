"""Cache lines of kernel paths on a machine model, from a stored run of ``schedlab cost --cache``.

The plug-in for QEMU (``crates/tcg``) counts every access to memory by the source of its cache line: the private cache,
the last-level cache, a cache at a distance, or memory at a distance. The predicted time of an operation is its
instructions by the machine's time per instruction, and its lines by the latencies of their sources. Figures are means
over the random seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Engine

from schedlab.findings.cost import Cost, label
from schedlab.findings.functions import Functions
from schedlab.results.instructions import KERNEL, LINES, USER
from schedlab.simulation.models import Model
from schedlab.store import reader

LINES_OF_KIB = 16
"""Cache lines of 64 bytes in 1 KiB."""


@dataclass(frozen=True)
class Latencies:
    """Nanoseconds of an instruction, and of a cache line by its source.

    A hit in the private cache is part of the time per instruction.
    """

    instruction: float
    sources: Mapping[str, float]

    @classmethod
    def of(cls, machine: Model) -> Latencies:
        """Return the latencies of a machine model.

        Lines of other caches cost ``line`` by distance. A line of the last-level cache costs ``llc_line``, or without
        this cost half of a line of another core. Lines of memory cost ``refill_kib`` of a line, by
        ``random_percent``: kernel structures are not read in sequence.
        """
        costs = machine.data["costs"]
        refill = costs["random_percent"] / 100 / LINES_OF_KIB
        sources = {"private": 0.0, "llc": float(costs.get("llc_line") or costs["line"]["llc"] // 2)}
        sources |= {f"cache-{distance}": float(cost) for distance, cost in costs["line"].items()}
        sources |= {f"memory-{distance}": cost * refill for distance, cost in costs["refill_kib"].items()}
        return cls(costs["instruction_ps"] / 1000, sources)


@dataclass(frozen=True)
class Lines:
    """Cache lines of one path in one column.

    Attributes:
        sources: lines of an operation by source.
        instructions_ns: predicted time of the instructions.
        lines_ns: predicted time of the lines.
    """

    sources: Mapping[str, float]
    instructions_ns: float
    lines_ns: float

    @property
    def ns(self) -> float:
        """Predicted nanoseconds of an operation."""
        return self.instructions_ns + self.lines_ns


@dataclass(frozen=True)
class Cache:
    """The cache lines of a run.

    Attributes:
        machine: the machine model's name.
        cells: lines by path and column; cells without figures are left out.
        against: the column that each other column is compared with.
        waits: nanoseconds of lines by function.
    """

    machine: str
    cells: Mapping[tuple[str, str], Lines]
    against: Mapping[str, str]
    waits: Functions

    def share(self, path: str, column: str) -> float | None:
        """Return the predicted change of an operation's time to the compared column; None without a comparison."""
        cell, other = self.cells.get((path, column)), self.cells.get((path, self.against.get(column, "")))
        return cell.ns / other.ns - 1 if cell and other and other.ns else None

    @property
    def sources(self) -> list[str]:
        """The sources of lines that occur, nearest first."""
        present = {source for cell in self.cells.values() for source, count in cell.sources.items() if count}
        order = [source for cell in self.cells.values() for source in cell.sources]
        return [source for source in dict.fromkeys(order) if source in present]


def cache(engine: Engine, cost: Cost, machine: Model) -> Cache:
    """Return the cache lines of a run that counted lines on a machine model."""
    latencies = Latencies.of(machine)
    counted: dict[tuple[str, str], dict[tuple[str, str], list[float]]] = {}
    blocks: dict[tuple[str, str], set[int]] = {}
    for row in reader.counters(engine, cost.run.id).iter_rows(named=True):
        if row["variant"] not in cost.columns or not row["counter"].startswith(LINES):
            continue
        source, _, function = row["counter"].removeprefix(LINES).partition(".")
        key = (label(row["parameters"]), row["variant"])
        counted.setdefault(key, {}).setdefault((source, function), []).append(row["value"])
        blocks.setdefault(key, set()).add(row["block"])
    cells, waits = {}, {}
    for key in cost.cells:
        if (figures := counted.get(key)) is None:
            continue
        # A function that one seed lacks has no lines there.
        means = {names: sum(values) / len(blocks[key]) for names, values in figures.items()}
        sources = {name: sum(v for (source, _), v in means.items() if source == name) for name in latencies.sources}
        mean = cost.cells[key].mean or 0.0
        by_function: dict[str, float] = {}
        for (source, function), value in means.items():
            name = USER if function == "user" else KERNEL + function.removeprefix("kernel.")
            by_function[name] = by_function.get(name, 0.0) + value * latencies.sources[source]
        waits[key] = {name: round(ns, 2) for name, ns in by_function.items()}
        cells[key] = Lines(sources, mean * latencies.instruction, sum(by_function.values()))
    by_functions = Functions(cost.paths, cost.columns, cost.against, waits)
    return Cache(machine.name, cells, cost.against, by_functions)
