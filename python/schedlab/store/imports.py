"""Imported results in the store: a run for each column of samples, and a run for the printed tables of a text."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from itertools import groupby
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, Engine, insert, select

from schedlab.analysis.rows import Question
from schedlab.errors import StoreError
from schedlab.results.imported import Import, Series, Table
from schedlab.store import backends, reader, schema
from schedlab.store.backends import snapshot
from schedlab.store.cells import MOST_SAMPLES, StoredCell, pack, unpack_samples
from schedlab.store.checksums import Damaged, checked, sealed
from schedlab.store.design import StoredDesign
from schedlab.store.schema import store_in_memory
from schedlab.store.tables import CONDITIONS
from schedlab.store.trials import sample_values

KIND = "imported"
"""Origin of the figures of imported runs, which every report states."""

CellKey = tuple[int, str, str]
"""Block, workload, parameters (canonical JSON)."""


def record_imports(engine: Engine, imports: Sequence[Import]) -> list[int]:
    """Store all imports in one transaction; return the numbers of the new runs, baselines first."""
    with backends.writing(engine) as connection:
        return [run_id for imported in imports for run_id in _record(connection, imported)]


def read_into_memory(imports: Sequence[Import]) -> tuple[Engine, list[reader.Run]]:
    """Return a store of these imports that ends with the process, and its runs, baselines first."""
    engine = store_in_memory()
    return engine, [reader.run(engine, run_id) for run_id in record_imports(engine, imports)]


def canonical(parameters: Mapping[str, Any]) -> str:
    """Return parameters in the store's form: JSON with sorted keys."""
    return json.dumps(dict(parameters), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _record(connection: Connection, imported: Import) -> Iterable[int]:
    for column in imported.columns:
        of_column = [series for series in imported.series if series.column == column]
        if of_column:
            yield _record_column(connection, imported, column, of_column)
    if imported.tables:
        columns = list(dict.fromkeys(column for table in imported.tables for column in table.columns))
        run_id = _begin(connection, imported, _file_names(imported.source), _design([], columns, 1, 1), 0)
        connection.execute(insert(schema.printed), [_printed(run_id, i, t) for i, t in enumerate(imported.tables)])
        yield run_id


def _file_names(source: str) -> str:
    """Return the names of a run's source files, without their folders."""
    return ", ".join(part.rstrip("/").rpartition("/")[2] for part in source.split(", "))


def _record_column(connection: Connection, imported: Import, column: str, of_column: Sequence[Series]) -> int:
    """Store a column: a cell of one trial for each block, workload and parameters, with the samples of its metrics."""
    if sum(len(series.values) for series in of_column) > MOST_SAMPLES:
        todo = "import fewer files at once, or summaries"
        message = f"column {column} has more than {MOST_SAMPLES:,} samples"
        raise StoreError(message, where=imported.source, todo=todo)
    questions = {(s.workload, canonical(s.parameters), s.metric): _question(s) for s in of_column}
    blocks, most = max(s.block for s in of_column), max(len(s.values) for s in of_column)
    grouped = _cells(of_column)
    design = _design(list(questions.values()), [column], blocks, most)
    run_id = _begin(connection, imported, column, design, len(grouped))
    backend = backends.of(connection.engine)
    cell_ids, trial_ids = (backend.numbers(connection, table, len(grouped)) for table in ("cell", "trial"))
    cells, trials, metrics, samples = [], [], [], []
    conditions = np.full((1, len(CONDITIONS)), np.nan)
    for position, ((block, workload, parameters), of_cell) in enumerate(grouped):
        cell_id, trial_id = cell_ids[position], trial_ids[position]
        cell = StoredCell(cell_id, run_id, "measure", block, column, workload, parameters, position)
        cell.conditions = conditions
        for series in of_cell:
            if not np.isfinite(series.values).all():
                message = (
                    f"{series.metric} of {workload} in column {column}, block {block}, has a value that is not finite"
                )
                raise StoreError(
                    message,
                    where=str(series.source),
                    todo=("remove the values that are inf or NaN, and import the file again"),
                )
            scale = {"name": series.metric, "unit": series.unit, "direction": series.direction}
            mean = np.array([series.values.mean()])
            cell.metrics[series.metric, series.unit, series.direction] = mean
            metrics.append({"cell_id": cell_id, "data": pack(mean)} | scale)
            samples.append(sample_values(trial_id, series.metric, series.values))
        cells.append({"id": cell_id} | cell.row())
        trials.append({"id": trial_id} | sealed("trial", {"cell_id": cell_id, "position": position} | _TRIAL))
    for table, rows in (
        (schema.cell, cells),
        (schema.trial, trials),
        (schema.metric, metrics),
        (schema.samples, samples),
    ):
        connection.execute(insert(table), rows)
    return run_id


_TRIAL = {"iteration": 0, "state": "ok", "reason": "", "started": 0.0, "counters": "{}"}


def _cells(of_column: Sequence[Series]) -> list[tuple[CellKey, list[Series]]]:
    """Group series by cell, in the order of each cell's first series."""
    order = {key: place for place, key in enumerate(dict.fromkeys(map(_cell_key, of_column)))}
    by_cell = sorted(of_column, key=lambda series: order[_cell_key(series)])
    return [(key, list(group)) for key, group in groupby(by_cell, key=_cell_key)]


def _cell_key(series: Series) -> CellKey:
    return series.block, series.workload, canonical(series.parameters)


def _question(series: Series) -> Question:
    parameters = canonical(series.parameters)
    return Question(
        series.workload, parameters, series.metric, series.unit, series.direction, series.label, series.decimals
    )


def _design(questions: list[Question], variants: list[str], blocks: int, iterations: int) -> StoredDesign:
    return StoredDesign(
        question="",
        blocks=blocks,
        iterations=iterations,
        variants=variants,
        control=None,
        questions=questions,
        alpha=0.05,
        delta=0.01,
        correction="holm",
        family="variant",
        paired=False,
    )


def _begin(connection: Connection, imported: Import, name: str, design: StoredDesign, planned: int) -> int:
    now = time.time()
    values = {
        "name": name,
        "target": imported.format,
        "kind": KIND,
        "state": "complete",
        "seed": "0",
        "quick": 0,
        "experiment_file": "",
        "experiment_path": imported.source,
        "design": design.model_dump_json(),
        "planned": planned,
        "fingerprint": "{}",
        "fingerprint_hash": "-",
        "notes": json.dumps(list(imported.notes)),
        "changed": "[]",
        "started": now,
        "finished": now,
        "version": version("schedlab"),
    }
    return schema.insert_row(connection, schema.run, sealed("run", values | {"process": None}))


def _printed(run_id: int, position: int, table: Table) -> dict[str, Any]:
    row = {"run_id": run_id, "position": position, "body": _body(table)}
    return sealed("printed", row | {name: getattr(table, name) for name in ("layout", "title", "workload")})


def _body(table: Table) -> str:
    return json.dumps(asdict(table), ensure_ascii=False)


@cache
def _table_adapter() -> TypeAdapter[Table]:
    return TypeAdapter(Table)


def printed_tables(engine: Engine, run_id: int) -> tuple[Table, ...]:
    """Return the printed tables of an imported run, in the order of their source; empty for other runs."""
    p = schema.printed.c
    query = select(schema.printed).where(p.run_id == run_id).order_by(p.position)
    with snapshot(engine) as connection:
        rows = connection.execute(query).mappings().all()
        name = f"run {run_id}: printed table"
        bodies = [
            checked(str(engine.url.database), "printed", row, f"{name} {row['position']}")["body"] for row in rows
        ]
    try:
        return tuple(_table_adapter().validate_json(body) for body in bodies)
    except ValidationError as error:
        raise Damaged(f"{name} is damaged: {error.errors()[0]['msg']}", str(engine.url.database)) from error


@dataclass(frozen=True)
class Duplicate:
    """A stored run with the same content as an import; ``name`` is a column, or the source of printed tables."""

    run_id: int
    name: str


def duplicates(engine: Engine, imports: Sequence[Import]) -> list[Duplicate]:
    """Return the newest stored run for each column, or text, whose samples or tables are stored already."""
    with snapshot(engine) as connection:
        return [duplicate for imported in imports for duplicate in _duplicates(connection, imported)]


def _duplicates(connection: Connection, imported: Import) -> Iterator[Duplicate]:
    r = schema.run.c
    for column in imported.columns:
        of_column = [series for series in imported.series if series.column == column]
        same_name = select(r.id).where(r.kind == KIND, r.name == column).order_by(r.id.desc())
        for run_id in connection.execute(same_name).scalars().all():
            if of_column and _has_series(connection, run_id, of_column):
                yield Duplicate(run_id, column)
                break
    if imported.tables:
        bodies = [_body(table) for table in imported.tables]
        p = schema.printed.c
        first = select(p.run_id).where(p.position == 0, p.body == bodies[0]).order_by(p.run_id.desc())
        for run_id in connection.execute(first).scalars().all():
            stored = select(p.body).where(p.run_id == run_id).order_by(p.position)
            if list(connection.execute(stored).scalars()) == bodies:
                yield Duplicate(run_id, imported.source)
                break


def _has_series(connection: Connection, run_id: int, of_column: Sequence[Series]) -> bool:
    """Return whether a run has exactly these samples."""
    c, m, s, t = schema.cell.c, schema.metric.c, schema.samples.c, schema.trial.c
    query = select(c.block, c.workload, c.parameters, m.name, m.unit, m.direction, schema.samples)
    query = query.select_from(schema.cell.join(schema.metric).join(schema.trial, t.cell_id == c.id))
    query = query.join(schema.samples, (s.trial_id == t.id) & (s.name == m.name)).where(c.run_id == run_id)
    wanted = {(*_cell_key(each), each.metric, each.unit, each.direction): each.values for each in of_column}
    rows = connection.execute(query).all()
    if {tuple(row[:6]) for row in rows} != wanted.keys():
        return False
    try:
        arrays = unpack_samples(connection, [row._mapping for row in rows], lambda row: f"run {run_id}")
        return all(np.array_equal(array, wanted[tuple(row[:6])]) for row, array in zip(rows, arrays, strict=True))
    except Damaged:
        return False
