"""Imported results in the store: a run for each column of samples, and a run for the printed tables of a text."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from typing import Any
from uuid import uuid4

import numpy as np
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, Engine, insert, select

from schedlab.analysis.rows import Question
from schedlab.errors import StoreError
from schedlab.results.imported import NOT_STATED, Import, Series, Table
from schedlab.results.kinds import IMPORTED
from schedlab.store import backends, reader, schema
from schedlab.store.backends import snapshot
from schedlab.store.cells import MOST_SAMPLES, StoredCell, pack, unpack_samples
from schedlab.store.checksums import Damaged, checked, sealed
from schedlab.store.design import StoredDesign
from schedlab.store.run_rows import UNKNOWN_MACHINE
from schedlab.store.schema import store_in_memory
from schedlab.store.tables import CONDITIONS
from schedlab.store.trials import sample_values


def record_imports(engine: Engine, imports: Sequence[Import]) -> list[int]:
    """Store all imports in one transaction; return the numbers of the new runs, baselines first."""
    columns = [[_column(imported, *each) for each in imported.by_column().items()] for imported in imports]
    cells = sum(len(column.cells) for of_import in columns for column in of_import)
    with backends.writing(engine) as connection:
        backend, rows = backends.of(connection.engine), _Rows(connection)
        of_cells, of_trials = (backend.numbers(connection, table, cells) for table in ("cell", "trial"))
        numbers = zip(of_cells, of_trials, strict=True)
        run_ids = [
            run_id
            for imported, of_import in zip(imports, columns, strict=True)
            for run_id in _record(rows, numbers, imported, of_import)
        ]
        rows.insert()
        return run_ids


def read_into_memory(imports: Sequence[Import]) -> tuple[Engine, list[reader.Run]]:
    """Return a store of these imports that ends with the process, and its runs, baselines first."""
    engine = store_in_memory()
    return engine, [reader.run(engine, run_id) for run_id in record_imports(engine, imports)]


def canonical(parameters: Mapping[str, Any]) -> str:
    """Return parameters in the store's form: JSON with sorted keys."""
    return json.dumps(dict(parameters), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


CellKey = tuple[int, str, str]
"""Block, workload, parameters (canonical JSON)."""


@dataclass(frozen=True)
class _Column:
    """The series of a column by cell, in the order of each cell's first series."""

    name: str
    cells: Mapping[CellKey, Sequence[Series]]


def _column(imported: Import, name: str, of_column: Sequence[Series]) -> _Column:
    """Return a column; StoreError if it has too many samples."""
    if sum(len(series.values) for series in of_column) > MOST_SAMPLES:
        todo = "import fewer files at once, or summaries"
        message = f"column {name} has more than {MOST_SAMPLES:,} samples"
        raise StoreError(message, where=imported.source, todo=todo)
    cells: dict[CellKey, list[Series]] = {}
    for series in of_column:
        cells.setdefault(_cell_key(series), []).append(series)
    return _Column(name, cells)


class _Rows:
    """Rows of the tables of samples of one command, inserted together: a statement for each of 10,000 columns takes
    most of the time. ``identity``: what all columns of the command share."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.identity = uuid4().hex
        tables = (schema.cell, schema.trial, schema.metric, schema.samples)
        self.tables = {table: list[dict[str, Any]]() for table in tables}

    def insert(self) -> None:
        """Insert the rows, and forget them."""
        for table, rows in self.tables.items():
            if rows:
                self.connection.execute(insert(table), rows)
                rows.clear()


MOST_CELLS = 1_000
"""Cells whose rows are kept until they are inserted."""


def _record(
    rows: _Rows, numbers: Iterator[tuple[int, int]], imported: Import, columns: Sequence[_Column]
) -> Iterator[int]:
    for column in columns:
        yield _record_column(rows, numbers, imported, column)
    if imported.tables:
        names = list(dict.fromkeys(column for table in imported.tables for column in table.columns))
        run_id = _begin(rows.connection, imported, _file_names(imported.source), _design([], names, 1, 1), 0)
        printed = [_printed(run_id, position, table) for position, table in enumerate(imported.tables)]
        rows.connection.execute(insert(schema.printed), printed)
        yield run_id


def _file_names(source: str) -> str:
    """Return the names of a run's source files, without their folders."""
    return ", ".join(part.rstrip("/").rpartition("/")[2] for part in source.split(", "))


def _record_column(rows: _Rows, numbers: Iterator[tuple[int, int]], imported: Import, column: _Column) -> int:
    """Store a column: a cell of one trial for each block, workload and parameters, with the samples of its metrics.

    ``numbers``: for each cell, its number and the number of its trial.
    """
    questions = {
        (workload, parameters, series.metric): _question(series, parameters)
        for (_, workload, parameters), of_cell in column.cells.items()
        for series in of_cell
    }
    blocks = max(block for block, _, _ in column.cells)
    most = max(len(series.values) for of_cell in column.cells.values() for series in of_cell)
    design = _design(list(questions.values()), [column.name], blocks, most, rows.identity)
    run_id = _begin(rows.connection, imported, column.name, design, len(column.cells))
    for position, (key, of_cell) in enumerate(column.cells.items()):
        cell_id, trial_id = next(numbers)
        _add_cell(rows, StoredCell(cell_id, run_id, "measure", key[0], column.name, *key[1:], position), of_cell)
        trial = sealed("trial", {"cell_id": cell_id, "position": position} | _TRIAL)
        rows.tables[schema.trial].append({"id": trial_id} | trial)
        rows.tables[schema.samples].extend(sample_values(trial_id, series.metric, series.values) for series in of_cell)
        if len(rows.tables[schema.cell]) >= MOST_CELLS:
            rows.insert()
    return run_id


def _add_cell(rows: _Rows, cell: StoredCell, of_cell: Sequence[Series]) -> None:
    """Add the row of a cell and the rows of its metrics; StoreError for a value that is not finite."""
    cell.conditions = _CONDITIONS
    for series in of_cell:
        if not np.isfinite(series.values).all():
            raise StoreError(
                f"{series.metric} of {cell.workload} in column {cell.variant}, block {cell.block}, has a value that is "
                "not finite",
                where=str(series.source),
                todo="remove the values that are inf or NaN, and import the file again",
            )
        scale = {"name": series.metric, "unit": series.unit, "direction": series.direction}
        mean = np.array([series.values.mean()])
        cell.metrics[series.metric, series.unit, series.direction] = mean
        rows.tables[schema.metric].append({"cell_id": cell.id, "data": pack(mean)} | scale)
    rows.tables[schema.cell].append({"id": cell.id} | cell.row())


_CONDITIONS = np.full((1, len(CONDITIONS)), np.nan)
"""Conditions of a trial of which nothing was observed."""
_TRIAL = {"iteration": 0, "state": "ok", "reason": "", "started": 0.0, "counters": "{}"}


def _cell_key(series: Series) -> CellKey:
    return series.block, series.workload, canonical(series.parameters)


def _question(series: Series, parameters: str) -> Question:
    return Question(
        series.workload, parameters, series.metric, series.unit, series.direction, series.label, series.decimals
    )


def _design(
    questions: list[Question], variants: list[str], blocks: int, iterations: int, beside: str = ""
) -> StoredDesign:
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
        beside=beside,
    )


def _begin(connection: Connection, imported: Import, name: str, design: StoredDesign, planned: int) -> int:
    """Record the row of a run, with the origin of a column in the columns that measured runs use."""
    now, origin = time.time(), imported.origins.get(name, NOT_STATED)
    kernel = {key: value for key, value in (("release", origin.kernel), ("hostname", origin.host)) if value}
    values = {
        "name": name,
        "target": imported.format,
        "kind": IMPORTED,
        "state": "complete",
        "seed": "0",
        "quick": 0,
        "experiment_file": "",
        "experiment_path": imported.source,
        "design": design.model_dump_json(),
        "planned": planned,
        "fingerprint": json.dumps({"kernel": kernel} if kernel else {}, ensure_ascii=False),
        "fingerprint_hash": UNKNOWN_MACHINE,
        "notes": json.dumps(list(imported.notes)),
        "changed": "[]",
        "started": now if origin.started is None else origin.started,
        # The end of a measurement is never stated, and a run without an end has the start that its source states.
        "finished": now if origin.started is None else None,
        "version": _version(),
    }
    return schema.insert_row(connection, schema.run, sealed("run", values | {"process": None}))


@cache
def _version() -> str:
    """Return the version of schedlab, which takes a millisecond to find."""
    return version("schedlab")


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
    r, named = schema.run.c, dict[str, list[int]]()
    with snapshot(engine) as connection:
        # Read once: runs have no index of names, and an import may have thousands of columns.
        for run_id, name in connection.execute(select(r.id, r.name).where(r.kind == IMPORTED).order_by(r.id.desc())):
            named.setdefault(name, []).append(run_id)
        return [duplicate for imported in imports for duplicate in _duplicates(connection, imported, named)]


def _duplicates(connection: Connection, imported: Import, named: Mapping[str, Sequence[int]]) -> Iterator[Duplicate]:
    """Yield the duplicates of an import; ``named``: the imported runs of each name, the newest first."""
    for column, of_column in imported.by_column().items():
        for run_id in named.get(column, ()):
            if _has_series(connection, run_id, of_column):
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
