"""Columns and rows that stand in groups, with the group's name said once; all names and figures here are made up."""

from __future__ import annotations

from tests.importers.printed.helpers import gains, imported, only, values


def test_columns_in_groups_are_compared_group_with_group() -> None:
    text = """
cyclictest --policy other -D 5 -q -n
        plain               nice
group   min  avg    max     min  avg    max
0       10    20     30      11   19     31
4       40   400   9000      41   80    300
"""
    table = only(imported(text))
    assert table.columns == ("plain", "nice")
    assert [(row.operation, row.parameters, values(row)) for row in table.rows] == [
        ("min", {"groups": 0}, [10, 11]),
        ("min", {"groups": 4}, [40, 41]),
        ("avg", {"groups": 0}, [20, 19]),
        ("avg", {"groups": 4}, [400, 80]),
        ("max", {"groups": 0}, [30, 31]),
        ("max", {"groups": 4}, [9000, 300]),
    ]


def test_lines_that_head_some_rows_tell_these_apart() -> None:
    text = """
schbench
               6.1          6.1 + change
Groups: 1
50.0th:         14.0         12.5
99.0th:         20.5         17.0
Groups: 16
50.0th:         39.0         40.5
99.0th:       5600.0        102.5
"""
    found = imported(text)
    assert [(row.operation, row.parameters, row.direction, values(row)) for row in only(found).rows] == [
        ("50.0th", {"groups": 1}, "lower", [14, 12.5]),
        ("99.0th", {"groups": 1}, "lower", [20.5, 17]),
        ("50.0th", {"groups": 16}, "lower", [39, 40.5]),
        ("99.0th", {"groups": 16}, "lower", [5600, 102.5]),
    ]
    assert found.notes == ()


def test_a_header_without_its_columns_names_is_the_last_one_again() -> None:
    text = """
hackbench -l 100 -g group
group        base                 patched
1            1.378(+/-  1%)      1.337(+/- 1%) + 3%
4            1.393(+/-  3%)      1.312(+/- 3%) + 6%

hackbench -p -l 100 -g group
group
1            1.836(+/- 17%)      1.148(+/- 5%) +37%
4            1.586(+/-  6%)      1.109(+/- 8%) +30%
"""
    first, second = imported(text).tables
    assert first.columns == second.columns == ("base", "patched")
    assert [gains(row) for row in second.rows] == [[None, 37], [None, 30]]
    assert second.title == "hackbench -p -l 100 -g group"


def test_percentiles_of_several_runs_below_schbenchs_heading_are_a_table() -> None:
    text = """Subject: a change

Latency percentiles (usec):
                base      base+revert   base+this
50.0000th:         9               13           9
*99.0000th:       27               31          24
99.9000th:     12560               36          30

Signed-off-by: A Developer <a@example.org>
"""
    table = only(imported(text))
    assert (table.workload, table.columns) == ("schbench", ("base", "base+revert", "base+this"))
    assert [(row.operation, row.direction) for row in table.rows] == [
        ("50.0000th", "lower"),
        ("99.0000th", "lower"),
        ("99.9000th", "lower"),
    ]


def test_hackbenchs_long_line_may_be_broken() -> None:
    text = """
Without this change:
    # hackbench process 10 1000
    Running in process mode with 10 groups using 40 file descriptors
    each (== 400 tasks)
    Each sender will pass 1000 messages of 100 bytes
    Time: 4.401

With this change:
    # hackbench process 10 1000
    Running in process mode with 10 groups using 40 file descriptors
    each (== 400 tasks)
    Each sender will pass 1000 messages of 100 bytes
    Time: 3.782
"""
    found = imported(text)
    assert found.columns == ("Without this change", "With this change")
    assert [(list(one.values), one.parameters["groups"]) for one in found.series] == [([4.401], 10), ([3.782], 10)]


def test_zero_days_change_of_nothing_is_no_figure() -> None:
    text = """
         %stddev     %change         %stddev
             \\          |                \\
    100000            -1.0%      99000        netperf.Throughput_tps
      0.00       +6.7e+101%       0.67 ±165%  numa-vmstat.node1.nr_foll_pin_acquired
"""
    rows = only(imported(text)).rows
    assert [(values(row), gains(row), row.cells[1].gain_text) for row in rows] == [
        ([100000, 99000], [None, -1.0], "-1.0"),
        ([0, 0.67], [None, None], "+6.7e+101"),
    ]
