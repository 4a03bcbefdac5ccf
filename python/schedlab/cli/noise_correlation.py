"""What gaps without a cause have in common: counters that grow with them, and the phase of another machine's tick."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from schedlab.analysis.alignment import LEAST, Floats, associations, tick_of
from schedlab.report.noise import Correlation, Correlations, ForeignTick, Noise, Series
from schedlab.results.kinds import REAL

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
