"""What columns may mean beside values: labels, repeats, spreads, changes; and other ways to draw a table."""

from __future__ import annotations

import pytest

from tests.importers.printed.helpers import gains, imported, only, row, values


def test_tabs_set_columns_apart_wherever_they_end() -> None:
    table = only(imported("size\tbaseline\tpatched\t%diff\n64\t560.45\t576.96\t2.95\n128\t766.66\t797.54\t4.03\n"))
    assert table.columns == ("baseline", "patched")
    assert [(r.parameters, values(r), gains(r)) for r in table.rows] == [
        ({"size": 64}, [560.45, 576.96], [None, 2.95]),
        ({"size": 128}, [766.66, 797.54], [None, 4.03]),
    ]


def test_a_unit_that_all_columns_name_is_that_of_the_rows() -> None:
    text = "| Msg size | Baseline (Mbps) | Patched (Mbps) |\n|---:|---:|---:|\n| 64 | 560.45 | 576.96 |\n"
    found = only(imported(text)).rows[0]
    assert (found.parameters, found.unit, found.direction) == ({"size": 64}, "Mbps", "higher")


def test_a_column_of_changes_may_stand_ahead_of_what_changed() -> None:
    text = (
        "                        SPF_0       change     SPF_1\n"
        "per_thread_ops      2653260.7       -10%       2385165.8\n"
        "per_process_ops     4436330.1       -12.4%     3886734.2\n"
    )
    table = only(imported(text))
    assert table.columns == ("SPF_0", "SPF_1")
    assert [gains(r) for r in table.rows] == [[None, -10.0], [None, -12.4]]


def test_ministat_names_its_signs_above_and_counts_its_repeats() -> None:
    text = (
        "x without_patch\n+ with_patch\n"
        "    N           Min           Max        Median           Avg        Stddev\n"
        "x 500        348872        362236        354712     354745.69      2711.827\n"
        "+ 480        349422        361452        353942      354215.4     2576.9258\n"
    )
    table = only(imported(text))
    assert (table.layout, table.columns) == ("runs in rows", ("without_patch", "with_patch"))
    assert [r.operation for r in table.rows] == ["Min", "Max", "Median", "Avg"]
    mean = row(table, "Avg")
    assert [(c.value, c.n, c.spread_kind) for c in mean.cells] == [
        (354745.69, 500, "standard deviation"), (354215.4, 480, "standard deviation"),
    ]  # fmt: skip
    # 2711.827 of 354745.69
    assert mean.cells[0].spread_percent == pytest.approx(0.76444, abs=1e-5)


def test_spreads_in_columns_of_their_own_go_to_the_figures_before_them() -> None:
    text = (
        "hackbench (lower is better)\n\n"
        "groups    base          stddev   patched       stddev     change\n"
        "1         0.637         1.2%     0.666         0.9%       +4.55%\n"
        "4         1.229         0.4%     1.240         0.5%       +0.90%\n"
    )
    table = only(imported(text))
    assert (table.columns, table.gains) == (("base", "patched"), "change")
    first = table.rows[0]
    assert [(c.value, c.spread_percent, c.gain) for c in first.cells] == [(0.637, 1.2, None), (0.666, 0.9, 4.55)]
    assert (first.parameters, first.unit, first.direction) == ({"groups": 1}, "s", "lower")


def test_outputs_beside_one_another_are_columns() -> None:
    text = (
        "v5.4                                     v5.4 + patch\n"
        "Latency percentiles (usec)               Latency percentiles (usec)\n"
        "\t50.0000th: 45                    \t50.0000th: 39\n"
        "\t99.0000th: 91                   \t99.0000th: 89\n"
    )
    table = only(imported(text))
    assert table.columns == ("v5.4", "v5.4 + patch")
    assert [(r.operation, values(r)) for r in table.rows] == [("50.0000th", [45, 39]), ("99.0000th", [91, 89])]


def test_a_list_of_runs_with_a_figure_each_needs_no_header() -> None:
    text = "will-it-scale:\n\n  before: 1234567 ops/s (stddev 1.2%)\n  after:  1345678 ops/s (stddev 0.8%)   +9.0%\n"
    table = only(imported(text))
    assert (table.layout, table.columns) == ("runs in rows", ("before", "after"))
    (found,) = table.rows
    assert (values(found), gains(found), found.unit) == ([1234567, 1345678], [None, 9.0], "ops/s")


def test_missing_cells_as_schedlab_itself_prints_them() -> None:
    text = (
        "tbench\n"
        "                          6.1-rc3              6.1-rc3\n"
        "                          vanilla              patched\n"
        "Hmean     tput-4     2056.52 (   0.00%)   2206.23 (   7.28%)\n"
        "Hmean     tput-12    6172.57 (   0.00%)         - (      - )\n"
    )
    assert [values(r) for r in only(imported(text)).rows] == [[2056.52, 2206.23], [6172.57, None]]


def test_figures_of_one_row_in_several_units_of_time_are_brought_together() -> None:
    text = (
        "lock                  before        after      % change\n"
        "lru_add_drain_cpu     1.96 s        917.71 ms  -53%\n"
        "shrink_node           689.43 ms     26.95 ms   -96%\n"
    )
    table = only(imported(text))
    assert [(r.unit, values(r)) for r in table.rows] == [("s", [1.96, 0.91771]), ("ms", [689.43, 26.95])]
    assert table.rows[0].cells[1].text == "917.71ms"


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("1,234,567", 1234567.0),
        ("1,06,49,615", 10649615.0),
        ("10'650", 10650.0),
        ("6.21+05", 621000.0),
        ("1.5e-05", 1.5e-05),
        (".0261", 0.0261),
        ("~75", 75.0),
        ("\u20131.5", -1.5),
    ],
)
def test_numbers_are_read_as_they_are_written_around_the_world(printed: str, value: float) -> None:
    table = only(imported(f"case      before     after\none       {printed}     2.5\ntwo       3.5     4.5\n"))
    assert table.rows[0].cells[0].value == value


def test_rows_that_name_the_statistic_and_the_size_have_both() -> None:
    text = (
        "netperf-udp\n"
        "                      old       new\n"
        "Pctile-90 send-64   278.42    277.05\n"
        "HStddev   send-64     2.42      1.21\n"
    )
    table = only(imported(text))
    assert [(r.operation, r.label, r.parameters, r.direction) for r in table.rows] == [
        ("Pctile-90", "send-64", {"metric": "send", "size": 64}, "higher"),
        ("HStddev", "send-64", {"metric": "send", "size": 64}, "lower"),
    ]
