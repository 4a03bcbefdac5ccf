"""Periods of events."""

from __future__ import annotations

import numpy as np
import pytest

from schedlab.analysis.alignment import LEAST_EVENTS, RATES_HZ, tick_of

SECONDS = 3


def ticks(hz: float, jitter_ns: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(1)
    times = np.arange(SECONDS * hz) * 1e9 / hz + 123456
    return times + rng.normal(0, jitter_ns, len(times))


@pytest.mark.parametrize("hz", RATES_HZ)
def test_the_rate_of_a_tick_is_found_although_the_clocks_drift(hz: int) -> None:
    found = tick_of(ticks(hz * (1 + 20e-6), 20_000))
    assert found is not None
    assert found.hz == hz
    assert found.coherence > 0.9


def test_random_times_and_few_times_have_no_period() -> None:
    rng = np.random.default_rng(2)
    assert all(tick_of(rng.uniform(0, SECONDS * 1e9, 3 * LEAST_EVENTS)) is None for _ in range(200))
    assert tick_of(ticks(1000)[: LEAST_EVENTS - 1]) is None
    assert tick_of(np.array([])) is None


def test_a_tick_among_other_events_has_less_coherence() -> None:
    rng = np.random.default_rng(3)
    mixed = np.concatenate([ticks(1000), rng.uniform(0, SECONDS * 1e9, SECONDS * 500)])
    found = tick_of(mixed)
    assert found is not None
    assert 0.6 < found.coherence < 0.75
