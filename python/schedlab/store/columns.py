"""Reading raw samples side by side: every iteration of every block, which means over blocks have lost."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Engine, select

from schedlab.analysis.distributions import ColumnRow, Columns
from schedlab.analysis.rows import Question
from schedlab.store import schema
from schedlab.store.figures import Samples
from schedlab.store.gathering import Gathered, Row, gather
from schedlab.store.packing import unpack
from schedlab.store.reading import Run


@dataclass(frozen=True)
class Chosen:
    """One column: a variant of a run, and the name to show it by.

    ``store`` is where the run lies when that is not the store which the others are read from.
    """

    run: Run
    variant: str
    name: str
    store: Engine | None = None


def variants_of(run: Run) -> list[Chosen]:
    """A run's own columns, the baseline first; the A/A control is one of them."""
    return [Chosen(run, name, name) for name in run.design.variants]


def columns(
    engine: Engine,
    chosen: Sequence[Chosen],
    only: Collection[Row] | None = None,
    gathered: Mapping[int, Gathered] | None = None,
) -> Columns:
    """The samples of every row that any of the columns asks about, rows in the order in which they are first met.

    A row is a workload with its parameters and a metric; with ``only`` no others are given. A column that has it in
    another unit or direction than the first has no samples there. An imported column has the samples that its source
    printed; a measured one the value of each good trial, in the order of the plan. Both run over all blocks.
    ``gathered`` are measured runs of ``engine`` that have been read already, by number.
    """
    read = dict(gathered or {})
    for run_id, several in _measured(chosen).items():
        if run_id not in read:
            read[run_id] = gather(engine, run_id, several)
    questions: dict[Row, Question] = {}
    for column in chosen:
        for key, question in _asked(column).items():
            if only is None or key in only:
                questions.setdefault(key, question)
    held = [_comparable(_held(engine, column, read), _asked(column), questions) for column in chosen]
    rows = [
        ColumnRow(
            question.workload,
            question.metric,
            question.unit,
            question.direction,
            json.loads(question.parameters),
            tuple(of_column.get(key) for of_column in held),
            question.label,
            question.decimals,
        )
        for key, question in questions.items()
    ]
    return Columns(tuple(column.name for column in chosen), tuple(rows))


def _measured(chosen: Sequence[Chosen]) -> dict[int, set[str]]:
    """The variants of each measured run of the store itself: one pass reads all of a run's."""
    variants: dict[int, set[str]] = {}
    for column in chosen:
        if column.store is None and column.run.design.paired:
            variants.setdefault(column.run.id, set()).add(column.variant)
    return variants


def _held(engine: Engine, column: Chosen, read: Mapping[int, Gathered]) -> dict[Row, Samples]:
    if column.store is None and column.run.id in read:
        return read[column.run.id].samples(column.variant)
    return samples_of(column.store or engine, column)


def _asked(column: Chosen) -> dict[Row, Question]:
    questions = column.run.design.questions
    return {(question.workload, question.parameters, question.metric): question for question in questions}


def _comparable(
    held: Mapping[Row, Samples], own: Mapping[Row, Question], rows: Mapping[Row, Question]
) -> dict[Row, Samples]:
    def alike(key: Row) -> bool:
        return key in own and (own[key].unit, own[key].direction) == (rows[key].unit, rows[key].direction)

    return {key: held[key] for key in rows if key in held and alike(key)}


def samples_of(engine: Engine, column: Chosen) -> dict[Row, Samples]:
    """A column's samples over all blocks, by row."""
    if column.run.design.paired:
        return gather(engine, column.run.id, {column.variant}).samples(column.variant)
    return _imported(engine, column)


def _imported(engine: Engine, column: Chosen) -> dict[Row, Samples]:
    t, s = schema.trial.c, schema.samples.c
    query = select(t.workload, t.parameters, s.name, s.data).join_from(schema.trial, schema.samples)
    query = query.where(t.run_id == column.run.id, schema.current).order_by(t.position)
    packed: dict[Row, list[bytes]] = {}
    with engine.connect() as connection:
        for workload, parameters, metric, data in connection.execute(query):
            packed.setdefault((workload, parameters, metric), []).append(data)
    return {row: np.concatenate([np.asarray(unpack(data)) for data in held]) for row, held in packed.items()}
