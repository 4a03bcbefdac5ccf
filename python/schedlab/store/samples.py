"""Every sample of the chosen columns, one a line: for those who want to look at the figures in their own way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
from sqlalchemy import Engine, select

from schedlab.store import schema
from schedlab.store.columns import Chosen
from schedlab.store.packing import unpack

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

CHUNK = 20_000
"""Lines that are held as Python objects at a time: a million of them would take a gigabyte."""

_OF_TRIAL = ("block", "position", "iteration", "workload", "parameters")
_OF_METRIC = ("metric", "unit", "direction")


def long(engine: Engine, chosen: Sequence[Chosen]) -> pl.DataFrame:
    """All samples of all metrics, judged or not, column by column in the order in which they were taken.

    A measured trial is one sample of each of its metrics. An imported trial holds all samples of its block: they share
    its position, and their iteration counts them from 1.
    """
    empty = pl.DataFrame(schema=COLUMNS)
    return pl.concat([empty, *(frame for column in chosen for frame in _frames(column.store or engine, column))])


def _frames(engine: Engine, column: Chosen) -> Iterator[pl.DataFrame]:
    known = {"run": column.run.id, "column": column.name, "kind": column.run.kind}
    told = [pl.lit(value).alias(name) for name, value in known.items()]
    read = _imported if not column.run.design.paired else _measured
    for frame in read(engine, column):
        yield frame.with_columns(told).select(pl.col(name).cast(kind) for name, kind in COLUMNS.items())


def _measured(engine: Engine, column: Chosen) -> Iterator[pl.DataFrame]:
    types = {name: COLUMNS[name] for name in (*_OF_TRIAL, *_OF_METRIC, "value")}
    for lines in _chunks(engine, column, with_samples=False):
        yield pl.DataFrame(lines, schema=types, orient="row")


def _imported(engine: Engine, column: Chosen) -> Iterator[pl.DataFrame]:
    types = {name: COLUMNS[name] for name in (*_OF_TRIAL, *_OF_METRIC)} | {"value": pl.List(pl.Float64)}
    for lines in _chunks(engine, column, with_samples=True):
        held = [(*line[:-1], unpack(line[-1]).tolist()) for line in lines]
        frame = pl.DataFrame(held, schema=types, orient="row")
        counted = pl.int_ranges(1, pl.col("value").list.len() + 1).alias("iteration")
        yield frame.with_columns(counted).explode("iteration", "value")


def _chunks(engine: Engine, column: Chosen, *, with_samples: bool) -> Iterator[Sequence[tuple[Any, ...]]]:
    t, m, s = schema.trial.c, schema.metric.c, schema.samples.c
    value = s.data if with_samples else m.value
    query = select(*(t[name] for name in _OF_TRIAL), m.name, m.unit, m.direction, value)
    query = query.join_from(schema.trial, schema.metric)
    if with_samples:
        query = query.join(schema.samples, (s.trial_id == m.trial_id) & (s.name == m.name))
    query = query.where(t.run_id == column.run.id, t.variant == column.variant)
    query = query.where(t.phase == "measure", t.state == "ok", t.superseded == 0).order_by(t.position)
    with engine.connect() as connection:
        cursor = connection.connection.cursor()
        cursor.execute(str(query.compile(engine, compile_kwargs={"literal_binds": True})))
        while lines := cursor.fetchmany(CHUNK):
            yield lines
