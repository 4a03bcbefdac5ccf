"""Runs of probes in passes: every probe in turn, again and again, so that all costs have the same conditions.

A CPU of a virtual machine is slower by a third for seconds while a neighbour uses the other hardware thread of its
core, and each CPU has other neighbours. Two CPUs therefore exchange their parts in every second pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.stats import trim_mean

from schedlab.simulation.host.runners import Probe, Runner, Samples

TRIMMED = 0.1
"""Share of the passes at each end that :func:`level` leaves out: from ten passes on, a pass beside another program."""


class Passes:
    """The runs of different probes. In every second pass the two CPUs of ``pair`` have exchanged their parts; they must
    be at the same distances from all other CPUs."""

    def __init__(self, runner: Runner, wanted: Iterable[Probe], pair: tuple[int, int] | None = None) -> None:
        self._runner, self._pair = runner, pair
        self._probes = {(probe.text, probe.cpus): probe for probe in wanted}
        self._runs: dict[tuple[str, tuple[int, ...]], list[Samples]] = {key: [] for key in self._probes}
        self._done = 0

    def advance(self, passes: float) -> None:
        """Run the next probes until so many passes have been made since the beginning; 2.5 ends within the third."""
        keys = list(self._probes)
        while self._done < round(passes * len(keys)):
            number, place = divmod(self._done, len(keys))
            self._run(self._probes[keys[place]], number)
            self._done += 1

    def runs(self, probe: Probe) -> Sequence[Samples]:
        """Return the runs of a probe. A probe without runs gets as many runs as the others now, and at least one."""
        runs = self._runs.setdefault((probe.text, probe.cpus), [])
        if not runs:
            for number in range(max(1, self._done // max(1, len(self._probes)))):
                self._run(probe, number)
        return runs

    def once(self, probe: Probe) -> Samples:
        """Run a probe that is in no pass."""
        return self._runner.run(probe, 0)

    def _run(self, probe: Probe, number: int) -> None:
        placed = probe.exchanged(*self._pair) if self._pair and number % 2 else probe
        self._runs[probe.text, probe.cpus].append(self._runner.run(placed, number))


def level(figures: Sequence[float]) -> float:
    """Return the mean of a positive figure over passes, as the levels of a run are means over its blocks: geometric,
    without a tenth of the passes at each end.

    A median would leave out the slow phases of a machine that is fast for most of the time, which lengthen the runs of
    a benchmark in proportion to their duration.
    """
    return float(np.exp(trim_mean(np.log(figures), TRIMMED)))
