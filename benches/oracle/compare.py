"""Differences between simulations and runs on the real kernel, with their limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from benches.oracle.trials import Rates
from scipy import stats

SHARE = 0.03
"""Largest allowed relative difference of shares of CPU time."""
COUNT = 0.15
"""Largest allowed relative difference of rates of context switches and wake-ups."""
FEWEST = 100.0
"""Number of events in a run below which a count has no limit, because a single event is more than 1 % of the count."""


@dataclass(frozen=True)
class Row:
    """One figure of a file: its name, its values in the real and the simulated runs, and its limit."""

    figure: str
    real: tuple[float, ...]
    simulated: tuple[float, ...]
    limit: float | None

    @property
    def difference(self) -> float:
        """Relative difference of the simulated mean from the real mean: 0.02 is 2 % too high."""
        return sum(self.simulated) / len(self.simulated) / (sum(self.real) / len(self.real)) - 1

    @property
    def within(self) -> bool:
        """Return whether the figure is within its limit or has no limit."""
        return self.limit is None or abs(self.difference) <= self.limit

    def exceeds_limit(self, family: int) -> bool:
        """Return whether the difference exceeds its limit beyond the noise of the real runs.

        The deviation is significant if all values in the interval of the real mean differ from the simulated mean by
        more than the limit. Student's interval needs two or more real runs. The interval's level is 95 % for ``family``
        figures together (Bonferroni).
        """
        if self.limit is None:
            return False
        mean, error = np.mean(self.real), stats.sem(self.real)
        margin = float(stats.t.ppf(1 - 0.025 / family, len(self.real) - 1) * error)
        simulated = sum(self.simulated) / len(self.simulated)
        return bool(abs(simulated - mean) - margin > self.limit * mean)


def rows(real: Sequence[Rates], simulated: Sequence[Rates]) -> Iterator[Row]:
    """Yield the figures of one file."""

    def row(figure: str, limit: float | None, value: Callable[[Rates], float]) -> Row:
        return Row(figure, tuple(map(value, real)), tuple(map(value, simulated)), limit)

    yield row("CPUs used", SHARE, lambda rates: rates.cpu)
    for name in simulated[0].work:
        yield row(f"share of {name}", SHARE, lambda rates, name=name: rates.shares()[name])
    for event in ("switches", "wakeups"):
        fewest = min(getattr(rates, event) * rates.seconds for rates in simulated)
        limit = COUNT if fewest >= FEWEST else None
        yield row(f"{event}/s", limit, attrgetter(event))
