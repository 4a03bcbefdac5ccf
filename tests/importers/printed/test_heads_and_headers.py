"""What belongs to a row's head, to a header of two lines, and to a column of changes or spreads beside the figures."""

from __future__ import annotations

import pytest

from schedlab.importers.printed import looks_like
from tests.importers.printed.helpers import gains, imported, only, row, values

GROUPS = """Hackbench

                 tip/sched/core    +patchset           diff
group 1          0.651(+/-0.61%)   0.647(+/-1.08%)     +0.61%
group 4          0.642(+/-1.13%)   0.601(+/-1.90%)     +6.39%
group 16         0.807(+/-1.59%)   0.691(+/-1.39%)     +14.37%
"""
NAMED_SPREADS = """  test             baseline (std)      patched (std)      improvement
  hackbench -g 1   0.421 (1.2%)        0.400 (1.0%)        +4.99%
  hackbench -g 4   1.210 (0.4%)        1.250 (0.9%)        -3.31%
"""
SCHBENCH = """schbench -m 2 -t 16

                 base        patched     delta
Lat 50.0th:      12.00       11.00       -8.33%
Lat 90.0th:      40.00       44.00      +10.00%
Lat 99.0th:     120.00      108.00      -10.00%
rps:          10000.00    10500.00       +5.00%
"""
UNIXBENCH = """Unixbench (index, higher is better)

Test                          base      fix    Diff
Pipe Throughput             2130.5   2215.7   +4.0%
Context Switching           1022.0    994.3   -2.7%
Process Creation             812.3      n/a     n/a
"""


def test_a_number_straight_after_a_word_belongs_to_the_label() -> None:
    table = only(imported(GROUPS))
    assert table.columns == ("tip/sched/core", "+patchset")
    assert [dict(row.parameters) for row in table.rows] == [{"groups": 1}, {"groups": 4}, {"groups": 16}]
    assert [values(row) for row in table.rows] == [[0.651, 0.647], [0.642, 0.601], [0.807, 0.691]]
    assert [gains(row) for row in table.rows] == [[None, 0.61], [None, 6.39], [None, 14.37]]
    assert [[cell.spread_percent for cell in row.cells] for row in table.rows] == [
        [0.61, 1.08],
        [1.13, 1.90],
        [1.59, 1.39],
    ]
    assert (table.gains, {row.direction for row in table.rows}) == ("improvement", {"lower"})


def test_a_number_below_a_name_of_its_own_stays_a_figure() -> None:
    table = only(imported("metric     base   patched\nreads       100       200\nwrites      300       400\n"))
    assert (table.columns, [values(row) for row in table.rows]) == (("base", "patched"), [[100, 200], [300, 400]])
    table = only(imported("metric  base   patched\nreads 1  100       200\nreads 2  300       400\n"))
    assert (table.columns, [values(row) for row in table.rows]) == (("base", "patched"), [[100, 200], [300, 400]])
    table = only(imported("         base   patched\nrequests 1000      2000\nfailures 3000      4000\n"))
    assert (table.columns, [values(row) for row in table.rows]) == (("base", "patched"), [[1000, 2000], [3000, 4000]])


@pytest.mark.parametrize("before", ["", GROUPS + "On another machine:\n\n"])
def test_per_cent_in_parentheses_under_a_name_of_spreads_are_spreads(before: str) -> None:
    table = imported(before + NAMED_SPREADS).tables[-1]
    assert table.columns == ("baseline", "patched")
    assert [(row.operation, values(row), gains(row)) for row in table.rows] == [
        ("hackbench -g 1", [0.421, 0.400], [None, 4.99]),
        ("hackbench -g 4", [1.210, 1.250], [None, -3.31]),
    ]
    assert [(c.spread_percent, c.spread_kind) for c in table.rows[0].cells] == [
        (1.2, "standard deviation"),
        (1.0, "standard deviation"),
    ]
    assert (table.gains, table.rows[0].direction) == ("improvement", "lower")


def test_signed_per_cent_are_changes_whatever_the_column_is_called() -> None:
    table = only(
        imported("         base (std)       new (std)\nx  10.0 (0.0%)  11.0 (+10.0%)\ny  20.0 (0.0%)  19.0 (-5.0%)\n")
    )
    assert [gains(row)[-1] for row in table.rows] == [10.0, -5.0]


def test_a_column_of_deltas_proves_no_direction_and_makes_no_table_of_mmtests() -> None:
    table = only(imported(SCHBENCH))
    assert (table.layout, table.gains) == ("columns", "change")
    assert [row.direction for row in table.rows] == ["lower", "lower", "lower", "higher"]
    assert [gains(row)[-1] for row in table.rows] == [-8.33, 10.0, -10.0, 5.0]


def test_deltas_against_the_words_are_plain_changes() -> None:
    # Throughput falls by 5 and 10 per cent and is printed as a gain: the source's mistake, not a direction.
    text = "Throughput\n\n     base    new    delta\na   100.0   95.0    +5.0%\nb   100.0   90.0   +10.0%\n"
    table = only(imported(text))
    assert (table.gains, [row.direction for row in table.rows]) == ("change", ["higher", "higher"])


@pytest.mark.parametrize("head", ["50.0th:", "99.9th:"])
def test_schbenchs_percentiles_are_latencies_but_for_those_of_requests(head: str) -> None:
    text = "{0}\n\n           base     new\n{1}     10.0    12.0\n{1}     20.0    21.0\n"
    assert only(imported(text.format("schbench", head))).rows[0].direction == "lower"
    assert only(imported(text.format("schbench RPS percentiles", head))).rows[0].direction == "higher"


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
def test_operations_are_known_with_dots_dashes_and_per_cent_signs(operation: str, unit: str, direction: str) -> None:
    text = (
        "hackbench-process-pipes\n                        base                 new\n"
        f"Amean       1    1.00 (   0.00%)    0.90 (  10.00%)\n"
        f"{operation:<11} 12   2.00 (   0.00%)    1.90 (   5.00%)\n"
    )
    found = row(only(imported(text)), f"{operation} 12")
    assert (found.operation, dict(found.parameters), found.unit, found.direction) == (
        operation,
        {"groups": 12},
        unit,
        direction,
    )


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_a_single_row_of_mmtests_with_its_gains_looks_like_a_table(end: str) -> None:
    text = f"hackbench\n           base     new\n> Amean   1   1.00 (   0.00%)   0.90 *  10.00%*{end}"
    assert looks_like(text)
    assert not looks_like(text.replace("Amean", "Weather"))


@pytest.mark.parametrize("text", [NAMED_SPREADS, UNIXBENCH])
def test_two_rows_that_end_with_figures_look_like_a_table(text: str) -> None:
    assert looks_like(text)


def test_labels_of_two_words_and_cells_that_are_not_available_are_read() -> None:
    table = only(imported(UNIXBENCH))
    assert table.columns == ("base", "fix")
    assert [(row.operation, values(row), gains(row)[1]) for row in table.rows] == [
        ("Pipe Throughput", [2130.5, 2215.7], 4.0),
        ("Context Switching", [1022.0, 994.3], -2.7),
        ("Process Creation", [812.3, None], None),
    ]


ROWS = "Hmean  1   324.88 (0.00%)   331.02 *1.89%*\nHmean  2   640.54(0.00%)    651.91*1.78%*\n"


@pytest.mark.parametrize(
    "names",
    [
        "                   6.1.0      6.1.0\n                 vanilla    mytree\n",
        "  6.1.0  6.1.0\n    vanilla    mytree\n",
        "      6.1.0                                6.1.0\n  vanilla                        mytree\n",
    ],
)
def test_two_lines_of_names_are_a_pair_wherever_they_stand(names: str) -> None:
    table = only(imported(f"TBENCH4\n{names}{ROWS}"))
    assert (table.title, table.columns) == ("TBENCH4", ("6.1.0-vanilla", "6.1.0-mytree"))
    assert [values(row) for row in table.rows] == [[324.88, 331.02], [640.54, 651.91]]


def test_two_lines_of_names_with_tabs_are_a_pair() -> None:
    rows = "Hmean\t1\t300.00 (   0.00%)\t303.00 *   1.00%*\nHmean\t16\t4800.00 (   0.00%)\t-\n"
    table = only(imported(f"tbench4\n\n\t\t6.9.0\t6.9.0\n\t\tbase\tnew\n{rows}"))
    assert (table.title, table.columns) == ("tbench4", ("6.9.0-base", "6.9.0-new"))
    assert [values(row) for row in table.rows] == [[300.0, 303.0], [4800.0, None]]


@pytest.mark.parametrize("title", ["tbench results", "  tbench results"])
def test_a_title_of_as_many_words_as_columns_names_none(title: str) -> None:
    table = only(imported(f"{title}\n                 vanilla    mytree\n{ROWS}"))
    assert (table.title, table.columns) == (title.strip(), ("vanilla", "mytree"))


def test_rows_without_a_header_beside_a_table_are_told() -> None:
    found = imported(f"{GROUPS}\nHere is more. I ran it twice, too.\n\nreads     10.5   11.5\nwrites    20.5   21.5\n")
    assert [len(table.rows) for table in found.tables] == [3]
    assert found.notes == ("lines 10–11 look like a table and were not read: no header fits their figures",)


def test_a_load_called_cpu_has_no_per_cent() -> None:
    text = (
        "stress-ng\n              base                 new\nHmean     cpu-1   1045.00 (   0.00%)  1050.00 (   0.48%)\n"
    )
    assert only(imported(text)).rows[0].unit == ""


def test_a_report_of_ours_comes_back_with_its_operations_units_and_missing_cells() -> None:
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
    # The names of the numbers are not printed: what they are of is not guessed.
    assert dict(table.rows[0].parameters) == {"case": "time-20-1-100-100"}
