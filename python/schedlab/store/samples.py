"""Every sample of the chosen columns, one a line: for those who want to look at the figures in their own way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from sqlalchemy import Engine, select

from schedlab.store import schema
from schedlab.store.columns import Chosen
from schedlab.store.gathering import Gathered, gather
from schedlab.store.packing import unpack
from schedlab.store.stretches import driver_rows

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
"""Names and types of :func:`long`'s columns. ``position`` is the trial's in the plan, ``parameters`` canonical JSON,
``kind`` how the figures came to be."""


def long(engine: Engine, chosen: Sequence[Chosen]) -> pl.DataFrame:
    """All samples of all metrics, judged or not, column by column in the order in which they were taken.

    A measured trial is one sample of each of its metrics. An imported trial holds all samples of its block: they share
    its position, and their iteration counts them from 1.
    """
    read: dict[tuple[Engine, int], Gathered] = {}
    for column in chosen:
        of = (column.store or engine, column.run.id)
        if column.run.design.paired and of not in read:
            read[of] = gather(*of, {one.variant for one in chosen if (one.store or engine, one.run.id) == of})
    frames = [_frame(column.store or engine, column, read) for column in chosen]
    return pl.concat([pl.DataFrame(schema=COLUMNS), *frames])


def _frame(engine: Engine, column: Chosen, read: Mapping[tuple[Engine, int], Gathered]) -> pl.DataFrame:
    known = {"run": column.run.id, "column": column.name, "kind": column.run.kind}
    told = [pl.lit(value).alias(name) for name, value in known.items()]
    paired = column.run.design.paired
    frame = _measured(read[engine, column.run.id], column.variant) if paired else _imported(engine, column)
    return frame.with_columns(told).select(pl.col(name).cast(kind) for name, kind in COLUMNS.items())


def _measured(gathered: Gathered, variant: str) -> pl.DataFrame:
    of_variant = np.array([one.variant == variant for one in gathered.held], np.bool_)
    chosen = np.flatnonzero(of_variant[gathered.stretch])
    stretch, offset = gathered.stretch[chosen], pl.Series(gathered.offset[chosen])
    columns = {
        name: pl.Series([getattr(one, name) for one in gathered.held], dtype=COLUMNS[name]).gather(stretch)
        for name in ("block", "position", "iteration", "workload", "parameters")
    }
    columns |= {name: columns[name] + offset for name in ("position", "iteration")}
    columns |= {
        name: pl.Series([kind[i] for kind in gathered.kinds], dtype=pl.String).gather(gathered.kind[chosen])
        for i, name in enumerate(("metric", "unit", "direction"))
    }
    return pl.DataFrame(columns | {"value": gathered.value[chosen]})


def _imported(engine: Engine, column: Chosen) -> pl.DataFrame:
    t, m, s = schema.trial.c, schema.metric.c, schema.samples.c
    told = [t.block, t.position, t.workload, t.parameters, m.name.label("metric"), m.unit, m.direction]
    query = select(*told, s.data).join_from(schema.trial, schema.metric)
    query = query.join(schema.samples, (s.trial_id == m.trial_id) & (s.name == m.name))
    query = query.where(t.run_id == column.run.id, t.variant == column.variant)
    query = query.where(t.phase == "measure", t.state == "ok", schema.current).order_by(t.position)
    with engine.connect() as connection:
        lines = list(driver_rows(connection, query))
    samples = [np.asarray(unpack(line[-1])) for line in lines]
    of = np.repeat(np.arange(len(lines)), [len(held) for held in samples])
    types = {one.name: COLUMNS[one.name] for one in told}
    frame = pl.DataFrame([line[:-1] for line in lines], schema=types, orient="row")[of]
    counted = [np.arange(1, len(held) + 1) for held in samples]
    return frame.with_columns(
        pl.Series("iteration", np.concatenate([np.empty(0, np.int64), *counted])),
        pl.Series("value", np.concatenate([np.empty(0), *samples])),
    )
