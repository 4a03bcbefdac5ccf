"""Periods of events: whether times have the phase of a clock tick."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RATES_HZ = (100, 250, 300, 1000)
"""Rates of the tick that Linux can be built with (kernel/Kconfig.hz, Linux 6.12)."""

SPAN_NS = 1e9
"""Length of a span with one phase. Two clocks that differ by 50 in a million differ by 0.05 ms after a second."""

LEAST = 50
"""Fewest events of a span: the mean of 50 random directions is longer than a half with a chance of exp(-12.5)
(Rayleigh's test, Mardia & Jupp 2000, section 6.3)."""

COHERENT = 0.5
"""Least coherence of a period: half of the events would have one phase, and the others any phase."""


@dataclass(frozen=True)
class Period:
    """Rate in Hz, and the mean resultant length of the phases, from 0 to 1."""

    hz: int
    coherence: float


def tick_of(times_ns: Floats) -> Period | None:
    """Return the slowest tick whose phase the events have; None without one.

    The phases of a span of a second are directions, and the length of their mean is the coherence (Mardia & Jupp 2000,
    Directional Statistics, section 2.3). It is averaged over the spans, weighted by their events.

    Args:
        times_ns: times of the events in ns, shape (events,).
    """
    spans = np.floor(times_ns / SPAN_NS)
    parts = [part for span in np.unique(spans) if len(part := times_ns[spans == span]) >= LEAST]
    if not parts:
        return None
    weights = [len(part) for part in parts]
    for hz in RATES_HZ:
        lengths = [abs(np.exp(2j * np.pi * part * hz / 1e9).mean()) for part in parts]
        coherence = float(np.average(lengths, weights=weights))
        if coherence >= COHERENT:
            return Period(hz, coherence)
    return None
