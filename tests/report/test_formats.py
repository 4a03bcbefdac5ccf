"""Markdown, changelog, CSV and Parquet: each shows all that was found, and nothing in place of what was not."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest
from sqlalchemy import Engine

from schedlab.findings import Findings
from schedlab.report import changelog, data, markdown, text
from schedlab.report.build import build
from schedlab.report.numbers import improvement
from schedlab.store.samples import COLUMNS, sample_table


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.replace("\\|", "¦").strip("|").split("|")]


def test_markdown_tables_are_whole_and_read_well_raw(found: Findings) -> None:
    lines = markdown.render(build(found)).splitlines()
    tables = [[]]
    for line in lines:
        tables[-1].append(line) if line.startswith("|") else tables.append([])
    for table in filter(None, tables):
        assert len({len(cells(line)) for line in table}) == 1
        assert len({len(line) for line in table}) == 1
        assert set(table[1]) <= set("|-: ")
    assert sum(len(table) for table in tables) > len(found.verdicts)


def test_markdown_names_verdicts_warnings_what_did_not_match_and_how_to_repeat(
    measured: Findings, imported: Findings
) -> None:
    told = markdown.render(build(measured, Path("s.sqlite")))
    for words in ("# run 1: test \\[scripted\\]", "> is it there?", "**worse**", "## Warnings", "crashed \\| badly"):
        assert words in told
    assert "schedlab runs --file 1 --store s.sqlite > test.toml\nschedlab run test.toml --seed 1\n" in told
    told = markdown.render(build(imported))
    assert "6.1\\|patched has clients=1, 4, 8" in told
    assert "not measured in turn" in told
    assert "schedlab import results\nschedlab compare 2 3\n" in told


def test_a_missing_figure_is_a_dash_in_every_text(imported: Findings) -> None:
    for told in (
        markdown.render(build(imported)),
        changelog.render(build(imported)),
        text.to_text(build(imported), 80),
    ):
        assert "0.00%" not in told
        assert "nan" not in told
    row = next(line for line in markdown.render(build(imported)).splitlines() if "801" in line)
    assert cells(row)[4:6] == ["-", "-"]


def test_the_changelog_fits_a_commit_message_and_tells_sizes_with_intervals(measured: Findings) -> None:
    told = changelog.render(build(measured))
    assert max(map(len, told.splitlines())) <= 75
    flat = " ".join(told.split())
    assert "run 1: test [scripted], 8 blocks × 1, seed 1" in flat
    assert "$ schedlab run test.toml --seed 1" in flat
    verdict = next(v for v in measured.verdicts if v.word == "worse")
    size = f"{100 * (verdict.ratio - 1):+.1f}%, 95% interval {100 * (verdict.low - 1):+.1f}%"
    assert f"changed is worse than base in hackbench groups=1 time ({size}" in flat
    (row,) = [line for line in told.splitlines() if line.startswith("groups=1")]
    assert f"* {improvement(verdict.ratio, 'lower'):>7}*" in row
    assert "control (A/A)" in told


def test_the_changelog_never_says_that_there_is_no_difference(imported: Findings) -> None:
    told = " ".join(changelog.render(build(imported)).split())
    assert "Shown: 6.1|patched is better than 5.14-vanilla in tbench clients=1 throughput" in told
    assert "Not shown, neither a difference nor equivalence: 6.1|patched in tbench clients=8 throughput" in told
    assert "[imported]" in told or "imported from results" in told
    assert "no difference" not in told.lower()


def test_wide_changelogs_are_broken_into_tables_that_fit(measured: Findings) -> None:
    from dataclasses import replace

    many = [
        replace(verdict, variant=f"{verdict.variant}-{i}")
        for verdict in measured.verdicts
        for i in range(6)
        if not verdict.control
    ]
    told = changelog.render(build(replace(measured, verdicts=many)))
    table_lines = [line for line in told.splitlines() if line.startswith("groups=")]
    assert len(table_lines) > 2
    assert max(map(len, table_lines)) <= 75
    assert all(told.count(f"changed-{i}") >= 1 for i in range(6))


@pytest.mark.parametrize(
    ("ratio", "direction", "shown"), [(1.1, "higher", "10.00%"), (1.1, "lower", "-10.00%"), (0.9078, "lower", "9.22%")]
)
def test_gains_are_positive_when_better(ratio: float, direction: str, shown: str) -> None:
    assert improvement(ratio, direction) == shown


def test_csv_has_the_fields_and_figures_of_the_json(found: Findings) -> None:
    lines = list(csv.DictReader(io.StringIO(data.to_csv(build(found)))))
    rows = json.loads(data.to_json(build(found)))["rows"]
    assert [list(line) for line in lines] == [list(row) for row in rows]
    assert {line["kind"] for line in lines} == {run.kind for run in found.runs}
    for line, row in zip(lines, rows, strict=True):
        for name, value in row.items():
            if value is None:
                assert line[name] == ""
            elif isinstance(value, dict):
                assert json.loads(line[name]) == value
            elif isinstance(value, float):
                assert float(line[name]) == value
            else:
                assert line[name] == (str(value).lower() if isinstance(value, bool) else str(value))


def test_every_sample_is_in_the_long_form_once(engine: Engine, measured: Findings, imported: Findings) -> None:
    held = sample_table(engine, measured.columns)
    assert dict(held.schema) == COLUMNS
    # 8 blocks × 3 variants × 2 rows, one of them failed.
    assert len(held) == 47
    assert held["position"].n_unique() == 47
    assert set(held["column"]) == {"base", "control", "changed"}
    held = sample_table(engine, imported.columns)
    of_first = held.filter((pl.col("column") == "5.14-vanilla") & (pl.col("parameters") == '{"clients":1}'))
    assert of_first["value"].to_list() == [100.0, 101.0, 99.5]
    assert of_first["iteration"].to_list() == [1, 2, 3]
    assert of_first["block"].to_list() == [1, 1, 1]
    assert len(held) == 11


def test_parquet_comes_back_as_it_was_with_what_the_runs_were(engine: Engine, found: Findings, tmp_path: Path) -> None:
    held = sample_table(engine, found.columns)
    file = tmp_path / "samples.parquet"
    file.write_bytes(data.samples_parquet(held, found.columns))
    assert pl.read_parquet(file).equals(held)
    about = json.loads(pl.read_parquet_metadata(file)[data.METADATA])
    assert [column["name"] for column in about["columns"]] == [column.name for column in found.columns]
    assert about["runs"][0]["kind"] == found.run.kind


def test_csv_samples_round_trip_exactly(engine: Engine, found: Findings) -> None:
    held = sample_table(engine, found.columns)
    again = pl.read_csv(io.StringIO(held.write_csv()), schema=COLUMNS)
    assert again.equals(held)


def test_the_text_counts_verdicts_names_columns_and_fits(found: Findings) -> None:
    told = text.to_text(build(found), 80)
    assert max(map(len, told.splitlines())) <= 80
    assert all(column.name in told for column in found.columns)


def test_the_text_of_a_comparison_says_first_what_is_compared(imported: Findings) -> None:
    lines = text.to_text(build(imported), 80).splitlines()
    assert lines[0] == "6.1|patched against 5.14-vanilla [imported]"
    assert "6.1|patched: 1 better, 1 inconclusive" in lines
    assert "tbench throughput at clients=2: 6.1|patched has clients=1, 4, 8" in lines
