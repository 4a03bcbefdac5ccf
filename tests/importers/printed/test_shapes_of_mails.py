"""Shapes in which mails print tables; all names and figures here are made up."""

from __future__ import annotations

import math

from tests.importers.printed.helpers import gains, imported, only, values


def test_a_share_of_variation_in_brackets_does_not_hide_the_changes() -> None:
    text = """
  Workers  plain                          other
  1        1000.00 [0.01] (0.00 pct)      950.00 [0.04] (5.00 pct)
  2        2000.00 [0.03] (0.00 pct)      2100.00 [0.02] (-5.00 pct)
"""
    table = only(imported(text))
    assert [(row.parameters, values(row), gains(row)) for row in table.rows] == [
        ({"workers": 1}, [1000.0, 950.0], [0.0, 5.0]),
        ({"workers": 2}, [2000.0, 2100.0], [0.0, -5.0]),
    ]


def test_a_remark_in_parentheses_under_the_header_loses_no_names_and_the_next_begins_a_table() -> None:
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


def test_a_column_name_that_a_mail_program_broke_is_whole_again() -> None:
    text = """
Test:              Base (v1.0)       Base + first_change       Base +
second_change
  1-groups:         5.00 (0.00 pct)         4.50 (10.00 pct)
4.75 (5.00 pct)
  2-groups:         8.00 (0.00 pct)         8.40 (-5.00 pct)
8.00 (0.00 pct)
"""
    table = only(imported(text))
    assert table.columns == ("Base (v1.0)", "Base + first_change", "Base + second_change")
    assert [values(row) for row in table.rows] == [[5.0, 4.5, 4.75], [8.0, 8.4, 8.0]]


def test_a_change_that_is_not_finite_is_one_all_the_same() -> None:
    text = """
stressng
                           1.0                    1.0
                       vanilla                patched
Min       aio        0.00 (   0.00%)       12.00 (    inf%)
Min       get        5.00 (   0.00%)        0.00 (-Infinity%)
"""
    found = imported(text)
    assert [row.cells[1].gain_text for row in only(found).rows] == ["inf", "-Infinity"]
    assert gains(only(found).rows[1]) == [0.0, None]
    assert found.notes == ()
    assert math.isclose(values(only(found).rows[0])[1] or 0, 12)


def test_percentiles_of_schbench_side_by_side_with_bars() -> None:
    text = """
schbench (lower is better)
Latency percentiles (usec) runtime 10 (s) (90 total samples)
first                  |  second                  | third

50.0th: 56 (50 samples)   |    50.0th: 49 (51 samples)  | 50.0th: 53 (52 samples)
*99.0th: 120 (9 samples)  |   *99.0th: 100 (9 samples)  | *99.0th: 108 (8 samples)
min=8, max=190            |    min=4, max=117           | min=7, max=118
"""
    found = imported(text)
    table = only(found)
    assert (table.workload, table.columns) == ("schbench", ("first", "second", "third"))
    assert [(row.operation, row.direction, values(row)) for row in table.rows] == [
        ("50.0th", "lower", [56, 49, 53]),
        ("99.0th", "lower", [120, 100, 108]),
    ]
    assert len(found.notes) == 1
    assert found.notes[0].startswith("line 8: left out")


def test_emphasis_is_no_part_of_a_name() -> None:
    text = "| metric | one | two |\n|---|---|---|\n| **wake-up p99** (us) | **11** | 20 |\n| `tps` | 5 | **6** |\n"
    table = only(imported(text))
    assert [row.operation for row in table.rows] == ["wake-up p99 (us)", "tps"]
    assert [values(row) for row in table.rows] == [[11, 20], [5, 6]]


def test_the_tests_of_unixbench_are_rates_whatever_their_names() -> None:
    text = """
                                       w/o         w/
Pipe-based Context Switching         240.0      350.0
Shell Scripts (8 concurrent)        7700.0     7500.0
System Call Overhead                 670.0      680.0
"""
    assert {row.direction for row in only(imported(text)).rows} == {"higher"}


def test_one_row_of_a_zero_day_report_is_enough() -> None:
    text = """
>> 0123456789abcdef fedcba9876543210aaaabbbbccc
>> ---------------- ---------------------------
>>          %stddev     %change         %stddev
>>              \\          |                \\
>>     100000 ±  2%     -37.0%      63000 ±  3%  will-it-scale.per_thread_ops
"""
    row = only(imported(text)).rows[0]
    assert (values(row), gains(row), row.direction) == ([100000, 63000], [None, -37.0], "higher")


def test_a_name_above_the_rows_heads_names_no_column() -> None:
    text = """
hackbench -s 64 -l 10 -P        new         old
-g 10                         0.200       0.210
-g 20                         0.400       0.420
"""
    table = only(imported(text))
    assert table.columns == ("new", "old")
    assert [(row.operation, values(row)) for row in table.rows] == [("-g 10", [0.2, 0.21]), ("-g 20", [0.4, 0.42])]


def test_elapsed_times_of_two_programs_are_two_tables() -> None:
    text = """
first program:
\tbase:      16.03 +- 0.06 seconds time elapsed  ( +-  0.39% )
\tpatched:   15.93 +- 0.05 seconds time elapsed  ( +-  0.31% )

second program:
\tbase:      146.88 +- 6.54 seconds time elapsed  ( +-  4.45% )
\tpatched:   147.45 +- 13.39 seconds time elapsed  ( +-  9.08% )
"""
    first, second = imported(text).tables
    assert (first.title, second.title) == ("first program", "second program")
    assert first.columns == second.columns == ("base", "patched")
    assert [values(row) for row in second.rows] == [[146.88, 147.45]]


def test_time_in_a_title_is_not_always_what_was_measured() -> None:
    text = """
tbench

o Fork Time Hints

Clients:      tip                   hints
    1      573.00 (0.00 pct)     569.00 (-0.70 pct)
    2     1131.00 (0.00 pct)    1160.00 (2.56 pct)
"""
    assert {row.direction for row in only(imported(text)).rows} == {"higher"}


def test_improvements_without_any_spread_are_no_values() -> None:
    text = """
will-it-scale
case                load            baseline        compare%
context_switch1     24 groups       1.00            +262.06%
context_switch1     48 groups       1.00             -12.50%
"""
    table = only(imported(text))
    assert table.columns == ("baseline", "compare")
    assert [(row.parameters, values(row), gains(row)) for row in table.rows] == [
        ({"case": "context_switch1", "groups": 24}, [1.0, None], [None, 262.06]),
        ({"case": "context_switch1", "groups": 48}, [1.0, None], [None, -12.5]),
    ]
