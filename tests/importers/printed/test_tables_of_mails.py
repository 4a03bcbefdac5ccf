"""More shapes in which mails print tables; all names and figures here are made up."""

from __future__ import annotations

from tests.importers.printed.helpers import gains, imported, only, values


def test_rows_of_repeats_below_each_run_are_compared_run_with_run() -> None:
    text = """
test\tgov\ti\tscore\t%change\tidles
schbench\tteo\t0\t200.00\t+0.50%\t2900
schbench\tteo\t1\t201.00\t+1.00%\t3100
schbench\tmenu\t0\t210.00\t+5.00%\t2800
schbench\tmenu\t1\t198.00\t-1.00%\t2600
"""
    table = only(imported(text))
    assert table.columns == ("teo", "menu")
    assert [(row.operation, row.parameters, values(row)) for row in table.rows] == [
        ("schbench score", {"i": 0}, [200, 210]),
        ("schbench idles", {"i": 0}, [2900, 2800]),
        ("schbench score", {"i": 1}, [201, 198]),
        ("schbench idles", {"i": 1}, [3100, 2600]),
    ]
    # A change stands behind the metric that it is of.
    assert gains(table.rows[0]) == [0.5, 5.0]


def test_names_that_ran_together_leave_the_line_above_them() -> None:
    text = """
                      5.9         5.9         5.9
                  vanillaidle-disabled-by-commandacpi-disable
Hmean Avg_MHz        8.31        8.29        8.35
Hmean Busy%          0.58        0.56        0.58
"""
    found = imported(text)
    assert only(found).columns == ("5.9", "5.9 (2)", "5.9 (3)")
    assert found.notes == (
        'line 3: the columns\' names run into one another: "vanillaidle-disabled-by-commandacpi-disable"',
    )


def test_rows_are_no_names_of_columns() -> None:
    text = """
hackbench -T 20
40274\t129\t36

with the change:
hackbench -T 20
319331\t523\t41
7252343\t600\t60
"""
    for table in imported(f"| run | time |\n|---|---|\n| before | 3 s |\n| after | 2 s |\n{text}").tables:
        assert "129" not in table.columns


def test_figures_of_single_repeats_above_a_mean_stop_no_import() -> None:
    text = """
teo mainline:
Time: 4.945
Time: 5.021

menu:
Time: 4.964
Time: 4.847

Geekbench 5
teo:
3113, 3068, 3079
mean 3086.66

menu:
2947, 2941, 2952
mean 2946.66 (-4.54%)

other:
3032, 3066, 3019
mean 3039 (-1.54%)
"""
    found = imported(f"hackbench -l 100 -g 100\n{text}")
    assert found.columns == ("teo mainline", "menu")
    assert [gains(row) for table in found.tables for row in table.rows] == [[-4.54], [-1.54]]


def test_frames_right_below_one_another_are_one_table() -> None:
    text = """
+------------------------+-----------------+-----------------+
| Metric                 | Without Patch   | With Patch      |
+------------------------+-----------------+-----------------+
| Avg Wakeup Latency     | 7.070 us        | 4.879 us        |
| Total Wakeups          | 97031           | 96583           |
+------------------------+-----------------+-----------------+
+------------------------+-----------------+-----------------+
| Total Above Usage      | 95,824 (98.75%) | 5 (0.01%)       |
+------------------------+-----------------+-----------------+
"""
    table = only(imported(text))
    assert table.columns == ("Without Patch", "With Patch")
    assert [(row.operation, values(row)) for row in table.rows] == [
        ("Avg Wakeup Latency", [7.07, 4.879]),
        ("Total Wakeups", [97031, 96583]),
        ("Total Above Usage", [95824, 5]),
    ]


def test_a_name_over_two_lines_is_whole() -> None:
    text = """
sysbench cpu --threads=8 run

                Without change          With change
Events per
second                  355                     614

Avg Latency(ms)         21.84                   13.02
"""
    table = only(imported(text))
    assert table.columns == ("Without change", "With change")
    assert [(row.operation, row.direction, values(row)) for row in table.rows] == [
        ("Events per second", "higher", [355, 614]),
        ("Avg Latency(ms)", "lower", [21.84, 13.02]),
    ]


def test_a_rising_count_tells_rows_apart_and_ratios_of_some_rows_are_no_figures_of_their_own() -> None:
    text = """
hackbench test 1 (seconds, less is better)
test\tcount\tteo\tother\t\tmenu
1\t1\t8.7\t8.99\t103.33%\t9.071\t104.26%
2\t2\t16.509\t16.96\t102.73%\t17.159\t103.94%

hackbench test 2 (seconds, less is better)
\t\tteo\tother\t\tmenu
average\t8.906\t8.703\t97.72%\t9.032\t101.41%
max\t9.263\t8.856\t\t9.228
min\t8.761\t8.599\t\t8.876
"""
    first, second = imported(text).tables
    assert first.columns == second.columns == ("teo", "other", "menu")
    assert [values(row) for row in first.rows] == [[8.7, 8.99, 9.071], [16.509, 16.96, 17.159]]
    assert [values(row) for row in second.rows] == [[8.906, 8.703, 9.032], [9.263, 8.856, 9.228], [8.761, 8.599, 8.876]]


def test_parts_under_one_heading_are_of_its_benchmark_until_the_next_heading() -> None:
    part = "o NPS{}\n\nClients:    tip                  patched\n    1    452.49 (0.00 pct)    457.94 (1.20 pct)\n"
    text = "~~~~~~~~~~\n~ tbench ~\n~~~~~~~~~~\n\n" + "\n".join(part.format(k) for k in (1, 2, 4))
    test = "\nTest:       tip                  patched\n Copy:   2713.35 (0.00 pct)   2924.22 (7.77 pct)\n"
    found = imported(f"{text}\n\n~~~~~~~~~~\n~ stream ~\n~~~~~~~~~~\n\n- 10 Runs\n\no NPS1\n{test}")
    assert [table.workload for table in found.tables] == ["tbench", "tbench", "tbench", "stream"]


def test_rates_in_per_cent_and_spreads_are_no_runs_compared_with_the_first() -> None:
    text = """
netperf latency usecs:
case            load            Lat_99th        std%
TCP_RR          thread-224      257.39          (  0.21)

schedstat of netperf:
case            load            se_eff%      dom_eff%    success_rate%
TCP_RR          28 threads      99.978       18.535      100.000
TCP_RR          56 threads      99.397       5.671       99.000
"""
    tables = imported(text).tables
    assert [values(row) for row in tables[-1].rows] == [[99.978, 18.535, 100], [99.397, 5.671, 99]]
    assert all(gain is None for table in tables for row in table.rows for gain in gains(row))
