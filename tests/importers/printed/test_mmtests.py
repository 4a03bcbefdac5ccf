"""Comparison tables of MMTests from public mailing lists; the expected figures are typed from the fixtures."""

from __future__ import annotations

import pytest

from schedlab.results.imported import ImportProblem, Table
from tests.importers.printed.helpers import TABLES, example, gains, imported, only, row, values

Case = tuple[str, list[tuple[str, str, tuple[str, ...], int, str]]]
"""Fixtures, with layout, workload, columns, number of rows, and meaning of the percentages of each table."""

_PAN = ("hackbench-default", "hackbench-pan")
_GLUED = ("6.5.0-rc6-sched-pidclear-v1r5", "6.5.0-rc6-sched-forcescan-v1r5")
_TURBO = ("5.2.0 vanilla (BASELINE)", "5.2.0 intel_pstate", "5.2.0 1C-turbo")
_FEWER = ("5.2.0 3C-turbo", "5.2.0 4C-turbo", "5.2.0 12C-turbo")
_FIVE = ("base", "eevdf", "eevdf_curb", "eevdf-curb+mathieu", "eevdf-curb+mathieu+aaron")
_PARTIAL = ("5.7.0-rc6", "5.7.0-rc6-revert-1153933703d9+", "5.7.0-rc6-align16+")

CASES: list[Case] = [
    ("mmtests-netperf-stars", [("mmtests", "netperf-tcp", ("baseline", "lbnuma-v3"), 8, "improvement")]),
    ("mmtests-schbench-latency", [("mmtests", "schbench", ("column", "column (2)"), 14, "improvement")]),
    ("mmtests-kernbench-durations", [
        ("mmtests", "kernbench", ("base", "patched"), rows, "improvement") for rows in (1, 3, 3)
    ]),
    ("mmtests-perfpipe-three", [
        ("mmtests", "perfpipe", ("tip-psi=off", "tip-psi=on", "patched-only groupc->tasks[]"), 12, "improvement")
    ]),
    ("mmtests-spreads-two-parts", [
        ("mmtests", "tbench", _TURBO, 9, "improvement"), ("mmtests", "tbench", _FEWER, 9, "improvement")
    ]),
    ("mmtests-unixbench-five-columns", [
        ("mmtests", "unixbench", _FIVE, 10, "improvement"),
    ]),
    ("mmtests-partial-header", [("mmtests", "libmicro-file", _PARTIAL, 6, "improvement")]),
    ("mmtests-glued-names", [
        ("mmtests", "numabench", _GLUED, 6, "improvement"), ("mmtests", "", _GLUED, 3, "improvement"),
    ]),
    ("mmtests-hackbench-pan", [
        ("mmtests", "hackbench-process-pipes", _PAN, rows, "improvement") for rows in (6, 3, 4)
    ]),
    ("mmtests-stream-gbsec", [
        ("mmtests", workload, ("baseline", "sched_cache"), 4, "improvement") for workload in ("", "netperf")
    ]),
]  # fmt: skip


def _shape(table: Table) -> tuple[str, str, tuple[str, ...], int, str]:
    return table.layout, table.workload, table.columns, len(table.rows), table.gains


@pytest.mark.parametrize(("name", "tables"), CASES, ids=[name for name, _ in CASES])
def test_layout_columns_and_rows_of_public_tables(
    name: str, tables: list[tuple[str, str, tuple[str, ...], int, str]]
) -> None:
    assert [_shape(table) for table in example(name).tables] == tables


def test_every_fixture_has_expectations() -> None:
    elsewhere = {"report", "perf", "zero", "normalised", "changes"}
    names = {path.stem for path in TABLES.glob("*.txt") if path.stem.partition("-")[0] not in elsewhere}
    assert names == {name for name, _ in CASES}


def test_mmtests_rows_without_changes_keep_their_operations() -> None:
    tables = example("mmtests-hackbench-pan").tables
    assert values(row(tables[1], "Duration System")) == [276322.70, 271729.32]
    assert row(tables[1], "Duration Elapsed").direction == "lower"
    hits = row(tables[2], "Ops NUMA alloc hit")
    assert (values(hits), hits.direction, hits.parameters) == (
        [1082415453, 1088025994], None, {"case": "NUMA alloc hit"},
    )  # fmt: skip
    assert row(tables[0], "CoeffVar 256").unit == "%"
    assert row(tables[0], "Max 256").parameters == {"groups": 256}


def test_names_without_spaces_between_them_are_taken_from_the_previous_table() -> None:
    main, durations = example("mmtests-glued-names").tables
    assert durations.columns == main.columns
    assert values(row(durations, "Duration User")) == [5702.00, 10264.25]


def test_a_spread_beside_an_empty_change_is_read() -> None:
    first, second = example("mmtests-spreads-two-parts").tables
    cells = row(first, "Hmean 16").cells
    assert [(c.value, c.gain, c.spread_percent) for c in cells] == [
        (2286.47, None, 1.36), (3338.29, 46.00, 0.21), (2720.20, 18.97, 0.52),
    ]  # fmt: skip
    assert {c.spread_kind for c in cells} == {"unknown"}
    assert gains(row(second, "Hmean 192")) == [0.00, -0.64, 1.12]
    assert row(second, "Hmean 192").parameters == {"clients": 192}
    assert row(first, "Hmean 1").unit == "MB/s"


def test_the_corner_of_a_header_names_the_parameter_of_mmtests_rows() -> None:
    netperf = example("mmtests-stream-gbsec").tables[1]
    assert [(r.operation, r.parameters) for r in netperf.rows[:2]] == [
        ("Hmean", {"pairs": 32}),
        ("BHmean-99", {"pairs": 32}),
    ]


def test_printed_changes_prove_a_direction_against_the_name_and_a_note_says_so() -> None:
    text = (
        "kernbench\n            base                 new\n"
        "Amean  rate-2  100.00 (   0.00%)  110.00 (  10.00%)\nAmean  rate-4  100.00 (   0.00%)  120.00 (  20.00%)\n"
    )
    result = imported(text)
    assert {r.direction for r in only(result).rows} == {"higher"}
    assert "and 1 similar rows is assumed to be higher-is-better" in result.notes[0]


@pytest.mark.parametrize(
    ("operation", "unit", "direction"),
    [
        ("BAmean.99", "s", "lower"),
        ("BAmean-99", "s", "lower"),
        ("BAmean%99", "s", "lower"),
        ("Pctile.90", "s", "lower"),
        ("Pctile.99.9", "s", "lower"),
        ("Max-90", "s", "lower"),
        ("CI-99%", "s", "lower"),
        ("HStddev", "s", "lower"),
        ("HCoeffVar", "%", "lower"),
    ],
)
def test_operations_with_dots_dashes_and_per_cent_signs_are_recognised(
    operation: str, unit: str, direction: str
) -> None:
    text = (
        "hackbench-process-pipes\n                        base                 new\n"
        f"Amean       1    1.00 (   0.00%)    0.90 (  10.00%)\n"
        f"{operation:<11} 12   2.00 (   0.00%)    1.90 (   5.00%)\n"
    )
    read_row = row(only(imported(text)), f"{operation} 12")
    assert (read_row.operation, dict(read_row.parameters), read_row.unit, read_row.direction) == (
        operation,
        {"groups": 12},
        unit,
        direction,
    )


ROWS = "Hmean  1   324.88 (0.00%)   331.02 *1.89%*\nHmean  2   640.54(0.00%)    651.91*1.78%*\n"


@pytest.mark.parametrize(
    "names",
    [
        "                   6.1.0      6.1.0\n                 vanilla    mytree\n",
        "  6.1.0  6.1.0\n    vanilla    mytree\n",
        "      6.1.0                                6.1.0\n  vanilla                        mytree\n",
    ],
)
def test_two_header_lines_of_any_alignment_are_joined(names: str) -> None:
    table = only(imported(f"TBENCH4\n{names}{ROWS}"))
    assert (table.title, table.columns) == ("TBENCH4", ("6.1.0-vanilla", "6.1.0-mytree"))
    assert [values(row) for row in table.rows] == [[324.88, 331.02], [640.54, 651.91]]


def test_two_header_lines_with_tabs_are_joined() -> None:
    rows = "Hmean\t1\t300.00 (   0.00%)\t303.00 *   1.00%*\nHmean\t16\t4800.00 (   0.00%)\t-\n"
    table = only(imported(f"tbench4\n\n\t\t6.9.0\t6.9.0\n\t\tbase\tnew\n{rows}"))
    assert (table.title, table.columns) == ("tbench4", ("6.9.0-base", "6.9.0-new"))
    assert [values(row) for row in table.rows] == [[300.0, 303.0], [4800.0, None]]


@pytest.mark.parametrize("title", ["tbench results", "  tbench results"])
def test_a_title_with_as_many_words_as_columns_is_not_a_header(title: str) -> None:
    table = only(imported(f"{title}\n                 vanilla    mytree\n{ROWS}"))
    assert (table.title, table.columns) == (title.strip(), ("vanilla", "mytree"))


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_a_single_row_with_its_changes_is_a_table(end: str) -> None:
    text = f"hackbench\n           base                 new\n> Amean   1   1.00 (   0.00%)   0.90 *  10.00%*{end}"
    assert only(imported(text)).columns == ("base", "new")
    with pytest.raises(ImportProblem):
        imported(text.replace("Amean", "Weather"))


def test_a_load_called_cpu_is_not_in_per_cent() -> None:
    text = (
        "stress-ng\n              base                 new\nHmean     cpu-1   1045.00 (   0.00%)  1050.00 (   0.48%)\n"
    )
    assert only(imported(text)).rows[0].unit == ""


def test_a_report_of_schedlab_is_read_back_with_operations_units_and_missing_cells() -> None:
    text = (
        "hackbench-process time (s, lower is better)\n"
        "                                        before the patch              after the patch\n"
        "Amean     time-20-1-100-100             1.026 (   0.00%)             0.926 *   9.75%*\n"
        "Amean     time-20-4-100-100             4.026 (   0.00%)                 - (      - )\n"
        "CoeffVar  time-20-1-100-100             2.003 (   0.00%)             2.220 ( -10.80%)\n"
        "BAmean.95 time-20-1-100-100             1.019 (   0.00%)             0.920 (   9.81%)\n"
    )
    table = only(imported(text))
    assert table.columns == ("before the patch", "after the patch")
    assert [(row.operation, row.unit) for row in table.rows] == [
        ("Amean", "s"),
        ("Amean", "s"),
        ("CoeffVar", "%"),
        ("BAmean.95", "s"),
    ]
    assert [values(row)[1] for row in table.rows] == [0.926, None, 2.220, 0.920]
    # The title does not name the numbers in the labels.
    assert dict(table.rows[0].parameters) == {"case": "time-20-1-100-100"}


def test_a_remark_under_the_header_is_skipped_and_a_later_remark_begins_a_table() -> None:
    text = """
hackbench-process-pipes
                       baseline              patched
(turbo on)
Amean     1      0.4000 (   0.00%)     0.3900 (   2.50%)
Amean     4      0.6000 (   0.00%)     0.5400 *  10.00%*
(turbo off)
Amean     1      0.5000 (   0.00%)     0.4900 (   2.00%)
Amean     4      0.8000 (   0.00%)     0.7600 *   5.00%*
"""
    first, second = imported(text).tables
    assert first.columns == second.columns == ("baseline", "patched")
    assert [values(row)[0] for row in first.rows] == [0.4, 0.6]
    assert [values(row)[0] for row in second.rows] == [0.5, 0.8]
    assert second.title == "(turbo off)"


def test_an_infinite_change_is_read() -> None:
    text = """
stressng
                           1.0                    1.0
                       vanilla                patched
Min       aio        0.00 (   0.00%)       12.00 (    inf%)
Min       get        5.00 (   0.00%)        0.00 (-Infinity%)
"""
    result = imported(text)
    assert [row.cells[1].gain_text for row in only(result).rows] == ["inf", "-Infinity"]
    assert gains(only(result).rows[1]) == [0.0, None]
    assert result.notes == ()
    assert values(only(result).rows[0])[1] == 12


def test_missing_cells_of_a_schedlab_report_are_read() -> None:
    text = (
        "tbench\n"
        "                          6.1-rc3              6.1-rc3\n"
        "                          vanilla              patched\n"
        "Hmean     tput-4     2056.52 (   0.00%)   2206.23 (   7.28%)\n"
        "Hmean     tput-12    6172.57 (   0.00%)         - (      - )\n"
    )
    assert [values(r) for r in only(imported(text)).rows] == [[2056.52, 2206.23], [6172.57, None]]


def test_a_comparison_of_mmtests_in_html_is_the_same_table() -> None:
    head = "<tr><th></th><th></th><th>6.1.0-vanilla</th><th>6.1.0-mytree</th></tr>"
    cells = "<tr><td>Hmean</td><td>1</td><td>324.88 (   0.00%)</td><td>331.02 *   1.89%*</td></tr>"
    table = only(imported(f"<html><body><table>{head}{cells}</table></body></html>"))
    assert (table.layout, table.columns) == ("mmtests", ("6.1.0-vanilla", "6.1.0-mytree"))
    assert [(cell.value, cell.gain, cell.star) for cell in table.rows[0].cells] == [
        (324.88, 0.0, False), (331.02, 1.89, True),
    ]  # fmt: skip


def test_percentiles_of_schbench_side_by_side_with_bars() -> None:
    text = """
schbench (lower is better)
Latency percentiles (usec) runtime 10 (s) (90 total samples)
first                  |  second                  | third

50.0th: 56 (50 samples)   |    50.0th: 49 (51 samples)  | 50.0th: 53 (52 samples)
*99.0th: 120 (9 samples)  |   *99.0th: 100 (9 samples)  | *99.0th: 108 (8 samples)
min=8, max=190            |    min=4, max=117           | min=7, max=118
"""
    result = imported(text)
    assert result.columns == ("first", "second", "third")
    assert [(series.column, series.metric, series.direction, list(series.values)) for series in result.series] == [
        ("first", "wakeup-p50", "lower", [56]),
        ("first", "wakeup-p99", "lower", [120]),
        ("second", "wakeup-p50", "lower", [49]),
        ("second", "wakeup-p99", "lower", [100]),
        ("third", "wakeup-p50", "lower", [53]),
        ("third", "wakeup-p99", "lower", [108]),
    ]


def test_outputs_of_schbench_side_by_side_are_columns() -> None:
    text = (
        "v5.4                                     v5.4 + patch\n"
        "Latency percentiles (usec)               Latency percentiles (usec)\n"
        "\t50.0000th: 45                    \t50.0000th: 39\n"
        "\t99.0000th: 91                   \t99.0000th: 89\n"
    )
    result = imported(text)
    assert result.columns == ("v5.4", "v5.4 + patch")
    assert [(series.workload, series.metric, list(series.values)) for series in result.series] == [
        ("schbench", "wakeup-p50", [45]),
        ("schbench", "wakeup-p99", [91]),
        ("schbench", "wakeup-p50", [39]),
        ("schbench", "wakeup-p99", [89]),
    ]
    twice = imported(f"{text}\nwith more workers\n\n{text}")
    assert twice.columns == ("v5.4", "v5.4 + patch", "v5.4 (2)", "v5.4 + patch (2)")
    assert all(len(series.values) == 1 for series in twice.series)


def test_times_of_older_versions_are_read_below_a_table_with_the_same_columns() -> None:
    header = "            4.5.0-rc1             4.5.0-rc1\n              vanilla          nostats-v2r2\n"
    text = (
        f"kernbench\n{header}User    mean    100.00 (  0.00%)      99.00 (  1.00%)\n"
        "CPU     mean    390.00 (  0.00%)     395.00 ( -1.28%)\n"
    )
    times = "            4.5.0-rc1   4.5.0-rc1\n              vanilla nostats-v2r2\nUser         300.00      290.00\n"
    first, second = imported(f"{text}\n{times}Elapsed      100.00       99.00\n").tables
    assert [(r.operation, r.label, r.direction) for r in first.rows] == [
        ("User", "mean", "lower"), ("CPU", "mean", "lower"),
    ]  # fmt: skip
    assert (second.columns, [values(r) for r in second.rows]) == (first.columns, [[300, 290], [100, 99]])
    assert {(r.unit, r.direction) for r in second.rows} == {("s", "lower")}
    with pytest.raises(ImportProblem):
        imported("        mean   stddev\nUser    10.2     0.3\nElapsed 20.0     1.0\n")
