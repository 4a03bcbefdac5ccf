"""Counters beside the verdicts: what the kernel did differently while the variants ran."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from math import isfinite, isnan
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from schedlab.analysis.counters import Change
from schedlab.report.numbers import change as percent
from schedlab.report.numbers import figure, interval
from schedlab.report.telling import spelled

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
"""Words for the headline counters; the others go by their names."""

EXPLANATION = (
    "Means of a trial, of the whole machine; involuntary switches are the trial's own. Counters explain, they "
    "do not judge: their intervals are not corrected for the number of counters, so some move by chance."
)
ONE_SIDED = "An empty cell: that variant does not have the counter, which is not 0, and there is nothing to compare."
"""Below tables with a counter that only one side has."""

_TIMES = {"_ns": 1e-9, "_us": 1e-6, "_ms": 1e-3}
_TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_COUNT_UNITS = ((1e9, "G"), (1e6, "M"))
_LABEL_WIDTH = 23
"""Leaves room for four columns of numbers in 80."""


def render(changes: Sequence[Change], notes: Sequence[str], confidence: float) -> RenderableType:
    """Every row's changes by variant, 80 columns wide, with the run's notes on what could not be counted."""
    return Group(*_parts(changes, notes, confidence))


def by_verdict(changes: Sequence[Change]) -> dict[tuple[str, str, str], str]:
    """:func:`beside` for each workload, parameters and variant; the changes of one come together."""
    grouped = groupby(changes, key=lambda change: (change.workload, change.parameters, change.variant))
    return {key: beside(list(of_verdict)) for key, of_verdict in grouped}


def beside(changes: Sequence[Change], most: int = 3) -> str:
    """The clearest changes of one variant in one row, on a line: ``CPU migrations -38.0 %, forks +2.0 %``."""
    clear = [change for change in changes if change.clear][:most]
    return ", ".join(f"{label(change)} {moved(change)}" for change in clear)


def to_json(changes: Sequence[Change]) -> list[dict[str, Any]]:
    """The changes as JSON-ready objects; numbers that are not known are null."""
    return [
        {
            "workload": change.workload,
            "parameters": json.loads(change.parameters),
            "variant": change.variant,
            "counter": change.counter,
            "n": change.n,
            "baseline": _known(change.baseline_mean),
            "value": _known(change.mean),
            "ratio": _known(change.ratio),
            "low": _known(change.low),
            "high": _known(change.high),
            "difference": _known(change.difference),
            "difference_low": _known(change.difference_low),
            "difference_high": _known(change.difference_high),
            "clear": change.clear,
        }
        for change in changes
    ]


def _parts(changes: Sequence[Change], notes: Sequence[str], confidence: float) -> Iterator[RenderableType]:
    yield Text("\nCounters", style="bold")
    for (workload, parameters), of_row in groupby(changes, key=lambda change: (change.workload, change.parameters)):
        yield Text.assemble("\n", (f"{workload} ", "bold"), spelled(parameters))
        for variant, of_variant in groupby(of_row, key=lambda change: change.variant):
            yield Padding(_table(variant, list(of_variant), confidence), (0, 0, 0, 2))
    if not changes:
        yield Text("\nNo counter can be compared.")
    yield Text(f"\n{EXPLANATION}", style="dim")
    if any(change.one_sided for change in changes):
        yield Text(f"\n{ONE_SIDED}", style="dim")
    for note in notes:
        yield Text.assemble(("! ", "yellow"), note)


def _table(variant: str, changes: Sequence[Change], confidence: float) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, pad_edge=False, header_style="dim")
    table.add_column(Text(variant, style="not dim"), overflow="fold", width=_LABEL_WIDTH)
    for name in ("baseline", "mean", "change"):
        table.add_column(name, justify="right", no_wrap=True, min_width=9)
    table.add_column(f"{100 * confidence:g} % interval", justify="right", no_wrap=True, min_width=15)
    for change in changes:
        table.add_row(
            label(change),
            amount(change.counter, change.baseline_mean),
            amount(change.counter, change.mean),
            moved(change),
            span(change),
            style="" if change.clear else "dim",
        )
    return table


def label(change: Change) -> str:
    """A headline counter's words, any other's name."""
    return LABELS.get(change.counter, change.counter)


def moved(change: Change) -> str:
    """The change in per cent; the plain difference where a zero leaves no ratio, nothing where a side has none."""
    if change.one_sided:
        return ""
    if isfinite(change.ratio):
        return percent(change.ratio)
    return _signed(change.counter, change.difference)


def span(change: Change) -> str:
    """The interval of what :func:`moved` tells; ``-`` when not known."""
    if change.one_sided:
        return ""
    if isfinite(change.ratio):
        return interval(change.low, change.high)
    if not isfinite(change.difference_low):
        return "-"
    return f"{_signed(change.counter, change.difference_low)} … {_signed(change.counter, change.difference_high)}"


def _signed(counter: str, value: float) -> str:
    return f"{'-' if value < 0 else '+'}{amount(counter, abs(value))}"


def amount(counter: str, value: float) -> str:
    """A count, or a time in the unit that suits it; empty for that of a side that has none."""
    if isnan(value):
        return ""
    scale = _TIMES.get(counter[-3:])
    units = _COUNT_UNITS if scale is None else _TIME_UNITS
    whole = value * (scale or 1)
    for size, unit in units:
        if abs(whole) >= size:
            return f"{figure(whole / size)}{'' if scale is None else ' '}{unit}"
    return figure(whole)


def _known(number: float) -> float | None:
    return number if isfinite(number) else None
