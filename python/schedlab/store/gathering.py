"""All figures of a measured run in one pass: its samples, and the means over blocks that verdicts rest on.

Where a report shows both, reading them one after the other would take the better part of its time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Engine

from schedlab.store.figures import Integers, Measured, Samples, figures
from schedlab.store.stretches import Stretch, stretches

if TYPE_CHECKING:
    import polars as pl

Row = tuple[str, str, str]
"""Workload, parameters (canonical JSON) and metric."""

Cell = tuple[int, str, str, str, str]
"""Block, variant and row."""


@dataclass(frozen=True)
class Gathered:
    """The figures of some stretches of a run, one a place in each array, in the order of the plan.

    Attributes:
        all: the run's stretches, also those that are not analysed.
        held: the stretches whose figures these are.
        kinds: the metrics.
        stretch: index into ``held`` for each figure.
        kind: index into ``kinds``.
        offset: of the trial, from the first one of its stretch.
        value: the figure.
    """

    all: Sequence[Stretch]
    held: Sequence[Stretch]
    kinds: Sequence[Measured]
    stretch: Integers
    kind: Integers
    offset: Integers
    value: Samples

    def position(self) -> Integers:
        """Of each figure's trial in the plan."""
        return np.array([one.position for one in self.held], np.int64)[self.stretch] + self.offset

    def samples(self, variant: str) -> dict[Row, Samples]:
        """A variant's samples over all blocks, by row."""
        return self._by_row.get(variant, {})

    @cached_property
    def _by_row(self) -> dict[str, dict[Row, Samples]]:
        keys, of = self._index((one.variant, one.workload, one.parameters) for one in self.held)
        ordered = self.value[np.argsort(of, kind="stable")]
        ends = np.cumsum(np.bincount(of, minlength=len(keys)))
        made: dict[str, dict[Row, Samples]] = {}
        for (variant, *row), start, end in zip(keys, [0, *ends], ends, strict=False):
            if end > start:
                workload, parameters, metric = row
                made.setdefault(variant, {})[workload, parameters, metric] = ordered[start:end]
        return made

    def means(self) -> pl.DataFrame:
        """The same frame as :func:`schedlab.store.reading.measurements`."""
        keys, of = self._index((one.block, one.variant, one.workload, one.parameters) for one in self.held)
        counts, totals, places = (np.bincount(of, each, len(keys)) for each in (None, self.value, self.position()))
        return averaged(
            (key, int(counts[i]), float(totals[i]), float(places[i])) for i, key in enumerate(keys) if counts[i]
        )

    def _index(self, of_stretch: Iterable[tuple[Any, ...]]) -> tuple[list[Any], Integers]:
        """The different keys of stretches with each metric's name behind them, and which one each figure has."""
        names = list(dict.fromkeys(kind.name for kind in self.kinds))
        told = list(of_stretch)
        places = {key: place for place, key in enumerate(dict.fromkeys(told))}
        keys = [(*key, name) for key in places for name in names]
        first = np.array([places[key] * len(names) for key in told], np.int64)
        return keys, first[self.stretch] + np.array([names.index(kind.name) for kind in self.kinds], np.int64)[
            self.kind
        ]


def averaged(totals: Iterable[tuple[Cell, int, float, float]]) -> pl.DataFrame:
    """Means over blocks, in the cells' order, from each one's number of figures and sums of figures and positions."""
    import polars as pl  # samples alone need no frames

    types = {"block": pl.Int64, "variant": pl.String, "workload": pl.String, "parameters": pl.String}
    types |= {"metric": pl.String, "position": pl.Float64, "value": pl.Float64, "iterations": pl.Int64}
    lines = [(*cell, place / count, total / count, count) for cell, count, total, place in totals]
    return pl.DataFrame(sorted(lines), schema=types, orient="row")


def gather(engine: Engine, run_id: int, variants: Collection[str] | None = None) -> Gathered:
    """Read the measured figures of a run, warm-up left out; of these variants only, where some are named."""
    return gathered(engine, stretches(engine, run_id), variants)


def gathered(engine: Engine, trials: Sequence[Stretch], variants: Collection[str] | None = None) -> Gathered:
    """The same of a run whose stretches have been read already."""
    held = [one for one in trials if one.analysed and (variants is None or one.variant in variants)]
    with engine.connect() as connection:
        kinds, trial, kind, value = figures(connection, held)
    firsts = np.array([one.first for one in held], np.int64)
    stretch = np.searchsorted(firsts, trial, side="right") - 1
    found = Gathered(trials, held, kinds, stretch, kind, trial - firsts[stretch], value)
    place = found.position()
    if np.all(place[1:] >= place[:-1]):
        return found
    # What was interrupted, or measured again, lies in the store in another order than in the plan.
    order = np.lexsort((kind, place))
    return replace(found, stretch=stretch[order], kind=kind[order], offset=found.offset[order], value=value[order])
