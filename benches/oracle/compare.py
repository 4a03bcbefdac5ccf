"""Differences between a simulation and runs on the real kernel, with their limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from benches.oracle.trials import Seen
from scipy import stats

SHARE = 0.03
"""Limit for shares of CPU time."""
COUNT = 0.15
"""Limit for context switches and wake-ups."""
FEWEST = 100.0
"""Number of events in a run below which a count has no limit: a single event would be a percent of it."""


@dataclass(frozen=True)
class Row:
    """One figure of a file: its name, its values in the real and the simulated runs, and its limit."""

    what: str
    real: tuple[float, ...]
    simulated: tuple[float, ...]
    limit: float | None

    @property
    def off(self) -> float:
        """Relative difference of the simulated mean from the real mean: 0.02 is 2 % too high."""
        return sum(self.simulated) / len(self.simulated) / (sum(self.real) / len(self.real)) - 1

    @property
    def within(self) -> bool:
        """Return whether the figure is within its limit. A figure without a limit is."""
        return self.limit is None or abs(self.off) <= self.limit

    def shown_off(self, family: int) -> bool:
        """Return whether the figure is shown to miss its limit: the real mean's interval excludes all allowed values.

        Student's, of two runs or more: one run of a real machine is off by its noise alone. At 95 % for a whole family
        of so many figures (Bonferroni).
        """
        if self.limit is None:
            return False
        mean, error = np.mean(self.real), stats.sem(self.real)
        margin = float(stats.t.ppf(1 - 0.025 / family, len(self.real) - 1) * error)
        simulated = sum(self.simulated) / len(self.simulated)
        return bool(abs(simulated - mean) - margin > self.limit * mean)


def rows(real: Sequence[Seen], simulated: Sequence[Seen]) -> Iterator[Row]:
    """The figures of one file."""

    def row(what: str, limit: float | None, read: object) -> Row:
        assert callable(read)
        return Row(what, tuple(map(read, real)), tuple(map(read, simulated)), limit)

    yield row("CPUs used", SHARE, lambda seen: seen.cpu)
    for name in simulated[0].work:
        yield row(f"share of {name}", SHARE, lambda seen, name=name: seen.shares()[name])
    for what in ("switches", "wakeups"):
        fewest = min(getattr(seen, what) * seen.seconds for seen in simulated)
        limit = COUNT if fewest >= FEWEST else None
        yield row(f"{what}/s", limit, lambda seen, what=what: getattr(seen, what))
