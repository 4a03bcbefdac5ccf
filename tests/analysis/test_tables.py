"""Checks of printed tables: printed gains, computed gains, and merged tables of several sources."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schedlab.analysis.tables import check, side_by_side
from schedlab.results.imported import Cell, Table, TableRow


def row(operation: str, label: str, *cells: Cell, direction: str | None = "higher", line: int = 2) -> TableRow:
    return TableRow(operation, label, {"clients": 1}, "MB/s", direction, cells, line)


def table(*rows: TableRow, columns: tuple[str, ...] = ("old", "new"), **fields: object) -> Table:
    return Table("mmtests", "tbench4", "tbench", columns, rows, 1, **fields)


PRINTED = table(
    row("Hmean", "mb/sec-1", Cell(500.85, "500.85", 0.0, "0.00%"), Cell(522.43, "522.43", 4.31, "4.31%")),
    row("Hmean", "mb/sec-2", Cell(100.0, "100.00", 0.0, "0.00%"), Cell(110.0, "110.00", 11.0, "11.00%"), line=3),
    row("Hmean", "mb/sec-4", Cell(100.0, "100.00", 0.0, "0.00%"), Cell(None, "-"), line=4),
)


def test_printed_gains_are_checked_against_the_values() -> None:
    checked = check(PRINTED)
    # 100 · 522.43 / 500.85 − 100 = 4.3087
    assert checked.gains[0][1].recomputed == pytest.approx(4.3087, abs=1e-4)
    assert [(gains[1].printed, gains[1].agrees) for gains in checked.gains[:2]] == [(4.31, True), (11.0, False)]
    assert [gains[0] for gains in checked.gains] == [None, None, None]
    assert checked.gains[2][1] is None
    assert [disagreement.line for disagreement in checked.disagreements] == [3]


def test_missing_gains_are_computed_if_the_direction_is_known() -> None:
    bare = [
        row("Elapsed", "", Cell(50.0), Cell(40.0), direction="lower"),
        row("Hmean", "", Cell(50.0), Cell(40.0)),
        row("CPU", "", Cell(50.0), Cell(40.0), direction=None),
    ]
    gains = [of_row[1] for of_row in check(table(*bare)).gains]
    assert [gain and gain.recomputed for gain in gains] == [20.0, -20.0, None]
    gains = [of_row[1] for of_row in check(table(*bare, gains="change")).gains]
    assert [gain and gain.recomputed for gain in gains] == [-20.0, -20.0, None]


def test_another_baseline_removes_printed_gains() -> None:
    checked = check(PRINTED, "new")
    assert checked.table.baseline == 1
    first = checked.gains[0]
    assert first[1] is None
    assert (first[0].printed, first[0].agrees) == (None, None)
    # 100 · 500.85 / 522.43 − 100 = −4.1307
    assert first[0].recomputed == pytest.approx(-4.1307, abs=1e-4)
    assert checked.disagreements == ()


def test_a_test_needs_printed_spreads_and_repeats() -> None:
    def cell(value: float, **fields: object) -> Cell:
        return Cell(value, spread_percent=1.0, spread_kind="standard error", n=10, **fields)

    tested = check(table(row("elapsed", "", cell(100.0), cell(110.0), direction="lower"))).gains[0][1]
    assert tested.test.p < 0.001
    alone = check(table(row("elapsed", "", Cell(100.0), cell(110.0)))).gains[0][1]
    assert alone.test is None


def test_tables_of_several_sources_are_merged_and_incomplete_rows_are_returned() -> None:
    other = table(
        row("Hmean", "mb/sec-1", Cell(600.0, "600.00", -9.0)), row("Hmean", "mb/sec-9", Cell(1.0)), columns=("new",)
    )
    (merged,), incomplete = side_by_side({"a": [PRINTED], "b": [other]})
    assert merged.columns == ("old", "a:new", "b:new")
    (only,) = merged.rows
    assert [cell.value for cell in only.cells] == [500.85, 522.43, 600.0]
    assert all(cell.gain is None for cell in only.cells)
    assert [(unmatched.row.label, unmatched.missing) for unmatched in incomplete] == [
        ("mb/sec-2", ("b",)),
        ("mb/sec-4", ("b",)),
        ("mb/sec-9", ("a",)),
    ]


def test_rows_that_a_source_prints_twice_keep_their_order() -> None:
    first, second = (
        replace(PRINTED, rows=(replace(PRINTED.rows[0], cells=(Cell(v), Cell(v + 1))),)) for v in (1.0, 5.0)
    )
    (merged,), incomplete = side_by_side({"a": [first, second], "b": [first, second]})
    assert [[cell.value for cell in row.cells] for row in merged.rows] == [[1, 2, 1, 2], [5, 6, 5, 6]]
    assert incomplete == []
