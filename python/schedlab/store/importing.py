"""Writing what was imported: a run for each column of samples, one for the tables of a text; all of it or nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Engine, insert

from schedlab.analysis.rows import Question
from schedlab.results import Import, Series, Table
from schedlab.store import schema
from schedlab.store.design import StoredDesign
from schedlab.store.packing import pack

KIND = "imported"
"""How the figures of such runs came to be; every report says so."""


def record_imports(engine: Engine, imports: Sequence[Import]) -> list[int]:
    """Store everything that was read, in one transaction; the numbers of the runs made, baselines first."""
    with engine.begin() as connection:
        return [run_id for found in imports for run_id in _record(connection, found)]


def canonical(parameters: Mapping[str, Any]) -> str:
    """Parameters as the store keeps them: JSON with sorted keys; numpy's numbers become plain ones."""
    return json.dumps(dict(parameters), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _record(connection: Connection, found: Import) -> Iterable[int]:
    for column in found.columns:
        of_column = [series for series in found.series if series.column == column]
        if of_column:
            yield _record_column(connection, found, column, of_column)
    if found.tables:
        run_id = _begin(connection, found, _called(found.source), _design([], _all_columns(found.tables), 1, 1), 0)
        connection.execute(insert(schema.printed), [_printed(run_id, i, t) for i, t in enumerate(found.tables)])
        yield run_id


def _called(source: str) -> str:
    """What a run is called after: the names of its files, without their folders."""
    return ", ".join(part.rstrip("/").rpartition("/")[2] for part in source.split(", "))


def _record_column(connection: Connection, found: Import, column: str, of_column: Sequence[Series]) -> int:
    questions = {_row(series): _question(series) for series in of_column}
    blocks, most = max(s.block for s in of_column), max(len(s.values) for s in of_column)
    cells = _cells(of_column)
    design = _design(list(questions.values()), [column], blocks, most)
    run_id = _begin(connection, found, column, design, len(cells))
    trials, metrics, samples = [], [], []
    first = (connection.exec_driver_sql("SELECT COALESCE(MAX(id), 0) FROM trial").scalar() or 0) + 1
    for position, ((block, workload, parameters), held) in enumerate(cells):
        key = first + position
        trials.append({"id": key} | _trial(run_id, position, block, workload, parameters, column))
        for series in held:
            names = {"trial_id": key, "name": series.metric}
            shown = {"unit": series.unit, "direction": series.direction, "value": float(series.values.mean())}
            metrics.append(names | shown)
            samples.append(names | {"count": len(series.values), "data": pack(series.values.tolist())})
    connection.execute(insert(schema.trial), trials)
    connection.execute(insert(schema.metric), metrics)
    connection.execute(insert(schema.samples), samples)
    return run_id


def _cells(of_column: Sequence[Series]) -> list[tuple[tuple[int, str, str], list[Series]]]:
    """The series of each block, workload and parameters: the metrics of one measurement."""

    def cell(series: Series) -> tuple[int, str, str]:
        return series.block, series.workload, canonical(series.parameters)

    order = {key: place for place, key in enumerate(dict.fromkeys(map(cell, of_column)))}
    by_cell = sorted(of_column, key=lambda series: order[cell(series)])
    return [(key, list(held)) for key, held in groupby(by_cell, key=cell)]


def _row(series: Series) -> tuple[str, str, str]:
    return series.workload, canonical(series.parameters), series.metric


def _question(series: Series) -> Question:
    workload, parameters, metric = _row(series)
    return Question(workload, parameters, metric, series.unit, series.direction, series.label, series.decimals)


def _all_columns(tables: Sequence[Table]) -> list[str]:
    return list(dict.fromkeys(column for table in tables for column in table.columns))


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


def _begin(connection: Connection, found: Import, name: str, design: StoredDesign, planned: int) -> int:
    now = time.time()
    values = {
        "name": name,
        "target": found.format,
        "kind": KIND,
        "state": "complete",
        "seed": "0",
        "quick": 0,
        "experiment_file": "",
        "experiment_path": found.source,
        "design": design.model_dump_json(),
        "planned": planned,
        "fingerprint": "{}",
        "fingerprint_hash": "-",
        "notes": json.dumps(list(found.notes)),
        "changed": "[]",
        "started": now,
        "finished": now,
        "version": version("schedlab"),
    }
    key = connection.execute(insert(schema.run).values(values)).inserted_primary_key
    assert key is not None
    return int(key[0])


def _trial(run_id: int, position: int, block: int, workload: str, parameters: str, column: str) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "position": position,
        "phase": "measure",
        "block": block,
        "variant": column,
        "workload": workload,
        "parameters": parameters,
        "iteration": 0,
        "state": "ok",
        "reason": "",
        "started": 0.0,
        "elapsed": 0.0,
        "counters": "{}",
    }


def _printed(run_id: int, position: int, table: Table) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "position": position,
        "layout": table.layout,
        "title": table.title,
        "workload": table.workload,
        "body": json.dumps(asdict(table), ensure_ascii=False),
    }
