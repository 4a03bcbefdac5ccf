"""A repeated import is recognised; an import with any difference is new."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import Engine

from schedlab.results.imported import Cell, Import, Series, Table, TableRow
from schedlab.store.imports import duplicates, record_imports
from tests.conftest import DATABASES  # noqa: F401 - each test runs with each database

ONE = Series("base", "tbench", "throughput", "MB/s", "higher", {"clients": 4}, np.array([1.0, 2.5]), "log")
TWO = replace(ONE, metric="latency", unit="ms", direction="lower", values=np.array([0.25]), block=2)
SAMPLES = Import("dbench", "base.log", ("base",), (ONE, TWO))
ROW = TableRow("Hmean", "1", {"clients": 1}, "MB/s", "higher", (Cell(1.5, "1.50"),), 3)
TABLES = Import("printed tables", "mail.txt", tables=(Table("mmtests", "tbench", "tbench", ("base",), (ROW,), 1),))


def test_the_same_samples_are_recognised_whatever_their_source(engine: Engine) -> None:
    assert duplicates(engine, [SAMPLES]) == []
    (run_id,) = record_imports(engine, [SAMPLES])
    assert [
        (duplicate.run_id, duplicate.name) for duplicate in duplicates(engine, [replace(SAMPLES, source="elsewhere")])
    ] == [(run_id, "base")]


def test_other_values_columns_or_rows_are_new(engine: Engine) -> None:
    record_imports(engine, [SAMPLES])
    changed_imports = [
        replace(SAMPLES, series=(replace(ONE, values=np.array([1.0, 2.6])), TWO)),
        replace(SAMPLES, series=(ONE,)),
        replace(SAMPLES, series=(ONE, TWO, replace(TWO, block=3))),
        replace(SAMPLES, columns=("new",), series=(replace(ONE, column="new"), replace(TWO, column="new"))),
        replace(SAMPLES, series=(replace(ONE, direction="lower"), TWO)),
    ]
    assert [duplicates(engine, [other]) for other in changed_imports] == [[], [], [], [], []]


def test_the_same_tables_are_recognised_and_other_tables_are_new(engine: Engine) -> None:
    (run_id,) = record_imports(engine, [TABLES])
    assert [(duplicate.run_id, duplicate.name) for duplicate in duplicates(engine, [TABLES])] == [(run_id, "mail.txt")]
    more = replace(TABLES, tables=(*TABLES.tables, *TABLES.tables))
    assert duplicates(engine, [more]) == []


def test_several_tables_are_recognised_only_together_and_in_their_order(engine: Engine) -> None:
    first, second = TABLES.tables[0], replace(TABLES.tables[0], title="hackbench")
    (run_id,) = record_imports(engine, [replace(TABLES, tables=(first, second))])
    matches = [
        [duplicate.run_id for duplicate in duplicates(engine, [replace(TABLES, tables=tables)])]
        for tables in ((first, second), (second, first), (first,), (first, first), (first, second, second))
    ]
    assert matches == [[run_id], [], [], [], []]


@pytest.mark.slow
def test_the_newest_of_several_equal_runs_is_named_once(engine: Engine) -> None:
    for results in (SAMPLES, TABLES):
        *_, newest = [run_id for _ in range(3) for run_id in record_imports(engine, [results])]
        assert [duplicate.run_id for duplicate in duplicates(engine, [results])] == [newest]
