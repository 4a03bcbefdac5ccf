"""Figures of a real kernel in a deterministic guest beside a report's effects: instructions, and counts of events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from schedlab.analysis.distributions import CellSamples
from schedlab.reproduction.published import GUEST
from schedlab.reproduction.simulated import Comparison, Counted, Figures, simulated_effect
from schedlab.results.instructions import per_unit
from schedlab.results.kinds import INSTRUCTIONS, is_counted

if TYPE_CHECKING:
    import polars as pl

_PER_SECOND = "/s"


def beside(comparisons: Iterable[Comparison], cells: Iterable[CellSamples], counters: pl.DataFrame) -> list[Comparison]:
    """Return the effects with the figures of the guest's run.

    Args:
        comparisons: the effects of a report.
        cells: the cells of the run of its experiment in a guest.
        counters: the counters of this run, as :func:`schedlab.store.reader.counters`.
    """
    effects = list(comparisons)
    names = {name for each in effects for name in each.table.counted}
    wanted = counters.filter(counters["counter"].is_in(list(names)))
    figures = Figures({GUEST: [*map(_in_instructions, cells), *as_cells(wanted)]})
    return [replace(each, counted=tuple(_counted(figures, each))) for each in effects]


def _counted(figures: Figures, each: Comparison) -> Iterator[Counted]:
    """Yield the figures of the table that the run has for this row and both columns."""
    table = each.table
    for name in table.counted:
        metric = table.metric if is_counted(name) else name
        place = {"experiment": GUEST, "workload": table.guest_workload or table.workload, "metric": metric}
        in_guest = table.model_copy(update=place)
        before, after = (figures.blocks(in_guest, each.row, column) for column in (each.baseline, each.column))
        if blocks := before.keys() & after.keys():
            baseline, column = (float(np.mean([of[block] for block in blocks])) for of in (before, after))
            effect = simulated_effect(before, after, "lower") if is_counted(name) else None
            yield Counted(name, baseline, column, effect)


def _in_instructions(cell: CellSamples) -> CellSamples:
    """Return the cell of a rate as instructions for a unit. The store has times of a guest as instructions already."""
    if is_counted(cell.unit) or not cell.unit.endswith(_PER_SECOND):
        return cell
    unit = f"{INSTRUCTIONS}/{cell.unit.removesuffix(_PER_SECOND)}"
    return replace(cell, unit=unit, direction="lower", values=per_unit(cell.values))


def as_cells(counters: pl.DataFrame) -> Iterator[CellSamples]:
    """Yield each counter as a metric."""
    for row in counters.iter_rows(named=True):
        yield CellSamples(
            row["block"], row["variant"], row["workload"], row["parameters"], 0, row["counter"], "", "",
            np.array([row["value"]]),
        )  # fmt: skip
