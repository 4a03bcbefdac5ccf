"""The kernel's counters beside the verdicts, in words that every format shares."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from schedlab.report.document import Counter, Report
from schedlab.report.numbers import UNKNOWN, change, figure, interval
from schedlab.report.words import parameters

LABELS = {
    "context-switches": "context switches",
    "tree.involuntary-switches": "involuntary switches",
    "cpu-migrations": "CPU migrations",
    "forks": "forks",
    "interrupts.RES": "rescheduling interrupts",
    "vmstat.numa_hint_faults": "NUMA hinting faults",
    "vmstat.numa_pages_migrated": "NUMA pages migrated",
    "psi.cpu.some_us": "CPU pressure (some)",
    "schedstat.run_delay_ns": "run delay",
}
"""Labels of the headline counters. Other counters are shown by name."""

EXPLANATION = (
    "Baseline and mean are arithmetic means over the trials, counted on the whole machine; changes are geometric means "
    "of the ratios within blocks; involuntary switches are counted for the trial's processes only. Counters explain, "
    "they do "
    "not judge: their intervals are not corrected for the number of counters, so some counters move by chance."
)
ONE_SIDED = "An empty cell: that variant does not have the counter, which is not 0, and there is nothing to compare."
"""Explanation below tables with a counter that only one variant has."""

_TIMES = {"_ns": 1e-9, "_us": 1e-6, "_ms": 1e-3}
_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_COUNT_UNITS = ((1e9, "G"), (1e6, "M"))


def shown(report: Report) -> list[Counter]:
    """Return the counters of a table: the counters that the user named, otherwise the headlines."""
    return [counter for counter in report.counters or [] if counter.headline or report.counters_named]


def row_key(counter: Counter) -> tuple[str, str]:
    """Return workload and parameters, which are the same for all counters of a row."""
    return counter.workload, parameters(counter.parameters)


def explanations(counters: Sequence[Counter]) -> list[str]:
    """Return the explanations below tables of these counters."""
    return [EXPLANATION, *([ONE_SIDED] if any(counter.one_sided for counter in counters) else [])]


def beside(report: Report) -> dict[tuple[str, str, str], str]:
    """Return :func:`clearest` for each workload, parameters and variant; empty if the user named counters."""
    if report.counters_named:
        return {}
    grouped = groupby(shown(report), key=lambda counter: (*row_key(counter), counter.variant))
    return {key: clearest(list(of_variant)) for key, of_variant in grouped}


def clearest(counters: Sequence[Counter], most: int = 3) -> str:
    """Return the clearest changes of one variant in one row: ``CPU migrations -38.0 %, forks +2.0 %``."""
    clear = [counter for counter in counters if counter.clear][:most]
    return ", ".join(f"{label(counter)} {moved(counter)}" for counter in clear)


def cells(counter: Counter) -> tuple[str, str, str, str, str]:
    """Return label, baseline, mean, change and interval."""
    baseline, mean = (amount(counter.counter, value) for value in (counter.baseline, counter.value))
    return label(counter), baseline, mean, moved(counter), span(counter)


def label(counter: Counter) -> str:
    """Return a headline counter's label, another counter's name."""
    return LABELS.get(counter.counter, counter.counter)


def moved(counter: Counter) -> str:
    """Return the change in per cent, or the difference if a zero leaves no ratio; empty if one variant lacks the
    counter."""
    if counter.one_sided:
        return ""
    return _signed(counter.counter, counter.difference) if counter.ratio is None else change(counter.ratio)


def span(counter: Counter) -> str:
    """Return the interval of :func:`moved`."""
    if counter.one_sided:
        return ""
    if counter.ratio is not None:
        return interval(counter.low, counter.high)
    if counter.difference_low is None:
        return UNKNOWN
    low, high = (_signed(counter.counter, end) for end in (counter.difference_low, counter.difference_high))
    return f"{low} … {high}"


def _signed(counter: str, value: float | None) -> str:
    return UNKNOWN if value is None else f"{'-' if value < 0 else '+'}{amount(counter, abs(value))}"


def amount(counter: str, value: float | None) -> str:
    """Format a count, or a time in a suitable unit; empty for the mean of a variant without the counter."""
    if value is None:
        return ""
    scale = _TIMES.get(counter[-3:])
    units = _COUNT_UNITS if scale is None else _TIME_UNITS
    total = value * (scale or 1)
    for size, unit in units:
        if abs(total) >= size:
            return f"{figure(total / size)}{'' if scale is None else ' '}{unit}"
    return figure(total)
