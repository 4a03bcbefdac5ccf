"""Tables of scheduler mails whose header states the parts of a cell: ``tip[pct imp](CV)``, ``compare%( std%)``."""

from __future__ import annotations

import re

import pytest

from schedlab.analysis.gains import disagreements
from schedlab.importers.text import NotResults
from schedlab.results.imported import Cell, ImportProblem, Table
from tests.importers.printed.helpers import example, gains, imported, only, row, values

BOX = """\
==================================================================
Test          : hackbench
Units         : Normalized time in seconds
Interpretation: Lower is better
Statistic     : AMean
==================================================================
"""
HEADER = "Case:           tip[pct imp](CV)      fast[pct imp](CV)\n"
ROWS = """\
 1-groups     1.00 [ -0.00]( 9.50)     0.98 [  1.75](10.25)
16-groups     1.00 [ -0.00]( 1.25)     1.04 [ -4.25]( 0.50)
"""
SCHEDTESTS = """\
netperf
=======
case            \tload    \tbaseline(std%)\tcompare%( std%)
TCP_RR          \t56-threads\t 1.00 (  2.75)\t+10.50 ( 10.25)
UDP_RR          \t112-threads\t 1.00 (  0.50)\t -1.25 (  2.00)
"""


def _cells(table: Table) -> list[list[tuple[float | None, float | None, float | None]]]:
    return [[(cell.value, cell.gain, cell.spread_percent) for cell in each.cells] for each in table.rows]


def test_a_box_names_the_benchmark_the_statistic_the_unit_and_the_direction() -> None:
    table = only(imported(BOX + HEADER + ROWS))
    assert (table.layout, table.workload, table.title) == (
        "pct-imp", "hackbench", "hackbench, Normalized time in seconds",
    )  # fmt: skip
    assert (table.columns, table.baseline, table.gains, table.line) == (("tip", "fast"), 0, "improvement", 7)
    assert [(r.operation, r.label, r.parameters, r.line) for r in table.rows] == [
        ("AMean", "1-groups", {"groups": 1}, 8), ("AMean", "16-groups", {"groups": 16}, 9),
    ]  # fmt: skip
    assert {(r.unit, r.direction) for r in table.rows} == {("normalised", "lower")}
    assert _cells(table) == [
        [(1.0, 0.0, 9.5), (0.98, 1.75, 10.25)],
        [(1.0, 0.0, 1.25), (1.04, -4.25, 0.5)],
    ]
    assert {cell.spread_kind for r in table.rows for cell in r.cells} == {"standard deviation"}
    assert disagreements(table) == []


def test_gains_of_the_compare_column_are_no_figures() -> None:
    table = only(imported(SCHEDTESTS))
    assert (table.layout, table.workload, table.columns) == ("compare", "netperf", ("baseline", "compare"))
    assert [(r.operation, r.label, r.parameters) for r in table.rows] == [
        ("TCP_RR", "56-threads", {"case": "TCP_RR", "threads": 56}),
        ("UDP_RR", "112-threads", {"case": "UDP_RR", "threads": 112}),
    ]
    assert {(r.unit, r.direction) for r in table.rows} == {("normalised", "higher")}
    assert _cells(table) == [[(1.0, None, 2.75), (None, 10.5, 10.25)], [(1.0, None, 0.5), (None, -1.25, 2.0)]]


@pytest.mark.parametrize(
    ("title", "direction"),
    [
        ("hackbench", "lower"),
        ("tbench", "higher"),
        ("schbench", "lower"),
        ("hackbench throughput", None),
        ("mine", None),
    ],
)
def test_only_the_benchmarks_of_schedtests_have_a_direction(title: str, direction: str | None) -> None:
    table = only(imported(SCHEDTESTS.replace("netperf", title)))
    assert {r.direction for r in table.rows} == {direction}


PUBLIC = [
    "normalised-amd-boxes", "normalised-amd-command", "normalised-amd-one-box", "normalised-amd-six",
    "normalised-cases-with-gains", "normalised-intel-quoted", "normalised-intel-spaces", "normalised-intel-tabs",
    "normalised-several-kernels", "normalised-wrapped", "normalised-wrong-sign",
]  # fmt: skip


def _figures(cell: Cell) -> list[float]:
    return [figure for figure in (cell.value, cell.gain, cell.spread_percent) if figure is not None]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_figure_of_a_public_table_is_read_in_its_place(name: str) -> None:
    result = example(name)
    lines = dict(enumerate(_lines(name), start=1))
    rows = [each for table in result.tables for each in table.rows]
    for each in rows:
        # A wrapped row has its last figures in the next line.
        text = f"{lines[each.line]} {lines.get(each.line + 1, '')}"
        figures = [figure for cell in each.cells for figure in _figures(cell)]
        after_name = text.split("(", 1)[0].split("[", 1)[0]
        start = len(after_name.rstrip()) - len(after_name.split()[-1])
        printed = [float(number) for number in re.findall(r"[-+]?\d+(?:\.\d+)?", text[start:])]
        assert figures == printed[: len(figures)]
    with_cells = [number for number, text in lines.items() if re.match(r"[> ]*\S.*\d\s*[(\[].*\d\s*[)\]]", text)]
    assert len(rows) >= len(with_cells) - 2 * ("wrapped" in name)


def _lines(name: str) -> list[str]:
    from tests.importers.printed.helpers import TABLES

    return (TABLES / f"{name}.txt").read_text().splitlines()


def test_a_table_without_box_has_the_direction_that_its_improvements_prove() -> None:
    lower = only(imported(HEADER + ROWS))
    assert {(r.unit, r.direction, r.operation, r.label) for r in lower.rows} == {
        ("", "lower", "1-groups", ""), ("", "lower", "16-groups", ""),
    }  # fmt: skip
    higher = only(imported(HEADER + ROWS.replace("1.75", "-1.75").replace("-4.25", "4.25")))
    assert {r.direction for r in higher.rows} == {"higher"}
    undecided = only(
        imported(HEADER + ROWS.replace("0.98 [  1.75]", "1.00 [  0.10]").replace("1.04 [ -4.25]", "1.00 [ -0.10]"))
    )
    assert {r.direction for r in undecided.rows} == {None}


def test_a_box_that_contradicts_the_improvements_is_refused() -> None:
    with pytest.raises(ImportProblem, match="gains below show that lower is better, unlike the box") as caught:
        imported(BOX.replace("Lower", "Higher") + HEADER + ROWS)
    assert caught.value.where == "mail.txt:7"


def test_a_single_wrong_sign_is_a_disagreement() -> None:
    table = only(example("normalised-wrong-sign"))
    (wrong,) = disagreements(table)
    assert (wrong.line, wrong.printed, wrong.recomputed) == (6, 20.02, pytest.approx(-20.0))


def test_one_box_may_have_a_heading_and_several_tables() -> None:
    first, second = example("normalised-amd-one-box").tables
    assert first.title == "tbench, Normalized throughput, Zen3, 2 Sockets, 64 cores per socket, SMT2"
    assert (first.rows[0].unit, first.rows[0].direction, second.rows[0].direction) == ("normalised", "higher", "higher")
    # The box is above the first table only, so the second table does not state a unit.
    assert (second.rows[0].unit, second.workload, second.rows[0].parameters) == ("", "", {"clients": 1})


def test_runs_in_rows_are_turned() -> None:
    text = f"""{BOX.rstrip()[: BOX.rindex("====")]}
======================= First machine ======================
kernel:                 time [pct imp]
tip:sched/core          1.00 [baseline]
tip:sched/core + fast   0.80 [20.50%]
==================== Second machine =====================
kernel:                 time [pct imp]
tip:sched/core          1.00 [0.00]
tip:sched/core + fast   0.90 [10.25%]
"""
    first, second = imported(text).tables
    for table, title, cells in (
        (first, "hackbench, Normalized time in seconds, First machine", [(1.0, None, None), (0.8, 20.5, None)]),
        (second, "Second machine", [(1.0, 0.0, None), (0.9, 10.25, None)]),
    ):
        assert (table.title, table.columns, table.baseline) == (title, ("tip:sched/core", "tip:sched/core + fast"), 0)
        assert (_cells(table), table.rows[0].operation, table.rows[0].direction) == ([cells], "time", "lower")


def test_a_baseline_column_may_have_no_gain_and_gains_may_follow_spreads() -> None:
    text = "Clients:     tip (CV)          fast (CV) [pct imp]\n   1        1.00 (0.50)         0.90 (0.25) [-10%]\n"
    table = only(imported(text))
    assert (table.columns, table.baseline) == (("tip", "fast"), 0)
    assert (_cells(table), table.rows[0].direction) == ([[(1.0, None, 0.5), (0.9, -10.0, 0.25)]], "higher")


def test_a_baseline_that_is_not_1_has_no_known_unit() -> None:
    result = imported(
        BOX + HEADER + ROWS.replace("1.00 [ -0.00]( 9.50)", "1.20 [ -0.00]( 9.50)").replace("0.98", "1.18")
    )
    assert {r.unit for r in only(result).rows} == {""}
    assert result.notes == ("line 7: the values of tip are not 1, so the unit is not known",)


def test_marks_after_rows_are_left_out() -> None:
    marked = ROWS.replace("(10.25)", "(10.25)  *").replace("( 0.50)", "( 0.50) ^")
    assert _cells(only(imported(BOX + HEADER + marked))) == _cells(only(imported(BOX + HEADER + ROWS)))
    result = imported(BOX + HEADER + ROWS.replace("( 0.50)", "( 0.50)  * Overloaded"))
    assert _cells(only(result)) == _cells(only(imported(BOX + HEADER + ROWS)))
    assert result.notes == ('line 9: remark left out: "* Overloaded"',)


BROKEN = {
    "a cell is missing": (" 1.04 [ -4.25]( 0.50)", ""),
    "a spread is missing": ("( 0.50)", ""),
    "two rows have one name": ("16-groups", " 1-groups"),
    "a gain is a word": ("[ -4.25]", "[worse]"),
    "a figure has a letter": ("1.04", "1.O4"),
    "a column more": ("( 0.50)", "( 0.50)  1.00 [  0.00]( 0.50)"),
    "text follows": ("( 0.50)", "( 0.50) n=3"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_row_is_refused_with_its_line(kind: str) -> None:
    with pytest.raises(ImportProblem, match="a line of a table is malformed") as caught:
        imported(BOX + HEADER + ROWS.replace(*BROKEN[kind]))
    assert caught.value.where == "mail.txt:9"


UNKNOWN_HEADERS = {
    "a mark is missing": HEADER.replace("fast[pct imp](CV)", "fast(CV)").replace("tip[pct imp](CV)", "tip(CV)"),
    "another meaning": HEADER.replace("pct imp", "pct reg"),
    "an absolute deviation": HEADER.replace("CV", "std"),
    "a column without marks": HEADER.replace("tip", "n    tip"),
    "text after the columns": HEADER.rstrip() + "   n\n",
    "no name of the rows": HEADER.replace("Case:", "     "),
}


@pytest.mark.parametrize("kind", UNKNOWN_HEADERS)
def test_an_unknown_header_is_refused_with_a_layout_to_try(kind: str) -> None:
    with pytest.raises(NotResults, match="the layout of this table is not known") as caught:
        imported(BOX + UNKNOWN_HEADERS[kind] + ROWS)
    assert "--table lines=7-9," in caught.value.todo


def test_a_table_without_a_baseline_is_refused() -> None:
    with pytest.raises(NotResults, match="the layout of this table is not known"):
        imported(BOX + HEADER + ROWS.replace("-0.00", " 3.00"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("compare%( std%)", "compare( std%)"),  # figures or changes?
        ("baseline(std%)", "baseline"),
        (" 1.00 (", " 1.10 ("),  # not relative to the baseline
        ("+10.50", "10.50"),  # report.py prints a sign
        ("+10.50", "+10.50%"),
    ],
)
def test_other_columns_of_gains_are_refused(old: str, new: str) -> None:
    with pytest.raises(ImportProblem):
        imported(SCHEDTESTS.replace(old, new))


def test_values_and_gains_are_read_from_the_helpers_view() -> None:
    table = example("normalised-amd-boxes").tables[3]
    assert (table.workload, values(row(table, "Median 512")), gains(row(table, "Median 512"))) == (
        "schbench", [1.0, 0.78], [0.0, 22.04],
    )  # fmt: skip


def test_a_header_whose_only_row_cannot_be_read_is_a_note() -> None:
    damaged = HEADER + " 1-groups     1.00 [ -0.00](.98 [  1.75](10.25)\n"
    result = imported(f"{BOX}{HEADER}{ROWS}\nAnd another machine:\n\n{damaged}")
    assert len(only(result).rows) == 2
    assert [note.split(":")[0] for note in result.notes] == ["line 13"]


@pytest.mark.parametrize(
    "torn",
    [
        "t+2.84 (  0.51)\nTCP_RR          168-threads  1.00 (  5.82)  +42.82 ( 43.61)\n",
        "TCP_RR          168-th\neads  1.00 (  5.82)  +42.82 ( 43.61)\n",
        "  3.25\n",
    ],
)
def test_a_torn_line_below_a_table_is_refused(torn: str) -> None:
    with pytest.raises(ImportProblem, match="a line of a table is malformed") as caught:
        imported(SCHEDTESTS + torn)
    assert caught.value.where == "mail.txt:6"
