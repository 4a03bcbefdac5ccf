"""Printed tables in every format: figures as printed, gains, disagreements, and no verdicts."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from sqlalchemy import Engine

from schedlab.findings.columns import ComparisonError
from schedlab.findings.comparison import compare
from schedlab.findings.run import Findings, findings
from schedlab.report import changelog, data
from schedlab.report.build import build
from schedlab.report.numbers import spread
from schedlab.results.imported import Cell, Import, Table, TableRow
from schedlab.store.imports import record_imports
from schedlab.store.selection import select, with_baseline
from tests.report.rendering import to_html, to_json, to_markdown, to_text

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schemas/report.schema.json").read_text(encoding="utf-8"))
TABLE = Table(
    "mmtests", "tbench4 on two machines", "tbench", ("vanilla", "patched", "patched-again"),
    (
        TableRow(
            "Hmean", "mb/sec-1", {"clients": 1}, "MB/s", "higher",
            (
                Cell(500.85, "500.85", 0.0, "0.00%"),
                Cell(522.43, "522.43", 4.31, "4.31%", star=True),
                Cell(560.00, "560.00", 21.0, "21.00%", star=False),
            ), 7,
        ),
        TableRow(
            "Hmean", "mb/sec-2", {"clients": 2}, "MB/s", "higher",
            (Cell(984.66, "984.66"), Cell(None, "-"), Cell(1000.0, "1000.00")), 8,
        ),
        TableRow(
            "elapsed", "", {}, "s", "lower",
            tuple(Cell(v, f"{v}", spread_percent=1.0, spread_kind="standard error", n=10) for v in (45.0, 40.0, 45.1)),
            9,
        ),
    ), 4,
)  # fmt: skip


@pytest.fixture
def printed(engine: Engine) -> Findings:
    (run_id,) = record_imports(engine, [Import("mail", "mail.txt", tables=(TABLE,), notes=("line 9: a remark",))])
    return findings(engine, run_id)


def row(output: str, name: str) -> list[str]:
    return next(line for line in output.splitlines() if line.strip().startswith(name)).split()


def test_the_text_shows_printed_figures_gains_tests_and_disagreements(printed: Findings) -> None:
    output = to_text(build(printed), 80)
    assert max(map(len, output.splitlines())) <= 80
    assert row(output, "Hmean mb/sec-1")[3:] == ["500.85", "522.43", "*+4.31%*", "560.00", "(+21.00%!)"]
    assert row(output, "Hmean mb/sec-2")[3:] == ["984.66", "-", "1000.00", "[+1.56%]"]
    flat = " ".join(output.split())
    assert "! line 7, Hmean mb/sec-1, patched-again: printed +21.00%, the values give +11.81%" in flat
    assert "elapsed [s], patched: +11.11%, p = <0.001 (n = 10 and 10)" in flat
    assert output.count("Welch") == 1
    assert "there are no samples to judge" in flat
    assert "line 9: a remark" in flat
    for word in ("better:", "worse", "inconclusive", "nothing to compare"):
        assert word not in flat


@pytest.mark.parametrize(
    ("percent", "shown"), [(2.0, "2.0%"), (2.04, "2.0%"), (0.457, "0.46%"), (12.3, "12%"), (0.0, "0%")]
)
def test_a_spread_has_two_digits(percent: float, shown: str) -> None:
    assert spread(percent) == shown


def test_a_change_that_is_not_a_ratio_is_a_difference_and_equal_values_have_no_minus(engine: Engine) -> None:
    values = {"offset": (-5.0, 5.0), "count": (0.0, 3.0), "loss": (5.0, -1.0), "time": (2.0, 2.0)}
    rows = tuple(
        TableRow(name, "", {}, "s", "lower", tuple(Cell(value, f"{value:g}") for value in pair), line)
        for line, (name, pair) in enumerate(values.items(), 3)
    )
    table = Table("columns", "", "clock", ("base", "new"), rows, 2)
    (run_id,) = record_imports(engine, [Import("mail", "mail.txt", tables=(table,))])
    report = build(findings(engine, run_id))
    output = to_text(report, 80)
    assert row(output, "offset")[2:] == ["-5", "5", "[-,", "+10]"]
    assert row(output, "count")[2:] == ["0", "3", "[-,", "+3]"]
    assert row(output, "loss")[2:] == ["5", "-1", "[-,", "-6]"]
    assert row(output, "time")[2:] == ["2", "2", "[+0.00%]"]
    assert "is not a ratio" in " ".join(output.split())
    html = to_html(report)
    assert "[-, +10]" in html
    assert "[+0.00%]" in html
    cells = [of_row["cells"][1] for of_row in json.loads(to_json(report))["printed"][0]["rows"]]
    assert [(cell["recomputed"], cell["difference"]) for cell in cells] == [
        (None, 10),
        (None, 3),
        (None, -6),
        (0, None),
    ]


def test_many_columns_are_broken_into_parts_that_fit(printed: Findings) -> None:
    narrow = to_text(build(printed), 60)
    assert max(map(len, narrow.splitlines())) <= 60
    assert narrow.count("Hmean mb/sec-2") == 2


def test_every_format_has_every_figure(printed: Findings) -> None:
    figures = [cell.text for of_row in TABLE.rows for cell in of_row.cells if cell.value is not None]
    for output in (
        to_text(build(printed), 80),
        to_markdown(build(printed)),
        changelog.render(build(printed)),
        data.to_csv(build(printed)),
        to_json(build(printed)),
    ):
        assert all(figure in output for figure in figures)


def test_json_and_csv_have_the_cells_with_computed_gains(printed: Findings) -> None:
    output = json.loads(to_json(build(printed)))
    jsonschema.Draft202012Validator(SCHEMA).validate(output)
    cells = [cell for of_row in output["printed"][0]["rows"] for cell in of_row["cells"]]
    assert [cell["agrees"] for cell in cells[:3]] == [None, True, False]
    assert cells[4]["value"] is None
    lines = list(csv.DictReader(io.StringIO(data.to_csv(build(printed)))))
    assert [line["value"] for line in lines] == ["" if c["value"] is None else str(c["value"]) for c in cells]
    assert [float(line["p"]) < 0.001 for line in lines[7:8]] == [True]


def test_another_baseline_and_a_second_source_are_compared_by_values(engine: Engine, printed: Findings) -> None:
    chosen = select(engine, "1")
    compared = compare(engine, with_baseline(chosen, "patched"))
    assert row(to_text(build(compared), 100), "Hmean mb/sec-1")[3:5] == ["500.85", "[-4.13%]"]
    again = replace(TABLE, rows=TABLE.rows[:1], columns=("vanilla", "other", "third"))
    record_imports(engine, [Import("mail", "second.txt", tables=(again,))])
    compared = compare(engine, [*chosen, *select(engine, "2")])
    (merged,) = compared.printed
    assert merged.columns == ("1:vanilla", "patched", "patched-again", "2:vanilla", "other", "third")
    assert [each.question.metric for each in compared.unmatched] == ["Hmean mb/sec-2", "elapsed"]
    assert "not in 2" in to_text(build(compared), 80)


def test_tables_without_a_common_row_or_mixed_with_samples_are_refused(engine: Engine, imported: Findings) -> None:
    other = replace(TABLE, workload="pgbench")
    tables = record_imports(
        engine, [Import("mail", f"{name}.txt", tables=(t,)) for name, t in (("a", TABLE), ("b", other))]
    )
    columns = [column for run_id in tables for column in select(engine, str(run_id))]
    with pytest.raises(ComparisonError, match="3, 4 have no printed row in common"):
        compare(engine, columns)
    with pytest.raises(ComparisonError, match="vanilla is a column of printed figures"):
        compare(engine, [*select(engine, "1"), *columns])
