"""Runs of exported samples have the verdicts of the original runs."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from sqlalchemy import Engine

from schedlab.errors import StoreError
from schedlab.findings.run import findings
from schedlab.report.build import build
from schedlab.report.data import samples_parquet
from schedlab.store import reader
from schedlab.store.columns import sample_table, variants_of
from schedlab.store.exports import RECORD, has_records, read_export, with_records
from schedlab.store.merging import copy_runs
from schedlab.store.schema import store_in_memory
from tests.cli.in_process import runner
from tests.conftest import DATABASES  # noqa: F401 - each test runs with each database
from tests.store.test_merging import recorded

pytestmark = pytest.mark.slow

VALUES = [1.0, 1.1, 0.7, 1.3, 0.1 + 0.2, 1.25]


@pytest.fixture
def engine() -> Engine:
    """A store with two runs, each with warm-up and a failed trial."""
    engine = store_in_memory()
    for values in (VALUES, VALUES[::-1]):
        recorded(engine, values)
    return engine


def exported(engine: Engine, path: Path, run_id: int = 2) -> Path:
    """Write the samples of a run to a file, and return its path."""
    chosen = variants_of(reader.run(engine, run_id))
    table = with_records(sample_table(engine, chosen), engine, chosen)
    if path.suffix == ".csv":
        path.write_text(table.write_csv(), encoding="utf-8")
    else:
        path.write_bytes(samples_parquet(table, chosen))
    return path


@pytest.mark.parametrize("name", ["run.csv", "run.parquet"])
def test_a_run_that_is_read_back_has_the_same_verdicts(engine: Engine, tmp_path: Path, name: str) -> None:
    path = exported(engine, tmp_path / name)
    assert has_records(path)
    copy = read_export(path)
    ours, theirs = findings(copy, 1), findings(engine, 2)
    assert ours.paired
    assert any(verdict.p is not None for verdict in ours.verdicts)
    assert repr(ours.verdicts) == repr(theirs.verdicts)
    assert ours.failures.equals(theirs.failures)
    left_out = {"run": {"id", "conditions"}, "runs": True, "columns": True, "conditions": True, "counters": True}
    reports = [build(judged).model_dump(exclude=left_out) for judged in (ours, theirs)]
    assert json.dumps(reports[0]["rows"], default=str) == json.dumps(reports[1]["rows"], default=str)
    assert reader.run(copy, 1).recorded == reader.run(engine, 2).recorded


def test_a_store_recognises_its_own_run_in_an_export(engine: Engine, tmp_path: Path) -> None:
    (copied,) = copy_runs(read_export(exported(engine, tmp_path / "run.csv")), engine)
    assert (copied.number, copied.is_new) == (2, False)


def test_the_command_imports_runs_and_prints_what_they_lack(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schedlab, store = runner(monkeypatch, capsys), tmp_path / "s.sqlite"
    done = schedlab("import", exported(engine, tmp_path / "run.csv"), "--store", store)
    assert done.code == 0
    assert "without counters, conditions, outputs" in done.err
    report = schedlab("report", "--format", "csv", "--store", store)
    assert "paired" in report.out


def test_an_export_of_a_part_of_a_run_has_no_record(engine: Engine) -> None:
    chosen = variants_of(reader.run(engine, 1))[1:]
    assert RECORD not in with_records(sample_table(engine, chosen), engine, chosen).columns


@pytest.mark.parametrize(
    ("column", "value"),
    [(RECORD, "{}"), (RECORD, "["), (RECORD, None), ("iteration", -1), ("iteration", 10**12), ("value", None),
     ("value", float("inf")), ("run", None)],
)  # fmt: skip
def test_a_changed_export_is_refused(engine: Engine, tmp_path: Path, column: str, value: object) -> None:
    path = exported(engine, tmp_path / "run.parquet")
    table = pl.read_parquet(path)
    table.with_columns(pl.lit(value, dtype=table.schema[column]).alias(column)).write_parquet(path)
    with pytest.raises(StoreError, match="is not an unchanged export of samples"):
        read_export(path)


def test_a_changed_record_is_refused(engine: Engine, tmp_path: Path) -> None:
    path = exported(engine, tmp_path / "run.csv")
    path.write_text(path.read_text().replace("test.toml", "best.toml"))
    with pytest.raises(StoreError, match="run 2 is damaged: the checksum does not match"):
        read_export(path)


def test_an_export_with_many_figures_for_few_samples_is_refused(engine: Engine, tmp_path: Path) -> None:
    path = exported(engine, tmp_path / "run.csv")
    table = pl.read_csv(path)
    far = [table.with_columns(pl.col("block") + 10 * copy, iteration=pl.lit(999_999, pl.Int64)) for copy in range(6)]
    path.write_text(
        pl.concat([table, *(each.with_columns(pl.lit(None, pl.String).alias(RECORD)) for each in far)]).write_csv()
    )
    with pytest.raises(StoreError, match="more than 30,000,000 figures"):
        read_export(path)


def test_an_export_of_too_many_samples_is_refused(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("schedlab.store.exports._MOST_SAMPLES", 5)
    for name in ("run.csv", "run.parquet"):
        with pytest.raises(StoreError, match="more than 5 samples"):
            read_export(exported(engine, tmp_path / name))
