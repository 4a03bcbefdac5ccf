"""Interruptions of simulated CPUs: a busy loop on each, and the table of causes from the simulator's ledger.

The document has the fields of ``schedload noise``. The ledger accounts for every nanosecond of a CPU, so that each gap
is divided into parts with causes, and no part is unexplained.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from math import ceil, floor, log10
from typing import Any

from schedlab.simulation.models import Model
from schedlab.simulation.programs import Program, program

SCHEMA = 1
"""Version of the document of ``schedload noise``."""

LISTED = 10
"""Longest gaps that the document describes."""

PLOTTED = 100_000
"""Most gaps of the time line; the longest remain."""

CLASSES = 10
"""Classes of the histogram in a decade."""


def loop(seconds: int | str, tasks: int, cpus: int) -> Program:
    """Return the program of a loop on each of ``tasks`` CPUs of a machine with ``cpus`` CPUs."""
    return program("busyloop", {"duration": seconds, "tasks": tasks}, cpus)


def document(
    outcome: Mapping[str, Any], machine: Model, cpus: Sequence[int], least_ns: int = 1, *, parts: bool = False
) -> dict[str, Any]:
    """Return the interruptions of an outcome as the document of ``schedload noise``.

    Args:
        outcome: outcome of a simulation that watched these CPUs.
        machine: the machine's model.
        cpus: the CPUs.
        least_ns: length from which an interruption is a gap.
        parts: whether the document has the parts of all gaps.
    """
    start, end, observed = outcome["interruptions"]
    gaps = [
        (cpu, at - start, sum(ns for _, ns in pieces), pieces)
        for cpu, at, pieces in observed
        if sum(ns for _, ns in pieces) >= least_ns
    ]
    seconds, mhz = (end - start) / 1e9, float(machine.data["mhz"])
    causes = _causes([pieces for *_, pieces in gaps], seconds * len(cpus))
    index = {cause["name"]: i for i, cause in enumerate(causes)}
    longest = sorted(gaps, key=lambda gap: (-gap[2], gap[1]))
    return {
        "schema": SCHEMA,
        "kind": "simulated",
        "seconds": seconds,
        "fifo": None,
        "memory_locked": True,
        "counter": {
            "name": "virtual time", "hz": mhz * 1e6, "invariant": True, "error_ns": 0.0,
            "difference_ns": 0.0 if len(cpus) > 1 else None,
        },
        "tracing": {
            "traced": True, "reason": None, "clock": "virtual time", "error_ns": 0.0, "events": [],
            "recorded": sum(len(pieces) for *_, pieces in gaps), "lost": 0, "tick_stops": {}, "removed": [],
        },
        "cpus": [_cpu(cpu, start, seconds, mhz, machine, [gap[2] for gap in gaps if gap[0] == cpu], least_ns)
                 for cpu in cpus],
        "causes": causes,
        "worst": [
            {
                "cpu": cpu, "at_ns": at, "length_ns": float(length),
                "parts": [{"name": name, "ns": float(ns), "within": [], "woken_in": None} for name, ns in pieces],
            }
            for cpu, at, length, pieces in longest[:LISTED]
        ],
        "timeline": [
            (cpu, at, length, index[_main(pieces)])
            for cpu, at, length, pieces in sorted(longest[:PLOTTED], key=lambda gap: (gap[1], gap[0]))
        ],
        "timeline_is_complete": len(gaps) <= PLOTTED,
        "counters": [],
        "gaps": [_parts(gap, index) for gap in gaps] if parts else None,
    }  # fmt: skip


Gap = tuple[int, int, int, Sequence[tuple[str, int]]]
"""CPU, start since the start of the window, length, and parts, in nanoseconds."""


def _main(pieces: Sequence[tuple[str, int]]) -> str:
    """Return the cause of the longest part."""
    return max(pieces, key=lambda piece: piece[1])[0]


def _parts(gap: Gap, index: Mapping[str, int]) -> dict[str, Any]:
    """Return a gap with start and end of each part since the start of the window."""
    cpu, at, length, pieces = gap
    ends = list(accumulate((ns for _, ns in pieces), initial=at))
    parts = [(index[name], start, end) for (name, _), (start, end) in zip(pieces, pairwise(ends), strict=True)]
    main = index[_main(pieces)]
    return {"cpu": cpu, "at_ns": at, "length_ns": length, "main": main, "parts": parts, "rest": [], "senders": []}


def _causes(gaps: Sequence[Sequence[tuple[str, int]]], cpu_seconds: float) -> list[dict[str, Any]]:
    """Return the table of causes, the largest share first."""
    lengths: dict[str, list[int]] = defaultdict(list)
    for name, ns in (part for parts in gaps for part in parts):
        lengths[name].append(ns)
    total = sum(map(sum, lengths.values()))
    table = [
        {
            "name": name, "count": len(times), "rate": len(times) / cpu_seconds, "worst_ns": float(max(times)),
            "total_ns": float(sum(times)), "share": sum(times) / total,
        }
        for name, times in lengths.items()
    ]  # fmt: skip
    return sorted(table, key=lambda cause: (-float(str(cause["total_ns"])), str(cause["name"])))


def _cpu(
    cpu: int, start: int, seconds: float, mhz: float, machine: Model, lengths: Sequence[int], least_ns: int
) -> dict[str, Any]:
    ordered = sorted(lengths)
    turn = float(machine.data["costs"]["clock_read"])
    return {
        "cpu": cpu, "start_ns": start, "seconds": seconds, "turns": 0,
        "minimum_cycles": round(turn * mhz / 1e3), "minimum_ns": turn, "threshold_ns": float(least_ns),
        "gaps": len(ordered), "lost": 0, "worst_ns": float(ordered[-1]) if ordered else 0.0,
        # The nearest rank.
        "p999_ns": float(ordered[ceil(0.999 * len(ordered)) - 1]) if ordered else 0.0,
        "stolen_ns": float(sum(ordered)), "steal_ns": 0, "firmware_interrupts": None, "usual_entry_ns": 0.0,
        "histogram": _histogram(ordered, mhz),
    }  # fmt: skip


def _histogram(lengths: Sequence[int], mhz: float) -> list[tuple[float, int, int]]:
    """Return (least ns, least cycles, number) of each class of lengths that occurs."""
    counts: dict[int, int] = defaultdict(int)
    for length in lengths:
        # A length of 1000 ns belongs to the class from 1000 ns on in spite of rounding.
        counts[floor(CLASSES * log10(length) + 1e-9)] += 1
    bounds = {place: float(f"{10 ** (place / CLASSES):.4g}") for place in sorted(counts)}
    return [(least, round(least * mhz / 1e3), counts[place]) for place, least in bounds.items()]
