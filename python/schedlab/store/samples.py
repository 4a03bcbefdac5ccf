"""All samples of the chosen columns as one table, one sample a line, for analysis by other programs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from sqlalchemy import Engine

from schedlab.store.columns import Chosen, cells_of_runs, run_key

COLUMNS = {
    "run": pl.Int64,
    "column": pl.String,
    "block": pl.Int64,
    "position": pl.Int64,
    "iteration": pl.Int64,
    "workload": pl.String,
    "parameters": pl.String,
    "metric": pl.String,
    "unit": pl.String,
    "direction": pl.String,
    "value": pl.Float64,
    "kind": pl.String,
}
"""Names and types of the columns of :func:`sample_table`. ``position`` is the trial's index in the plan, ``parameters``
canonical JSON, ``kind`` the origin of the figures."""


def sample_table(engine: Engine, chosen: Sequence[Chosen]) -> pl.DataFrame:
    """Return all samples of all metrics, judged or not, column by column in the order of the plan.

    A measured trial has one sample of each metric. The samples of an imported cell share its position, and their
    iteration counts from 1.
    """
    of_run = cells_of_runs(engine, chosen)
    pairs = [
        (place, cell)
        for place, column in enumerate(chosen)
        for cell in of_run[run_key(engine, column)]
        if cell.variant == column.variant
    ]
    places = [place for place, _ in pairs]
    cells = [cell for _, cell in pairs]
    constants = {
        "run": [chosen[place].run.id for place in places],
        "column": [chosen[place].name for place in places],
        "kind": [chosen[place].run.kind for place in places],
    }
    names = ("block", "position", "workload", "parameters", "metric", "unit", "direction")
    constants |= {name: [getattr(cell, name) for cell in cells] for name in names}
    iterations = [cell.iterations if cell.imported is None else np.arange(1, len(cell.imported) + 1) for cell in cells]
    offsets = [of_cell * (cell.imported is None) for of_cell, cell in zip(iterations, cells, strict=True)]
    line = np.repeat(np.arange(len(cells)), [len(of_cell) for of_cell in iterations])
    no_iteration, no_value = np.empty(0, np.int64), np.empty(0)
    frame = pl.DataFrame(constants, schema={name: COLUMNS[name] for name in constants})[line].with_columns(
        pl.col("position") + pl.Series(np.concatenate([no_iteration, *offsets])),
        pl.Series("iteration", np.concatenate([no_iteration, *iterations])),
        pl.Series("value", np.concatenate([no_value, *(cell.samples for cell in cells)])),
    )
    order = np.lexsort((frame["position"].to_numpy(), np.array(places, np.int64)[line]))
    return frame[order].select(pl.col(name).cast(kind) for name, kind in COLUMNS.items())
