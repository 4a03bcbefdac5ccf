"""Interruptions of CPUs: what gaps without a cause have in common, and the figures of tables and plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from schedlab.analysis.alignment import LEAST, Floats, associations, tick_of
from schedlab.results.interruptions import (
    Cause,
    Correlation,
    Correlations,
    Cpu,
    ForeignTick,
    Increase,
    Noise,
    Piece,
    Series,
    Worst,
)
from schedlab.results.kinds import REAL

LEVEL = 0.05
"""Adjusted p below which an association is reported as a correlation."""

DECADES_NS = (1e3, 1e4, 1e5, 1e6, 1e7)
"""Limits of the lengths in the table of lengths."""

POINTS = 4_000
"""Most gaps of a CPU in a time line; the longest remain."""

PARTS = 5
"""Parts of a gap that are named; the largest come first, the others are added."""

UNNAMED = ("unexplained", "hypervisor")
"""Causes of gaps without an event of the trace."""

LONG_NS = 5000
"""Least length of a gap that another machine's tick can be: shorter gaps are the processor's own."""


def with_foreign_ticks(noise: Noise) -> Noise:
    """Return the measurement with the ticks of another machine, by the phases of unexplained gaps.

    A traced gap of the kernel's own tick has a cause. Without a trace, gaps of all ticks are unexplained.
    """
    if not noise.tracing.traced or noise.kind != REAL:
        return noise
    unnamed = {at for at, cause in enumerate(noise.causes) if cause.name in UNNAMED}
    found = []
    for cpu in noise.cpus:
        gaps = [gap for gap in noise.timeline if gap[0] == cpu.cpu and gap[3] in unnamed and gap[2] >= LONG_NS]
        tick = tick_of(np.array([at for _, at, _, _ in gaps]))
        if tick is not None:
            found.append(ForeignTick(cpu=cpu.cpu, hz=tick.hz, coherence=tick.coherence, gaps=len(gaps)))
    return noise.model_copy(update={"foreign_ticks": found})


def with_correlations(noise: Noise) -> Noise:
    """Return the measurement with correlations, if it has no trace."""
    if noise.tracing.traced or noise.correlations is not None:
        return noise
    return noise.model_copy(update={"correlations": _correlations(noise)})


def _correlations(noise: Noise) -> Correlations:
    windows = noise.windows
    if windows is None:
        return _none("all CPUs are under test, so that no CPU can read the counters meanwhile", 0, 0.0)
    number, seconds = len(windows.seconds), np.array(windows.seconds)
    width = float(np.median(seconds)) if number else 0.0
    if number < LEAST:
        needed = f"--for {LEAST * 0.1 + 1:.0f}s gives them"
        return _none(f"{number} windows are fewer than {LEAST} ({needed})", number, width)
    if any(cpu.lost for cpu in noise.cpus):
        return _none("gaps did not fit into the buffer", number, width)
    pairs = list(_pairs(noise, seconds))
    if not pairs:
        return _none("no counter changed from window to window", number, width)
    found = associations([(gaps, rates) for _, _, gaps, rates in pairs])
    rows = [
        Correlation(gaps_of=cpu, cpu=series.cpu, name=series.name, rho=each.rho, p=each.p)
        for (cpu, series, _, _), each in zip(pairs, found, strict=True)
    ]
    rows.sort(key=lambda row: (row.p, -row.rho))
    return Correlations(windows=number, seconds=width, reason=None, rows=rows)


def _none(reason: str, windows: int, seconds: float) -> Correlations:
    return Correlations(windows=windows, seconds=seconds, reason=reason, rows=[])


def _pairs(noise: Noise, seconds: Floats) -> Iterator[tuple[int, Series, Floats, Floats]]:
    """Yield (CPU, counter of the CPU or the machine, time in gaps per second, increases per second)."""
    assert noise.windows is not None
    for cpu, gaps in noise.windows.gaps:
        for series in noise.windows.counters:
            if series.cpu in (cpu, None):
                yield cpu, series, np.array(gaps) / seconds, np.array(series.increases) / seconds


@dataclass(frozen=True)
class Lost:
    """What the CPUs under test lose.

    Attributes:
        least, greatest: shares of a CPU's time in gaps, 0 to 1.
        stolen: greatest share that the hypervisor stole.
        longest: the CPU with the longest gap.
        main: the largest cause; None without gaps or without a trace.
        unexplained: gaps without a cause, which did not fit into the buffer.
    """

    least: float
    greatest: float
    stolen: float
    longest: Cpu
    main: Cause | None
    unexplained: int


def lost(noise: Noise) -> Lost:
    """Return what the CPUs lose."""
    shares = [cpu.lost_share for cpu in noise.cpus]
    longest = max(noise.cpus, key=lambda cpu: cpu.worst_ns)
    main = noise.causes[0] if noise.causes and noise.tracing.traced else None
    stolen, unexplained = max(cpu.steal_share for cpu in noise.cpus), sum(cpu.lost for cpu in noise.cpus)
    return Lost(min(shares), max(shares), stolen, longest, main, unexplained)


@dataclass(frozen=True)
class Summed:
    """Parts of a gap with the same name and the same facts: one of them, their time in ns, and their number."""

    piece: Piece
    ns: float
    number: int


def parts_of(gap: Worst) -> tuple[list[Summed], Summed | None]:
    """Return the :data:`PARTS` largest parts of a gap, and the sum of the others (None without others)."""
    alike: dict[tuple[object, ...], list[Piece]] = {}
    for piece in gap.parts:
        facts = (piece.name, tuple(piece.within), piece.woken_in, repr(piece.sender))
        alike.setdefault(facts, []).append(piece)
    parts = [Summed(pieces[0], sum(piece.ns for piece in pieces), len(pieces)) for pieces in alike.values()]
    parts.sort(key=lambda part: -part.ns)
    rest = parts[PARTS:]
    others = Summed(rest[0].piece, sum(part.ns for part in rest), sum(part.number for part in rest)) if rest else None
    return parts[:PARTS], others


def other_share(causes: Sequence[Cause]) -> float:
    """Return the share of the lost time of several causes."""
    return sum(cause.share for cause in causes)


def decades(cpu: Cpu) -> list[int]:
    """Return the number of gaps below the first limit of :data:`DECADES_NS`, between the limits, and above the last."""
    row = [0] * (len(DECADES_NS) + 1)
    for ns, _, number in cpu.histogram:
        row[sum(ns >= end for end in DECADES_NS)] += number
    return row


def longest(noise: Noise, cpu: Cpu) -> list[tuple[int, int, int]]:
    """Return start, length (both in ns) and main cause of a CPU's gaps in their order, at most the longest
    :data:`POINTS`."""
    gaps = sorted((gap for gap in noise.timeline if gap[0] == cpu.cpu), key=lambda gap: -gap[2])[:POINTS]
    return [(at, ns, cause) for _, at, ns, cause in sorted(gaps)]


def correlated(correlations: Correlations) -> list[Correlation]:
    """Return the correlations that are not explained by chance."""
    return [row for row in correlations.rows if row.p < LEVEL]


def by_increase(noise: Noise) -> list[Increase]:
    """Return the kernel's counters, the largest increase first."""
    return sorted(noise.counters, key=lambda each: -each.count)
