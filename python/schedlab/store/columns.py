"""The reader of samples: the cells of a run, columns side by side, and all samples as one table for other programs."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from sqlalchemy import Connection, Engine, select

from schedlab.analysis.distributions import CellSamples, ColumnRow, Columns
from schedlab.analysis.rows import Question, RowKey, worst_rows
from schedlab.store import cells, schema
from schedlab.store.backends import snapshot
from schedlab.store.cells import Samples
from schedlab.store.reader import Run


@dataclass(frozen=True)
class Chosen:
    """One column of a report: a variant of a run, and the name to show.

    ``store`` is the run's store if the other columns are from another store.
    """

    run: Run
    variant: str
    name: str
    store: Engine | None = None

    @property
    def stored(self) -> bool:
        """Whether the run is in a store, not only in memory after a path was read."""
        return self.store is None or self.store.url.database not in (None, "", ":memory:")


def variants_of(run: Run) -> list[Chosen]:
    """Return a run's columns, the baseline first; the A/A control is a column too."""
    return [Chosen(run, name, name) for name in run.design.variants]


def read_cells(
    engine: Engine, run: Run, variants: Collection[str] | None = None, *, samples: bool = True
) -> list[CellSamples]:
    """Read the measured cells of a run, without warm-up, in the order of the plan; with ``variants`` only theirs.

    Without ``samples``, the cells of an imported run have the mean of each block alone.

    Raises Damaged, see :func:`schedlab.store.cells.read`.
    """
    with snapshot(engine) as connection:
        stored = cells.read(connection, schema.cell.c.run_id == run.id, schema.current)
        imported = _imported_samples(connection, run) if samples and not run.design.paired else {}
    worst = worst_rows(run.design.questions)
    return [
        CellSamples(
            cell.block, cell.variant, cell.workload, cell.parameters, cell.position, metric, unit, direction, values,
            imported.get((cell.id, metric)), (cell.workload, cell.parameters, metric) in worst,
        )
        for cell in stored
        if cell.measured and (variants is None or cell.variant in variants)
        for (metric, unit, direction), values in sorted(cell.metrics.items())
    ]  # fmt: skip


def _imported_samples(connection: Connection, run: Run) -> dict[tuple[int, str], Samples]:
    """Return the samples of an imported run by cell and metric: each of its cells has one trial."""
    t = schema.trial.c
    query = select(t.cell_id, t.position, schema.samples).select_from(schema.cell.join(schema.trial))
    rows = connection.execute(query.join(schema.samples).where(schema.cell.c.run_id == run.id)).mappings().all()
    keys = [(row["cell_id"], row["name"]) for row in rows]
    arrays = cells.unpack_samples(
        connection, rows, lambda row: f"run {run.id}: sample array of trial {row['position']}"
    )
    return dict(zip(keys, arrays, strict=True))


def samples_by_row(of_run: Iterable[CellSamples], variant: str) -> dict[RowKey, Samples]:
    """Return a variant's samples over all blocks, by row, in the order of the plan."""
    parts: dict[RowKey, list[Samples]] = {}
    for cell in of_run:
        if cell.variant == variant and len(samples := cell.samples):
            parts.setdefault((cell.workload, cell.parameters, cell.metric), []).append(samples)
    return {row: np.concatenate(arrays) for row, arrays in parts.items()}


def columns(engine: Engine, chosen: Sequence[Chosen]) -> Columns:
    """Return the samples of every row that any of the columns has, rows in the order of their first appearance.

    A row is a workload with its parameters and a metric. A column whose unit or direction in a row differs from the
    first column's has no samples there. Samples run over all blocks.
    """
    of_run = cells_of_runs(engine, chosen)
    questions: dict[RowKey, Question] = {}
    for column in chosen:
        for key, question in _questions(column).items():
            questions.setdefault(key, question)
    by_column = [
        _comparable(samples_by_row(of_run[run_key(engine, column)], column.variant), _questions(column), questions)
        for column in chosen
    ]
    rows = [
        ColumnRow(
            question.workload,
            question.metric,
            question.unit,
            question.direction,
            json.loads(question.parameters),
            tuple(samples.get(key) for samples in by_column),
            question.label,
            question.decimals,
        )
        for key, question in questions.items()
    ]
    return Columns(tuple(column.name for column in chosen), tuple(rows))


def run_key(engine: Engine, column: Chosen) -> tuple[Engine, int]:
    """Return store and number of a column's run: runs of two stores may have the same number."""
    return column.store or engine, column.run.id


def cells_of_runs(engine: Engine, chosen: Sequence[Chosen]) -> dict[tuple[Engine, int], list[CellSamples]]:
    """Read each run once, with the variants that are among the columns."""
    of_run: dict[tuple[Engine, int], list[CellSamples]] = {}
    for column in chosen:
        key = run_key(engine, column)
        if key not in of_run:
            variants = {other.variant for other in chosen if run_key(engine, other) == key}
            of_run[key] = read_cells(key[0], column.run, variants)
    return of_run


def _questions(column: Chosen) -> dict[RowKey, Question]:
    questions = column.run.design.questions
    return {question.row: question for question in questions}


def _comparable(
    samples: Mapping[RowKey, Samples], questions: Mapping[RowKey, Question], rows: Mapping[RowKey, Question]
) -> dict[RowKey, Samples]:
    def same_scale(key: RowKey) -> bool:
        return key in questions and (questions[key].unit, questions[key].direction) == (
            rows[key].unit,
            rows[key].direction,
        )

    return {key: samples[key] for key in rows if key in samples and same_scale(key)}


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
