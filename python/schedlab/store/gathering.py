"""All figures of a measured run in one pass: its samples, and the means over blocks that verdicts rest on.

Where a report shows both, reading them one after the other would take the better part of its time.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine, select

from schedlab.store import schema

if TYPE_CHECKING:
    import polars as pl

Samples = NDArray[np.float64]

Row = tuple[str, str, str]
"""Workload, parameters (canonical JSON) and metric."""

_Cell = tuple[str, str, str, str, int]
"""Variant, row and block."""


class Gathered:
    """Each good trial's figures, by variant, row and block, in the order of the plan."""

    def __init__(self, values: dict[_Cell, array[float]], positions: dict[_Cell, int]) -> None:
        self._values = values
        self._positions = positions

    def samples(self, variant: str) -> dict[Row, Samples]:
        """A variant's samples over all blocks, by row."""
        joined: dict[Row, array[float]] = {}
        for (of, workload, parameters, metric, _), values in self._values.items():
            if of == variant:
                joined.setdefault((workload, parameters, metric), array("d")).extend(values)
        return {row: np.asarray(values) for row, values in joined.items()}

    def means(self) -> pl.DataFrame:
        """The same frame as :func:`schedlab.store.reading.measurements`."""
        import polars as pl  # samples alone need no frames

        keys = list(self._values)
        columns = {name: [key[i] for key in keys] for i, name in enumerate(("variant", "workload", "parameters"))}
        return pl.DataFrame(
            {
                "block": [key[4] for key in keys],
                **columns,
                "metric": [key[3] for key in keys],
                "position": [self._positions[key] / len(self._values[key]) for key in keys],
                "value": [float(np.mean(self._values[key])) for key in keys],
                "iterations": [len(self._values[key]) for key in keys],
            }
        )


def gather(engine: Engine, run_id: int, variants: Collection[str] | None = None) -> Gathered:
    """Read the measured figures of a run, warm-up left out; of these variants only, where some are named."""
    t, m = schema.trial.c, schema.metric.c
    query = select(t.variant, t.workload, t.parameters, m.name, t.block, t.position, m.value)
    query = query.join_from(schema.trial, schema.metric)
    query = query.where(t.run_id == run_id, t.phase == "measure", t.state == "ok", t.superseded == 0)
    if variants is not None:
        query = query.where(t.variant.in_(sorted(variants)))
    values: dict[_Cell, array[float]] = {}
    positions: dict[_Cell, int] = {}
    with engine.connect() as connection:
        # The driver's own rows: a million Row objects would take longer than everything else.
        text = str(query.order_by(t.position).compile(engine, compile_kwargs={"literal_binds": True}))
        for variant, workload, parameters, metric, block, position, value in connection.connection.cursor().execute(
            text
        ):
            cell = (variant, workload, parameters, metric, block)
            if cell in values:
                values[cell].append(value)
                positions[cell] += position
            else:
                values[cell], positions[cell] = array("d", (value,)), position
    return Gathered(values, positions)
