"""Stored imports: samples of every column and printed tables are read exactly. A failed import stores nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import Engine

from schedlab.errors import StoreError
from schedlab.findings.run import findings
from schedlab.results.imported import Cell, Import, Origin, Series, Table, TableRow
from schedlab.store import reader
from schedlab.store.columns import Chosen, columns
from schedlab.store.imports import printed_tables, record_imports
from tests.conftest import DATABASES  # noqa: F401 - each test runs with each database

pytestmark = pytest.mark.slow


def series(column: str, metric: str, clients: int, values: list[float], block: int = 1) -> Series:
    parameters, label = {"clients": clients}, f"{metric}-{clients}"
    return Series(column, "tbench", metric, "MB/s", "higher", parameters, np.array(values), "log", label, block)


TREE = Import(
    "mmtests",
    "results",
    ("old", "new"),
    (
        series("old", "throughput", 4, [1.0, 2.0, 4.5]),
        series("old", "throughput", 4, [3.0], block=2),
        series("old", "latency", 4, [9.0]),
        series("new", "throughput", 4, [5.0, 0.1]),
        series("new", "throughput", 8, [7.0]),
    ),
)
TABLE = Table(
    "mmtests",
    "tbench4",
    "tbench",
    ("vanilla", "patched"),
    (
        TableRow(
            "Hmean", "mb/sec-1", {"clients": 1}, "MB/s", "higher",
            (Cell(500.85, "500.85", 0.0, "0.00%"), Cell(None, "-")), 7,
        ),
    ),
    4,
)  # fmt: skip


def chosen(engine: Engine, run_id: int) -> Chosen:
    run = reader.run(engine, run_id)
    return Chosen(run, run.design.variants[0], run.name)


def test_each_column_of_samples_is_a_run_and_is_read_exactly(engine: Engine) -> None:
    old, new = record_imports(engine, [TREE])
    read = columns(engine, [chosen(engine, old), chosen(engine, new)])
    assert read.names == ("old", "new")
    by_label = {row.label: row for row in read.rows}
    assert list(by_label) == ["throughput-4", "latency-4", "throughput-8"]
    cells = [None if cell is None else cell.tolist() for row in read.rows for cell in row.samples]
    assert cells == [[1.0, 2.0, 4.5, 3.0], [5.0, 0.1], [9.0], None, None, [7.0]]
    assert by_label["throughput-4"].parameters == {"clients": 4}


def test_an_imported_run_has_its_kind_and_blocks(engine: Engine) -> None:
    old, _ = record_imports(engine, [TREE])
    result = findings(engine, old)
    assert (result.run.kind, result.run.state, result.run.design.blocks, result.paired) == (
        "imported",
        "complete",
        2,
        False,
    )
    means = {(row["metric"], row["block"]): row["value"] for row in result.values.iter_rows(named=True)}
    assert means == {("throughput", 1): 2.5, ("throughput", 2): 3.0, ("latency", 1): 9.0}


def test_an_imported_run_is_not_quick(engine: Engine) -> None:
    (run_id,) = record_imports(engine, [Import("dbench", "log", ("a",), (series("a", "throughput", 1, [1.0, 2.0]),))])
    assert not reader.run(engine, run_id).quick


def test_a_stated_origin_is_in_the_columns_of_measured_runs(engine: Engine) -> None:
    stated = {"new": Origin("6.12.0", "rack-7", 1_700_000_000.0)}
    old, new = (reader.run(engine, number) for number in record_imports(engine, [replace(TREE, origins=stated)]))
    assert (old.is_dated, old.started, old.fingerprint) == (False, old.finished, {})
    assert (new.is_dated, new.started, new.finished) == (True, 1_700_000_000.0, None)
    assert new.fingerprint == {"kernel": {"release": "6.12.0", "hostname": "rack-7"}}


def test_printed_tables_are_read_completely(engine: Engine) -> None:
    (run_id,) = record_imports(engine, [Import("mail", "mail.txt", tables=(TABLE, TABLE))])
    assert printed_tables(engine, run_id) == (TABLE, TABLE)
    result = findings(engine, run_id)
    assert [column.name for column in result.columns] == ["vanilla", "patched"]
    assert result.printed == (TABLE, TABLE)
    assert result.verdicts == []


def test_a_failed_import_stores_nothing(engine: Engine) -> None:
    broken = replace(TREE, series=(*TREE.series, series("new", "throughput", 8, [1.0])))
    with pytest.raises(Exception, match=r"(?i)unique constraint"):
        record_imports(engine, [TREE, broken])
    assert reader.runs(engine) == []


def test_samples_that_no_reader_would_accept_are_not_stored(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedlab.store.imports.MOST_SAMPLES", 4)
    with pytest.raises(StoreError, match="column old has more than 4 samples"):
        record_imports(engine, [TREE])
    assert reader.runs(engine) == []
