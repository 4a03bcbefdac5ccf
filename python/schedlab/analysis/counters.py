"""Changes of the kernel's counters. They explain verdicts and are not judged.

A verdict answers a question from before the run, at an error rate corrected for the number of questions. Counters are
examined afterwards, and there are hundreds of them: their intervals are not corrected for multiplicity, so that some
counters move by chance alone. For that reason they have no verdict words.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import isnan, log1p, nan

import numpy as np
import polars as pl
from numpy.typing import NDArray

from schedlab.analysis.paired import estimate, log_ratios, student

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
"""The counters that a report shows by default. Each reflects a mechanism of the scheduler: switching, preemption,
migration, wake-ups on other CPUs, NUMA balancing, waiting."""

COLUMNS = {
    "block": pl.Int64,
    "variant": pl.String,
    "workload": pl.String,
    "parameters": pl.String,
    "counter": pl.String,
    "value": pl.Float64,
}

WorkloadKey = tuple[str, str]
"""Workload label and parameters (canonical JSON)."""


@dataclass(frozen=True)
class Change:
    """One counter of one variant in one row, against the baseline: block means, paired over ``n`` blocks.

    ``ratio`` is variant / baseline with its interval. Both are nan if a block counted 0: ``difference`` (variant −
    baseline, in the counter's unit) and its interval remain. Intervals are nan below two blocks. ``strength`` orders
    counters: on the log scale, the distance from 0 to the nearer end of the interval; 0 if the interval contains 0.

    If only one of baseline and variant has the counter, such as schedstats that a variant turns on, its mean over its
    ``n`` blocks is given; all other numbers are nan.
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
    def figures(self) -> tuple[float, ...]:
        """The means and their difference, except nan."""
        return tuple(value for value in (self.baseline_mean, self.mean, self.difference) if not isnan(value))

    @property
    def one_sided(self) -> bool:
        """Whether the baseline or the variant does not have this counter at all."""
        return isnan(self.baseline_mean) or isnan(self.mean)

    @property
    def clear(self) -> bool:
        """Whether the interval of the ratio excludes 1, or without a ratio, the interval of the difference excludes
        0."""
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
    """Return the change of each counter under each variant. Within a row, the clearest and largest changes are first.

    Args:
        counts: columns block, variant, workload, parameters, counter, value: a line for each measured trial and
            counter.
        baseline: the variant to compare with, which need not be in ``variants``.
        variants: names of the variants, in the order of the report.
        confidence: confidence of the intervals, for instance 0.95.
        counters: names of the counters to compare; by default all except counters of single CPUs (``….cpu0``).

    Rows are in the order of their first occurrence in ``counts``. A counter that only the baseline or only the variant
    has comes after the comparable counters, if both were measured. A counter without a common block is left out.
    """
    selected = pl.col("counter").is_in(list(counters)) if counters is not None else ~_OF_ONE_CPU
    cells, rows, names = _cells(counts.filter(selected))
    changes = []
    # Read the measured variants from all counters: the baseline may lack every selected counter.
    trials = counts.select("workload", "parameters", "variant").unique()
    measured = {((workload, parameters), variant) for workload, parameters, variant in trials.iter_rows()}
    for row, variant in product(rows, [name for name in variants if name != baseline]):
        variant_changes = []
        both = {(row, baseline), (row, variant)} <= measured
        for name in names:
            below, above = cells.get((row, name, baseline), {}), cells.get((row, name, variant), {})
            if below.keys() & above.keys():
                variant_changes.append(_change(row, variant, name, below, above, confidence))
            elif both and bool(below) != bool(above):
                variant_changes.append(_one_sided(row, variant, name, below, above))
        changes += sorted(variant_changes, key=_sort_key)
    return changes


def notable(changes: Sequence[Change]) -> list[Change]:
    """Return the changes of headline counters in their order, except counters that are always 0."""
    return [change for change in changes if change.counter in HEADLINES and any(change.figures)]


_OF_ONE_CPU = pl.col("counter").str.contains(r"\.cpu\d+$")

_Cells = Mapping[tuple[WorkloadKey, str, str], dict[int, float]]


def _cells(counts: pl.DataFrame) -> tuple[_Cells, list[WorkloadKey], list[str]]:
    """Return means over a block's trials by (row, counter, variant), then by block; the rows; the names of counters."""
    keys = ["workload", "parameters", "counter", "variant", "block"]
    means = counts.group_by(keys, maintain_order=True).agg(pl.col("value").mean())
    cells: dict[tuple[WorkloadKey, str, str], dict[int, float]] = {}
    rows: dict[WorkloadKey, None] = {}
    for workload, parameters, counter, variant, block, value in means.iter_rows():
        rows[workload, parameters] = None
        cells.setdefault(((workload, parameters), counter, variant), {})[block] = value
    return cells, list(rows), sorted({counter for _, counter, _ in cells})


def _change(
    row: WorkloadKey, variant: str, counter: str, below: dict[int, float], above: dict[int, float], confidence: float
) -> Change:
    blocks = sorted(below.keys() & above.keys())
    pairs = [(below[block], above[block]) for block in blocks]
    difference, low, high = student(np.array([b - a for a, b in pairs]), confidence)
    # Add 1 to both counts, so that counts of 0 can be ordered. For large counts, 1 is negligible.
    _, least, most = student(np.array([log1p(b) - log1p(a) for a, b in pairs]), confidence)
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


def _one_sided(
    row: WorkloadKey, variant: str, counter: str, below: dict[int, float], above: dict[int, float]
) -> Change:
    baseline_mean, mean = (sum(cell.values()) / len(cell) if cell else nan for cell in (below, above))
    n = len(below or above)
    return Change(*row, variant, counter, n, baseline_mean, mean, nan, nan, nan, nan, nan, nan, 0.0)


def _log_ratios(below: dict[int, float], above: dict[int, float]) -> NDArray[np.float64]:
    """Return the paired log-ratios, or an empty array if a block counted 0."""
    try:
        return log_ratios(below, above)
    except ValueError:
        return np.empty(0, dtype=np.float64)


def _sort_key(change: Change) -> tuple[bool, float, float, str]:
    if change.one_sided:
        return True, 0.0, -max(change.figures), change.counter
    size = abs(log1p(max(change.mean, 0)) - log1p(max(change.baseline_mean, 0)))
    return False, -change.strength, -size, change.counter
