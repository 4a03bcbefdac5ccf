"""How counters changed: explanations beside the verdicts, not verdicts.

A verdict answers a question that was asked before the run, at an error rate corrected for the number of questions.
Counters are looked at afterwards and there are hundreds of them: their intervals are not corrected for multiplicity, so
some will seem to have moved by chance alone. They carry no verdict words for that reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import isnan, log1p, nan, sqrt

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import stdtrit

from schedlab.analysis.paired import estimate, log_ratios

HEADLINES = (
    "context-switches",
    "tree.involuntary-switches",
    "cpu-migrations",
    "forks",
    "interrupts.RES",
    "vmstat.numa_hint_faults",
    "vmstat.numa_pages_migrated",
    "psi.cpu.some_us",
    "schedstat.run_delay_ns",
)
"""The counters that a report shows unasked: each is a way in which a scheduler change works (switching, preempting,
moving, waking another CPU, following memory, letting tasks wait)."""

COLUMNS = {
    "block": pl.Int64,
    "variant": pl.String,
    "workload": pl.String,
    "parameters": pl.String,
    "counter": pl.String,
    "value": pl.Float64,
}

Row = tuple[str, str]
"""Workload label and parameters (canonical JSON)."""


@dataclass(frozen=True)
class Change:
    """One counter of one variant in one row, against the baseline; block means, paired by block over ``n`` blocks.

    ``ratio`` is variant / baseline with its interval, nan where some block counted nothing: then only ``difference``
    (variant − baseline, in the counter's own unit), with its interval, can be told. Intervals are nan below two
    blocks. ``strength`` orders counters: the least change on the log scale that the blocks agree on, 0 when the
    interval holds no change.

    A counter that only one side has, as schedstats that only one has turned on, has that side's mean over its own ``n``
    blocks, and nan for all else: there is nothing to compare.
    """

    workload: str
    parameters: str
    variant: str
    counter: str
    n: int
    baseline_mean: float
    mean: float
    ratio: float
    low: float
    high: float
    difference: float
    difference_low: float
    difference_high: float
    strength: float

    @property
    def known(self) -> tuple[float, ...]:
        """Those of the means and their difference that there are."""
        return tuple(value for value in (self.baseline_mean, self.mean, self.difference) if not isnan(value))

    @property
    def one_sided(self) -> bool:
        """Whether the baseline or the variant does not have this counter at all."""
        return isnan(self.baseline_mean) or isnan(self.mean)

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out "no change": of the ratio where there is one, else of the difference."""
        if isnan(self.ratio):
            return self.difference_low > 0 or self.difference_high < 0
        return self.low > 1 or self.high < 1


def compare(
    counts: pl.DataFrame,
    baseline: str,
    variants: Sequence[str],
    confidence: float,
    counters: Collection[str] | None = None,
) -> list[Change]:
    """How each counter of each variant differs from the baseline's, row by row, most striking first.

    Args:
        counts: columns block, variant, workload, parameters, counter, value: one line a measured trial and counter.
        baseline: the variant to compare with; it need not be in ``variants``, which are in the order to report.
        confidence: of the intervals, for instance 0.95.
        counters: the ones to compare; all by default, but for those of single CPUs (``….cpu0``).

    Rows come in the order in which ``counts`` first names them. A counter that only one side has, where both were
    measured, comes after those that can be compared; one that both have, in no block together, is left out.
    """
    known = pl.col("counter").is_in(list(counters)) if counters is not None else ~_OF_ONE_CPU
    cells, rows, names = _cells(counts.filter(known))
    changes = []
    # Of all counters: one that the baseline lacks may be the only one that was asked for.
    sides = counts.select("workload", "parameters", "variant").unique()
    measured = {((workload, parameters), variant) for workload, parameters, variant in sides.iter_rows()}
    for row, variant in product(rows, [name for name in variants if name != baseline]):
        of_variant = []
        both = {(row, baseline), (row, variant)} <= measured
        for name in names:
            below, above = cells.get((row, name, baseline), {}), cells.get((row, name, variant), {})
            if below.keys() & above.keys():
                of_variant.append(_change(row, variant, name, below, above, confidence))
            elif both and bool(below) != bool(above):
                of_variant.append(_one_sided(row, variant, name, below, above))
        changes += sorted(of_variant, key=_striking)
    return changes


def notable(changes: Sequence[Change]) -> list[Change]:
    """The headline counters among the changes, in the changes' order, those that never moved anywhere left out."""
    return [change for change in changes if change.counter in HEADLINES and any(change.known)]


_OF_ONE_CPU = pl.col("counter").str.contains(r"\.cpu\d+$")

_Cells = Mapping[tuple[Row, str, str], dict[int, float]]


def _cells(counts: pl.DataFrame) -> tuple[_Cells, list[Row], list[str]]:
    """Mean over a block's trials by (row, counter, variant), then by block; the rows and the counters in order."""
    keys = ["workload", "parameters", "counter", "variant", "block"]
    means = counts.group_by(keys, maintain_order=True).agg(pl.col("value").mean())
    cells: dict[tuple[Row, str, str], dict[int, float]] = {}
    rows: dict[Row, None] = {}
    for workload, parameters, counter, variant, block, value in means.iter_rows():
        rows[workload, parameters] = None
        cells.setdefault(((workload, parameters), counter, variant), {})[block] = value
    return cells, list(rows), sorted({counter for _, counter, _ in cells})


def _change(
    row: Row, variant: str, counter: str, below: dict[int, float], above: dict[int, float], confidence: float
) -> Change:
    blocks = sorted(below.keys() & above.keys())
    pairs = [(below[block], above[block]) for block in blocks]
    difference, low, high = _mean_with_interval([b - a for a, b in pairs], confidence)
    # One is added to both, or a counter that was 0 once could not be ordered at all; it is nothing to a large one.
    _, least, most = _mean_with_interval([log1p(b) - log1p(a) for a, b in pairs], confidence)
    ratio = estimate(_log_ratios(below, above), confidence)
    return Change(
        *row,
        variant,
        counter,
        len(blocks),
        sum(a for a, _ in pairs) / len(pairs),
        sum(b for _, b in pairs) / len(pairs),
        ratio.ratio,
        ratio.low,
        ratio.high,
        difference,
        low,
        high,
        strength=max(least, -most, 0.0) if len(blocks) > 1 else 0.0,
    )


def _one_sided(row: Row, variant: str, counter: str, below: dict[int, float], above: dict[int, float]) -> Change:
    baseline_mean, mean = (sum(side.values()) / len(side) if side else nan for side in (below, above))
    n = len(below or above)
    return Change(*row, variant, counter, n, baseline_mean, mean, nan, nan, nan, nan, nan, nan, 0.0)


def _log_ratios(below: dict[int, float], above: dict[int, float]) -> NDArray[np.float64]:
    """The paired log-ratios; none where a block counted nothing."""
    try:
        return log_ratios(below, above)
    except ValueError:
        return np.empty(0, dtype=np.float64)


def _mean_with_interval(values: Sequence[float], confidence: float) -> tuple[float, float, float]:
    """The mean of paired differences and its two-sided Student interval; nan for the interval below two."""
    n, mean = len(values), float(np.mean(values))
    if n < 2:
        return mean, nan, nan
    half = float(stdtrit(n - 1, 0.5 + confidence / 2)) * float(np.std(values, ddof=1)) / sqrt(n)
    return mean, mean - half, mean + half


def _striking(change: Change) -> tuple[bool, float, float, str]:
    if change.one_sided:
        return True, 0.0, -max(change.known), change.counter
    size = abs(log1p(max(change.mean, 0)) - log1p(max(change.baseline_mean, 0)))
    return False, -change.strength, -size, change.counter
