"""Whether what is to be imported is in the store already: the same columns with the same samples, the same tables."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from sqlalchemy import Connection, Engine, select

from schedlab.results import Import, Series
from schedlab.store import schema
from schedlab.store.importing import KIND, canonical

Cell = tuple[int, str, str, str, str, str]
"""Block, workload, parameters, metric, unit, direction."""


@dataclass(frozen=True)
class Twin:
    """A run of the store that holds just this: ``name`` is a column, or the text that tables were read from."""

    run_id: int
    name: str


def twins(engine: Engine, imports: Sequence[Import]) -> list[Twin]:
    """The runs that hold what the imports would add once more, a run for each column or text that is there already."""
    with engine.connect() as connection:
        return [twin for found in imports for twin in _of_import(connection, found)]


def _of_import(connection: Connection, found: Import) -> Iterator[Twin]:
    r = schema.run.c
    for column in found.columns:
        series = [one for one in found.series if one.column == column]
        same_name = select(r.id).where(r.kind == KIND, r.name == column).order_by(r.id.desc())
        for run_id in connection.execute(same_name).scalars():
            if series and _holds(connection, run_id, series):
                yield Twin(run_id, column)
                break
    if found.tables:
        bodies = [json.dumps(asdict(table), ensure_ascii=False) for table in found.tables]
        p = schema.printed.c
        first = select(p.run_id).where(p.position == 0, p.body == bodies[0]).order_by(p.run_id.desc())
        for run_id in connection.execute(first).scalars():
            held = select(p.body).where(p.run_id == run_id).order_by(p.position)
            if list(connection.execute(held).scalars()) == bodies:
                yield Twin(run_id, found.source)
                break


def _holds(connection: Connection, run_id: int, series: Sequence[Series]) -> bool:
    """Whether a run has these samples, and no others."""
    t, m, s = schema.trial.c, schema.metric.c, schema.samples.c
    query = select(t.block, t.workload, t.parameters, m.name, m.unit, m.direction, s.data)
    query = query.join_from(schema.trial, schema.metric)
    query = query.join(schema.samples, (s.trial_id == m.trial_id) & (s.name == m.name)).where(t.run_id == run_id)
    wanted = {_cell(one): one.values for one in series}
    held: dict[Cell, bytes] = {tuple(row[:6]): row[6] for row in connection.execute(query)}
    if held.keys() != wanted.keys():
        return False
    return all(
        np.array_equal(np.frombuffer(zlib.decompress(data), dtype="<f8"), wanted[cell]) for cell, data in held.items()
    )


def _cell(one: Series) -> Cell:
    return one.block, one.workload, canonical(one.parameters), one.metric, one.unit, one.direction
