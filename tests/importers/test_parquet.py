"""Samples that a report exported as Parquet are read back, with the samples of CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from schedlab.importers import detect
from schedlab.importers.samples_csv import SAMPLES_ONLY
from schedlab.report.data import samples_parquet
from schedlab.results.imported import Import, ImportProblem, Series
from schedlab.store.columns import sample_table, variants_of
from schedlab.store.imports import read_into_memory


@pytest.fixture
def exported(tmp_path: Path) -> tuple[Path, Path]:
    """Paths of the same samples as Parquet and as CSV: two columns, two workloads, parameters, blocks."""
    rng = np.random.default_rng(1)
    series = [
        Series(column, workload, "time", "s", "lower", {"groups": groups}, rng.lognormal(size=5), "log", block=block)
        for column in ("base", "with \"quotes\", and commas")
        for workload in ("hackbench", "pipe")
        for groups in (1, 4)
        for block in (1, 2)
    ]  # fmt: skip
    columns = tuple(dict.fromkeys(each.column for each in series))
    engine, runs = read_into_memory(
        [Import("csv", name, (name,), tuple(s for s in series if s.column == name)) for name in columns]
    )
    chosen = [column for run in runs for column in variants_of(run)]
    samples = sample_table(engine, chosen)
    parquet, text = tmp_path / "samples.parquet", tmp_path / "samples.csv"
    parquet.write_bytes(samples_parquet(samples, chosen))
    text.write_text(samples.write_csv(), encoding="utf-8")
    return parquet, text


def test_parquet_and_csv_give_the_same_samples_and_all_of_them(exported: tuple[Path, Path]) -> None:
    parquet, text = (detect.read(path) for path in exported)
    assert parquet.columns == text.columns == ("base", 'with "quotes", and commas')
    assert len(parquet.series) == 16
    written = pl.read_parquet(exported[0])
    assert sorted(value for each in parquet.series for value in each.values) == sorted(written["value"].to_list())
    for ours, theirs in zip(parquet.series, text.series, strict=True):
        for field in ("column", "workload", "metric", "unit", "direction", "parameters", "block"):
            assert getattr(ours, field) == getattr(theirs, field)
        assert np.array_equal(ours.values, theirs.values)


def test_the_import_names_the_missing_data_of_the_file(exported: tuple[Path, Path]) -> None:
    for path in exported:
        assert any(SAMPLES_ONLY in note for note in detect.read(path).notes)


def test_a_damaged_parquet_file_is_named(exported: tuple[Path, Path]) -> None:
    path, _ = exported
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ImportProblem, match="cannot be read as a Parquet file") as problem:
        detect.read(path)
    assert problem.value.where == str(path)


def test_a_parquet_file_of_another_table_is_refused_with_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    pl.DataFrame({"metric": ["time"], "value": [1.0]}).write_parquet(path)
    with pytest.raises(ImportProblem, match="has no column column, workload, unit, direction"):
        detect.read(path)
    pl.DataFrame({"metric": [["nested"]], "value": [1.0]}).write_parquet(path)
    with pytest.raises(ImportProblem, match="cannot be read as a Parquet file"):
        detect.read(path)
