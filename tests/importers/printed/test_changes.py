"""Tables whose changes in per cent are proved by the printed values, and statistics of ministat with changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from schedlab.analysis.gains import disagreements
from schedlab.importers.text import NotResults
from schedlab.results.imported import ImportProblem, Table
from tests.importers.printed.helpers import example, gains, imported, only, values

PCT = """\
Test:               tip                 patched
 1-groups:     4.00 (0.00 pct)     3.50 (12.50 pct)
 2-groups:     5.00 (0.00 pct)     5.25 (-5.00 pct)
"""
PAIR = """\
+------------------+-------+---------+-----------+
| Test             | base  | +series | % Diff    |
+------------------+-------+---------+-----------+
| hackbench 10     |  2.00 |  2.50   |   -25.00% |
| hackbench 20     |  4.00 |  3.80   |    5.00%  |
+------------------+-------+---------+-----------+
"""


def test_improvements_of_something_that_is_better_if_lower() -> None:
    table = only(imported(PCT))
    assert (table.layout, table.columns, table.gains, table.baseline) == (
        "changes",
        ("tip", "patched"),
        "improvement",
        0,
    )
    assert [(r.operation, r.parameters, r.direction) for r in table.rows] == [
        ("1-groups", {"groups": 1}, "lower"), ("2-groups", {"groups": 2}, "lower"),
    ]  # fmt: skip
    assert [(values(r), gains(r)) for r in table.rows] == [([4.0, 3.5], [0.0, 12.5]), ([5.0, 5.25], [0.0, -5.0])]


def test_changes_that_grow_with_the_value_have_no_direction() -> None:
    table = only(imported(PCT.replace("12.50 pct", "-12.50 pct").replace("-5.00 pct", "5.00 pct")))
    assert (table.gains, {r.direction for r in table.rows}) == ("change", {None})


def test_a_pair_of_runs_with_its_change() -> None:
    table = only(imported(PAIR))
    assert (table.columns, table.gains, table.line) == (("base", "+series"), "improvement", 2)
    assert [(r.operation, r.direction, values(r), gains(r)) for r in table.rows] == [
        ("hackbench 10", "lower", [2.0, 2.5], [None, -25.0]), ("hackbench 20", "lower", [4.0, 3.8], [None, 5.0]),
    ]  # fmt: skip


def test_a_pair_may_have_spreads_and_a_unit_in_the_header() -> None:
    text = """\
| workers | mainline (seconds) | patch (seconds) | delta% |
+=========+====================+=================+========+
|       1 | 4000.000 ± 20.000  | 3500.0 ± 17.500 | -12.50 |
|       2 | 2000.500 ± 4.001   | 2100.525        |   5.00 |
"""
    table = only(imported(text))
    assert (table.columns, table.gains) == (("mainline", "patch"), "change")
    assert [(r.parameters, r.unit, values(r), gains(r)) for r in table.rows] == [
        ({"workers": 1}, "s", [4000.0, 3500.0], [None, -12.5]), ({"workers": 2}, "s", [2000.5, 2100.525], [None, 5.0]),
    ]  # fmt: skip
    spreads = [[(cell.spread_percent, cell.spread_kind) for cell in r.cells] for r in table.rows]
    assert spreads == [
        [(pytest.approx(0.5), "unknown"), (pytest.approx(0.5), "unknown")],
        [(pytest.approx(0.2), "unknown"), (None, "")],
    ]
    with pytest.raises(NotResults):
        imported(text.replace("delta%", "delta"))
    assert only(imported(text.replace("patch (seconds)", "patch (ms)"))).rows[0].unit == ""


def test_the_other_sign_needs_a_benchmark_that_is_better_if_lower() -> None:
    with pytest.raises(NotResults, match="layout of this table is not known"):
        imported(PAIR.replace("hackbench", "something"))
    with pytest.raises(NotResults, match="layout of this table is not known"):
        imported(PAIR.replace("hackbench", "tbench"))
    plain = only(imported(PAIR.replace("hackbench", "something").replace("-25", "25").replace(" 5.00%", "-5.00%")))
    assert plain.gains == "change"


def test_public_tables_have_changes_that_follow_from_their_values() -> None:
    tables = example("changes-pct-quoted").tables
    assert [(len(table.rows), table.gains, table.title) for table in tables] == [
        (5, "improvement", "o NPS1"), (5, "improvement", "o NPS2"), (5, "improvement", "o NPS4"),
    ]  # fmt: skip
    assert gains(tables[0].rows[4]) == [0.0, -34.01, 0.63, -2.03]
    assert values(tables[2].rows[4]) == [6.68, 9.07, 6.72, 8.66]
    # 573 to 569 is -0.698 %, printed as -0.70; 1131 to 1160 is 2.564 %, cut off to 2.56.
    hints = only(example("changes-pct-time-hints"))
    assert (hints.gains, gains(hints.rows[1])) == ("change", [0.0, 2.56])
    counted = only(example("changes-counted-rows"))
    assert (counted.workload, values(counted.rows[1]), gains(counted.rows[1])) == (
        "hackbench",
        [4.96, 5.04],
        [0.0, -1.61],
    )
    assert [wrong for table in (*tables, hints, counted) for wrong in disagreements(table)] == []


def test_remarks_behind_rows_are_notes() -> None:
    result = imported(PCT.replace("-5.00 pct)", "-5.00 pct)\t* Overloaded").replace("12.50 pct)", "12.50 pct) ^"))
    assert [gains(r) for r in only(result).rows] == [[0.0, 12.5], [0.0, -5.0]]
    assert result.notes == ('line 3: remark left out: "* Overloaded"',)


def test_a_blank_line_may_separate_rows() -> None:
    lines = PCT.splitlines(keepends=True)
    assert only(imported("".join([*lines[:2], "\n", *lines[2:], "\nThanks\n"]))) == replace_lines(
        only(imported(PCT)), 3, 4
    )
    assert len(only(imported(PCT.rstrip() + "\nMore text, with 2 words.\n")).rows) == 2


def replace_lines(table: Table, line: int, other: int) -> Table:
    """Return the table with another number in place of the line of one row."""
    return replace(table, rows=tuple(replace(row, line=other) if row.line == line else row for row in table.rows))


REFUSED = {
    "one change has another sign": PCT.replace("-5.00 pct", "5.00 pct"),
    "one change does not follow": PCT.replace("12.50 pct", "13.50 pct"),
    "a baseline with a change": PCT.replace("0.00 pct", "1.00 pct"),
    "a header with fewer names": PCT.replace("patched", "       "),
    "a header with more names": PCT.replace("patched", "patched     third"),
    "spreads by their header": PCT.replace("tip    ", "tip (std)"),
    "a remark with a figure": PCT.replace("-5.00 pct)", "-5.00 pct)  * 2 runs"),
    "a row without changes": PCT + " 4-groups:     6.00                6.10\n",
    "two rows with one name": PCT.replace("2-groups", "1-groups"),
    "a single row": "".join(PCT.splitlines(keepends=True)[:2]),
    "a pair with a further column": PAIR.replace("| % Diff    |", "| n | % Diff    |"),
    "a pair with an empty change": PAIR.replace("    5.00%  ", "           "),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_table_without_proof_is_refused(kind: str) -> None:
    with pytest.raises(NotResults, match="layout of this table is not known") as caught:
        imported(REFUSED[kind])
    assert "--table lines=" in caught.value.todo


MINISTAT = """\
dbench 8 clients

Kernel     N  Min     Max     Median  Avg      Stddev  %Change
v6.5       5  90.0    110.0   101.0   100.0    8.0
+patch 2   5  95.0    125.0   121.0   120.0    6.0     20.0
"""


def test_statistics_of_ministat_are_turned_with_spread_and_number_of_samples() -> None:
    table = only(imported(MINISTAT))
    assert (table.layout, table.workload, table.columns, table.gains) == (
        "runs in rows", "dbench", ("v6.5", "+patch 2"), "change",
    )  # fmt: skip
    assert [(r.operation, values(r)) for r in table.rows] == [
        ("Min", [90.0, 95.0]), ("Max", [110.0, 125.0]), ("Median", [101.0, 121.0]), ("Avg", [100.0, 120.0]),
    ]  # fmt: skip
    first, second = table.rows[3].cells
    assert (first.spread_percent, first.n, first.gain) == (pytest.approx(8.0), 5, None)
    assert (second.spread_percent, second.n, second.gain) == (pytest.approx(5.0), 5, 20.0)
    assert disagreements(table) == []


def test_text_may_follow_the_statistics_of_ministat() -> None:
    assert only(imported(f"{MINISTAT}The patch helps.\n")) == only(imported(MINISTAT))


@pytest.mark.parametrize(
    ("old", "new"),
    [("     20.0\n", "\n"), ("8.0\n", "8.0  3.0\n"), ("125.0", "115.0"), ("  5  95.0", "  5.5  95.0"), ("121.0", "x")],
)
def test_a_broken_row_of_ministat_is_refused(old: str, new: str) -> None:
    with pytest.raises(ImportProblem, match="expected a run, N, Min, Max, Median, Avg, Stddev"):
        imported(MINISTAT.replace(old, new))


def test_a_header_without_a_name_for_the_rows_begins_right_of_their_names() -> None:
    table = only(imported(PCT.replace("Test:", "     ")))
    assert table.columns == ("tip", "patched")
    with pytest.raises(NotResults):
        imported(PCT.replace("Test:               tip                 patched", "tip      patched"))
