"""Markdown, changelog, CSV and Parquet: complete figures, and no figure for missing values."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from sqlalchemy import Engine

from schedlab.findings.run import Findings
from schedlab.report import changelog, data, mmtests, words
from schedlab.report.build import build, mmtests_view
from schedlab.report.numbers import improvement
from schedlab.results.words import DIFFERENT, Word
from schedlab.store.columns import COLUMNS, columns, sample_table
from schedlab.store.location import Location
from tests.report.rendering import to_html, to_json, to_markdown, to_text

pytestmark = pytest.mark.slow


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.replace("\\|", "¦").strip("|").split("|")]


def test_markdown_tables_are_complete_and_aligned(any_findings: Findings) -> None:
    lines = to_markdown(build(any_findings)).splitlines()
    tables = [[]]
    for line in lines:
        tables[-1].append(line) if line.startswith("|") else tables.append([])
    for table in filter(None, tables):
        assert len({len(cells(line)) for line in table}) == 1
        assert len({len(line) for line in table}) == 1
        assert set(table[1]) <= set("|-: ")
    summary = next(
        table for table in tables if table and "baseline" not in table[0] and any_findings.baseline in table[0]
    )
    names = {verdict.variant for verdict in any_findings.verdicts if not verdict.control}
    assert set(cells(summary[0])[2:]) == {name.replace("|", "¦") for name in names}


def test_markdown_has_verdicts_warnings_unmatched_rows_and_commands(measured: Findings, imported: Findings) -> None:
    output = to_markdown(build(measured, Location(Path("s.sqlite"))))
    for part in ("# run 1: test \\[scripted\\]", "> is it there?", " worse**", "- **1 of ", "crashed \\| badly"):
        assert part in output
    assert "schedlab store show 1 --file --store s.sqlite > test.toml\nschedlab run test.toml --seed 1\n" in output
    output = to_markdown(build(imported))
    assert "6.1\\|patched has clients=1, 4, 8" in output
    assert "not measured in turn" in output
    assert "schedlab import results\nschedlab compare 2 3\n" in output


def test_a_missing_figure_is_a_dash_in_every_text(imported: Findings) -> None:
    for output in (
        to_markdown(build(imported)),
        changelog.render(build(imported)),
        to_text(build(imported), 80),
    ):
        assert "0.00%" not in output
        assert "nan" not in output
    row = next(line for line in to_text(build(imported), 80).splitlines() if " 801" in line)
    assert row.split()[4:6] == ["-", "-"]


def test_the_changelog_fits_a_commit_message_and_has_sizes_with_intervals(measured: Findings) -> None:
    output = changelog.render(build(measured))
    assert max(map(len, output.splitlines())) <= 75
    flat = " ".join(output.split())
    assert "run 1: test [scripted], 8 blocks × 1, seed 1" in flat
    assert "$ schedlab run test.toml --seed 1" in flat
    verdict = next(v for v in measured.verdicts if v.word == "worse")
    size = f"gain {100 * (1 - verdict.ratio):+.1f}%, 95% interval {100 * (1 - verdict.high):+.1f}%"
    assert f"changed is worse than base in hackbench groups=1 time ({size}" in flat
    (row,) = [line for line in output.splitlines() if line.startswith("groups=1")]
    assert f"* {improvement(verdict.ratio, 'lower'):>7}*" in row
    assert "control (A/A)" in output


def test_the_changelog_never_claims_that_there_is_no_difference(imported: Findings) -> None:
    output = " ".join(changelog.render(build(imported)).split())
    assert "Shown: 6.1|patched is better than 5.14-vanilla in tbench clients=1 throughput" in output
    assert "Not shown, neither a difference nor equivalence: 6.1|patched in tbench clients=8 throughput" in output
    assert "[imported]" in output or "imported from results" in output
    assert "no difference" not in output.lower()


def test_wide_changelogs_are_broken_into_tables_that_fit(measured: Findings) -> None:
    from dataclasses import replace

    many = [
        replace(verdict, variant=f"{verdict.variant}-{i}")
        for verdict in measured.verdicts
        for i in range(6)
        if not verdict.control
    ]
    output = changelog.render(build(replace(measured, verdicts=many)))
    table_lines = [line for line in output.splitlines() if line.startswith("groups=")]
    assert len(table_lines) > 2
    assert max(map(len, table_lines)) <= 75
    assert all(output.count(f"changed-{i}") >= 1 for i in range(6))


@pytest.mark.parametrize(
    ("ratio", "direction", "shown"), [(1.1, "higher", "10.00%"), (1.1, "lower", "-10.00%"), (0.9078, "lower", "9.22%")]
)
def test_gains_are_positive_when_better(ratio: float, direction: str, shown: str) -> None:
    assert improvement(ratio, direction) == shown


def test_csv_has_the_fields_and_figures_of_the_json(any_findings: Findings) -> None:
    lines = list(csv.DictReader(io.StringIO(data.to_csv(build(any_findings)))))
    rows = json.loads(to_json(build(any_findings)))["rows"]
    assert [list(line) for line in lines] == [list(row) for row in rows]
    assert {line["kind"] for line in lines} == {run.kind for run in any_findings.runs}
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


def test_the_long_form_contains_every_sample_once(engine: Engine, measured: Findings, imported: Findings) -> None:
    samples = sample_table(engine, measured.columns)
    assert dict(samples.schema) == COLUMNS
    # 8 blocks × 3 variants × 2 rows, less one failed trial.
    assert len(samples) == 47
    assert samples["position"].n_unique() == 47
    assert set(samples["column"]) == {"base", "control", "changed"}
    samples = sample_table(engine, imported.columns)
    of_first = samples.filter((pl.col("column") == "5.14-vanilla") & (pl.col("parameters") == '{"clients":1}'))
    assert of_first["value"].to_list() == [100.0, 101.0, 99.5]
    assert of_first["iteration"].to_list() == [1, 2, 3]
    assert of_first["block"].to_list() == [1, 1, 1]
    assert len(samples) == 11


def test_parquet_round_trips_with_metadata_of_the_runs(engine: Engine, any_findings: Findings, tmp_path: Path) -> None:
    samples = sample_table(engine, any_findings.columns)
    file = tmp_path / "samples.parquet"
    file.write_bytes(data.samples_parquet(samples, any_findings.columns))
    assert pl.read_parquet(file).equals(samples)
    about = json.loads(pl.read_parquet_metadata(file)[data.METADATA])
    assert [column["name"] for column in about["columns"]] == [column.name for column in any_findings.columns]
    assert about["runs"][0]["kind"] == any_findings.run.kind


def test_csv_samples_round_trip_exactly(engine: Engine, any_findings: Findings) -> None:
    samples = sample_table(engine, any_findings.columns)
    again = pl.read_csv(io.StringIO(samples.write_csv()), schema=COLUMNS)
    assert again.equals(samples)


def test_the_text_counts_verdicts_names_columns_and_fits(any_findings: Findings) -> None:
    output = to_text(build(any_findings), 80)
    assert max(map(len, output.splitlines())) <= 80
    assert all(column.name in output for column in any_findings.columns)


def test_the_text_of_a_comparison_begins_with_the_compared_columns(imported: Findings) -> None:
    lines = to_text(build(imported), 80).splitlines()
    assert lines[0] == "6.1|patched against 5.14-vanilla [imported]"
    assert lines[2].startswith("6.1|patched: better by 9.8 % in tbench clients=1 throughput; inconclusive in")
    assert "  tbench throughput at clients=2: 6.1|patched has clients=1, 4, 8" in lines


def test_each_format_has_one_sign_convention_and_states_it(measured: Findings, engine: Engine) -> None:
    chosen = columns(engine, measured.columns)
    view = mmtests_view(measured, measured.columns, chosen, "verdicts", "current")
    for output in (to_text(build(measured), 80), to_markdown(build(measured)), to_html(build(measured))):
        assert words.CHANGE_SIGN in " ".join(output.split())
        assert words.GAIN_SIGN not in output
    for output in (changelog.render(build(measured)), mmtests.render(build(measured, mmtests=view))):
        assert f"({words.GAIN_SIGN})" in output
        assert "+10." not in output


def test_the_change_is_the_ratio_of_the_printed_means_or_a_pseudo_median_that_the_row_names(measured: Findings) -> None:
    rows = build(measured).rows
    assert {row.statistic for row in rows} == {"logs", "aligned-ranks"}
    for row in rows:
        assert row.value is not None
        assert row.baseline is not None
        is_ratio = row.value / row.baseline == pytest.approx(row.ratio)
        assert is_ratio == (row.statistic == "logs")


def test_a_report_without_the_control_keeps_its_part_in_the_tests(measured: Findings) -> None:
    shown = measured.without_control()
    assert [column.name for column in shown.columns] == ["base", "changed"]
    assert shown.verdicts == [verdict for verdict in measured.verdicts if not verdict.control]
    assert "A/A control" not in to_text(build(shown), 80)


def test_no_format_counts_an_unconfirmed_difference_as_a_difference(measured: Findings) -> None:
    doubtful = [replace(verdict, reason="busy", word=Word.UNCONFIRMED) if verdict.word in DIFFERENT else verdict
                for verdict in measured.verdicts]  # fmt: skip
    report = build(replace(measured, verdicts=doubtful, doubt="busy"))
    assert any(row.verdict is Word.UNCONFIRMED for row in report.rows)
    assert "unconfirmed in hackbench groups=1 time and hackbench groups=4 time (worse by" in to_text(report, 200)
    assert "Unconfirmed: 2 rows of changed, because busy." in " ".join(changelog.render(report).split())
    for output in (changelog.render(report), to_markdown(report)):
        assert "Shown: changed is" not in output
        assert " worse**" not in output
    assert not replace(measured, verdicts=doubtful).has_regression
