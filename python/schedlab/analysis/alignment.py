"""Alignment in time: of two series, judged by shifting one of them in a circle, and of events with the clock tick.

Neighbouring values of a time series are alike, and timers repeat, so that permutations of single values would find
associations between independent series. A circular shift keeps both series as they are, and breaks their alignment
alone (Lotwick & Silverman 1982 for point processes). The largest correlation of all series at the same shift gives p
values that are adjusted for their number (Westfall & Young 1993).

The test needs stationary series. A series that repeats each P values fits itself at each P-th shift: its p is at least
1/P, because nothing distinguishes two causes with the same period.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Floats = NDArray[np.float64]

LEAST = 50
"""Least number of values: with fewer no p is below 0.02."""

_ROUNDING = 1e-9
"""Difference of two correlations that counts as none."""


@dataclass(frozen=True)
class Association:
    """Spearman's rank correlation, and the p of "independent, or falling together", adjusted for all series."""

    rho: float
    p: float


def associations(pairs: Sequence[tuple[Floats, Floats]]) -> list[Association]:
    """Return the association of each pair of series; all series have the same length, and at least one pair exists.

    One-sided: p is small if the series grow together. A constant series has correlation 0 and p 1.
    """
    by_shift = np.array([_correlations(first, second) for first, second in pairs])
    largest = by_shift.max(axis=0)
    return [
        Association(float(rho), float(np.mean(largest >= rho - _ROUNDING)) if rho > 0 else 1.0)
        for rho in by_shift[:, 0]
    ]


def _correlations(first: Floats, second: Floats) -> Floats:
    """Return Spearman's correlation of ``first`` with each circular shift of ``second``, the unshifted first."""
    one, other = _standard(first), _standard(second)
    # The correlation theorem: all shifts at once.
    spectrum = np.fft.rfft(one) * np.conj(np.fft.rfft(other))
    return np.asarray(np.fft.irfft(spectrum, len(one)) / len(one), dtype=np.float64)


def _standard(values: Floats) -> Floats:
    ranks = rankdata(values)
    spread = ranks.std()
    return np.asarray((ranks - ranks.mean()) / spread if spread > 0 else np.zeros(len(ranks)), dtype=np.float64)


RATES_HZ = (100, 250, 300, 1000)
"""Rates of the tick that Linux can be built with (kernel/Kconfig.hz, Linux 6.12)."""

SPAN_NS = 1e9
"""Length of a span with one phase. Two clocks that differ by 50 in a million differ by 0.05 ms after a second."""

LEAST_EVENTS = 50
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
    parts = [part for span in np.unique(spans) if len(part := times_ns[spans == span]) >= LEAST_EVENTS]
    if not parts:
        return None
    weights = [len(part) for part in parts]
    for hz in RATES_HZ:
        lengths = [abs(np.exp(2j * np.pi * part * hz / 1e9).mean()) for part in parts]
        coherence = float(np.average(lengths, weights=weights))
        if coherence >= COHERENT:
            return Period(hz, coherence)
    return None
