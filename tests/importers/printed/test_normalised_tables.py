"""Tables in multiples of the first column, of public lists; every cell is typed from the fixtures."""

from __future__ import annotations

import pytest

from schedlab.analysis.gains import disagreements, recompute
from schedlab.results import ImportProblem, Table
from tests.importers.printed.helpers import example, imported, only, row

Cells = list[tuple[float | None, float | None, float | None]]
"""Value, gain, spread in per cent."""


def _rows(table: Table) -> list[tuple[str, dict[str, str | int | float], Cells]]:
    return [
        (r.operation, dict(r.parameters), [(c.value, c.gain, c.spread_percent) for c in r.cells]) for r in table.rows
    ]


def test_boxes_tell_statistic_direction_and_what_rows_count() -> None:
    found = example("normalised-amd-boxes")
    hackbench, stream, netperf, schbench = found.tables
    assert {table.columns for table in found.tables} == {("tip", "run-to-parity-wakeup")}
    assert [table.workload for table in found.tables] == ["hackbench", "stream-10", "netperf", "schbench"]
    assert [{r.direction for r in table.rows} for table in found.tables] == [
        {"lower"}, {"higher"}, {"higher"}, {"lower"},
    ]  # fmt: skip
    assert _rows(hackbench) == [
        ("AMean", {"groups": 1}, [(1.00, 0.00, 2.08), (0.98, 2.29, 3.19)]),
        ("AMean", {"groups": 2}, [(1.00, 0.00, 0.89), (1.02, -2.22, 1.27)]),
        ("AMean", {"groups": 16}, [(1.00, 0.00, 1.60), (0.96, 3.87, 2.57)]),
    ]
    assert _rows(stream) == [
        ("HMean", {"case": "Copy"}, [(1.00, 0.00, 9.73), (1.01, 0.53, 6.33)]),
        ("HMean", {"case": "Triad"}, [(1.00, 0.00, 5.50), (0.98, -1.90, 6.31)]),
    ]
    assert _rows(netperf) == [
        ("AMean", {"clients": 128}, [(1.00, 0.00, 0.89), (1.00, 0.25, 0.89)]),
        ("AMean", {"clients": 256}, [(1.00, 0.00, 8.68), (0.95, -4.96, 7.11)]),
    ]
    assert _rows(schbench) == [
        ("Median", {"workers": 1}, [(1.00, 0.00, 27.28), (0.69, 31.25, 41.89)]),
        ("Median", {"workers": 512}, [(1.00, 0.00, 2.26), (0.78, 22.04, 1.77)]),
    ]
    assert schbench.title == "schbench, Normalized 99th percentile latency in us"
    assert [cell.spread_kind for cell in schbench.rows[0].cells] == ["standard deviation"] * 2
    assert found.notes == ("line 28: marks behind the rows of this table left out",)
    assert [r.line for r in schbench.rows] == [39, 40]


def test_a_multiple_has_no_unit_of_what_was_measured() -> None:
    assert {r.unit for table in example("normalised-amd-boxes").tables for r in table.rows} == {"of first"}


def test_six_columns_with_cells_that_outgrow_their_width() -> None:
    hackbench, schbench = example("normalised-amd-six").tables
    assert hackbench.columns == schbench.columns == ("tip", "up", "smp", "max", "concur", "tasks")
    assert _rows(hackbench) == [
        ("AMean", {"groups": 1}, [
            (1.00, 0.00, 11.18), (1.01, -0.60, 12.84), (1.12, -12.08, 12.50),
            (1.16, -15.71, 9.46), (1.07, -7.25, 11.46), (0.99, 1.21, 15.44),
        ]),
        ("AMean", {"groups": 2}, [
            (1.00, 0.00, 4.73), (1.01, -1.00, 9.29), (2.88, -188.25, 63.11),
            (0.97, 2.75, 11.62), (0.95, 5.00, 12.47), (0.96, 4.00, 11.72),
        ]),
    ]  # fmt: skip
    assert _rows(schbench) == [
        ("Median", {"workers": 1}, [
            (1.00, 0.00, 21.48), (2.75, -175.00, 14.06), (3.00, -200.00, 12.91),
            (3.62, -262.50, 29.64), (3.62, -262.50, 21.84), (2.25, -125.00, 12.45),
        ]),
    ]  # fmt: skip
    assert schbench.workload == "new-schbench-wakeup-latency"


def test_a_second_table_is_under_the_box_of_the_first_and_has_its_own_heading() -> None:
    first, second = example("normalised-amd-one-box").tables
    assert first.columns == ("tip", "swqueue_v1", "noshard", "shard_wakeup", "shard_all")
    assert second.columns == ("tip", "swqueue", "noshard", "shard_wakeup", "shard_all")
    assert second.title == "tbench, Normalized throughput, Zen4, 2 Sockets, 128 cores per socket, SMT2"
    assert (second.workload, second.rows[0].direction) == ("tbench", "higher")
    assert _rows(first) == [
        ("", {"clients": 1}, [
            (1.00, 0.00, 0.46), (0.99, -1.33, 0.94), (0.98, -1.65, 0.37), (1.00, -0.23, 0.15), (0.95, -4.77, 0.93),
        ]),
        ("", {"clients": 64}, [
            (1.00, 0.00, 5.75), (1.17, 17.41, 0.79), (0.97, -3.14, 10.67), (1.07, 6.94, 3.08), (0.41, -59.17, 1.88),
        ]),
    ]  # fmt: skip
    assert _rows(second) == [
        ("", {"clients": 1}, [
            (1.00, 0.00, 0.19), (0.98, -1.72, 0.19), (0.99, -1.15, 0.28), (0.98, -1.79, 0.28), (0.99, -1.49, 0.10),
        ]),
    ]  # fmt: skip


def test_a_box_names_its_benchmark_by_the_command() -> None:
    table = only(example("normalised-amd-command"))
    assert (table.workload, table.columns) == ("perf-sched-messaging", ("mainline", "patched"))
    assert _rows(table) == [
        ("AMean", {"groups": 1}, [(1.00, 0.00, 12.29), (0.94, 6.76, 12.59)]),
        ("AMean", {"groups": 16}, [(1.00, 0.00, 1.46), (0.98, 2.01, 0.98)]),
    ]


def test_cases_and_loads_with_gains_and_a_heading_instead_of_a_box() -> None:
    schbench, hackbench = example("normalised-cases-with-gains").tables
    assert (schbench.workload, hackbench.workload) == ("schbench", "hackbench")
    assert {r.direction for table in (schbench, hackbench) for r in table.rows} == {"lower"}
    assert _rows(schbench) == [
        ("", {"case": "normal", "mthreads": 1}, [(1.00, 0.00, 3.66), (1.00, 0.00, 1.71)]),
        ("", {"case": "normal", "mthreads": 4}, [(1.00, 0.00, 4.77), (0.96, 4.00, 4.27)]),
        ("", {"case": "normal", "mthreads": 6}, [(1.00, 0.00, 60.37), (2.66, -166.00, 23.67)]),
    ]
    assert _rows(hackbench) == [
        ("", {"case": "process-pipe", "groups": 2}, [(1.00, 0.00, 4.76), (0.99, 1.00, 5.68)]),
        ("", {"case": "threads-pipe", "groups": 1}, [(1.00, 0.00, 3.87), (0.71, 29.0, 3.56)]),
    ]


@pytest.mark.parametrize(
    ("name", "count"),
    [
        # Cells beside the first column: rows times further columns.
        ("normalised-amd-boxes", 9), ("normalised-amd-six", 15), ("normalised-amd-one-box", 12),
        ("normalised-amd-command", 2), ("normalised-cases-with-gains", 5),
    ],
)  # fmt: skip
def test_printed_gains_agree_with_multiples_of_few_digits(name: str, count: int) -> None:
    tables = example(name).tables
    assert sum(len(recompute(table)) for table in tables) == count
    assert [found for table in tables for found in disagreements(table)] == []


def test_a_gain_of_the_wrong_sign_is_found() -> None:
    table = only(
        imported(
            "Test          : hackbench\nInterpretation: Lower is better\n"
            "Case:           tip[pct imp](CV)    new[pct imp](CV)\n"
            " 1-groups     1.00 [ -0.00]( 2.08)     0.90 [ 10.02]( 3.19)\n"
            " 2-groups     1.00 [ -0.00]( 2.08)     0.80 [ 20.02]( 3.19)\n"
            " 4-groups     1.00 [ -0.00]( 2.08)     1.20 [ 20.02]( 3.19)\n"
        )
    )
    assert [found.line for found in disagreements(table)] == [6]


def test_means_that_are_not_printed_stay_missing_beside_their_improvement() -> None:
    hackbench, netperf, schbench = example("normalised-intel-quoted").tables
    assert hackbench.columns == ("baseline", "compare")
    assert [table.workload for table in (hackbench, netperf, schbench)] == ["hackbench", "netperf", "schbench"]
    assert hackbench.gains == netperf.gains == "improvement"
    assert [table.rows[0].direction for table in (hackbench, netperf, schbench)] == ["lower", "higher", None]
    assert _rows(hackbench) == [
        ("", {"case": "process-pipe", "groups": 1}, [(1.00, None, 2.66), (None, 13.84, 12.80)]),
        ("", {"case": "process-sockets", "groups": 2}, [(1.00, None, 2.68), (None, -2.20, 0.55)]),
    ]
    assert _rows(netperf) == [
        ("", {"case": "TCP_RR", "threads": 280}, [(1.00, None, 64.56), (None, 69.47, 56.78)]),
        ("", {"case": "UDP_RR", "threads": 56}, [(1.00, None, 8.94), (None, -0.71, 12.03)]),
    ]
    assert _rows(schbench) == [("", {"case": "normal", "mthreads": 8}, [(1.00, None, 11.03), (None, -3.87, 5.14)])]
    assert (hackbench.rows[0].cells[1].text, hackbench.rows[0].cells[1].gain_text) == ("", "+13.84")


def test_loads_are_read_however_they_are_written() -> None:
    plain, workers, starred = example("normalised-intel-spaces").tables
    assert _rows(plain) == [
        ("", {"case": "normal", "mthreads": 1}, [(1.00, None, 0.00), (None, 7.69, 0.00)]),
        ("", {"case": "normal", "mthreads": 4}, [(1.00, None, 0.00), (None, -5.88, 0.00)]),
    ]
    assert _rows(workers) == [
        ("", {"case": "normal", "mthreads": 4, "workers": 1}, [(1.00, None, 6.47), (None, 9.02, 4.68)]),
        ("", {"case": "normal", "mthreads": 4, "workers": 31}, [(1.00, None, 9.31), (None, -0.22, 9.77)]),
    ]
    assert _rows(starred) == [
        ("", {"case": "threads-pipe-2", "groups": 1}, [(1.00, None, 3.19), (None, 29.06, 3.31)]),
        ("", {"case": "threads-pipe-16", "groups": 2}, [(1.00, None, 4.25), (None, -0.23, 0.97)]),
    ]
    assert workers.rows[0].direction == "lower"


def test_without_a_heading_each_case_tells_its_benchmark() -> None:
    mixed, hackbench = example("normalised-intel-tabs").tables
    assert (mixed.workload, hackbench.workload) == ("", "hackbench")
    assert [r.direction for r in mixed.rows] == ["higher", "higher"]
    assert _rows(mixed) == [
        ("", {"case": "tbench-loopback", "threads": 24}, [(1.00, None, 0.50), (None, -0.98, 0.87)]),
        ("", {"case": "TCP_RR", "threads": 192}, [(1.00, None, 13.25), (None, 0.29, 11.80)]),
    ]
    assert _rows(hackbench) == [
        ("", {"case": "process-pipe", "groups": 1}, [(1.00, None, 1.50), (None, 0.83, 0.19)]),
        ("", {"case": "process-sockets", "groups": 2}, [(1.00, None, 5.42), (None, -1.39, 1.70)]),
    ]


def test_a_heading_that_says_lower_is_better_makes_plain_changes() -> None:
    found = example("normalised-intel-negative-is-better")
    table = only(found)
    assert (table.gains, table.rows[0].direction) == ("change", "lower")
    assert _rows(table) == [
        ("", {"case": "normal", "load": "25%"}, [(1.00, None, 2.49), (None, -81.2, 4.27)]),
        ("", {"case": "normal", "load": "150%"}, [(1.00, None, 3.35), (None, -76.4, 0.10)]),
    ]
    assert any("negative changes are better" in note for note in found.notes)


def test_several_compared_kernels_are_several_columns() -> None:
    table = only(
        imported(
            "netperf\n=======\ncase  load  baseline(std%)  v1%( std%)  v2%( std%)\n"
            "TCP_RR  56-threads  1.00 (  0.81)  -0.29 (  0.94)  +1.50 (  0.33)\n"
        )
    )
    assert table.columns == ("baseline", "v1", "v2")
    assert _rows(table) == [
        ("", {"case": "TCP_RR", "threads": 56}, [(1.00, None, 0.81), (None, -0.29, 0.94), (None, 1.50, 0.33)]),
    ]


def test_a_row_that_a_mail_program_broke_is_one_row() -> None:
    table = only(
        imported(
            "Test          : hackbench\nCase:           tip[pct imp](CV)    new[pct imp](CV)\n"
            " 1-groups     1.00 [ -0.00]( 2.08)\n0.98 [  2.29]( 3.19)\n"
            " 2-groups     1.00 [ -0.00]( 0.89)     1.02 [ -2.22](\n 1.27)\n"
        )
    )
    assert [cells for _, _, cells in _rows(table)] == [
        [(1.00, 0.00, 2.08), (0.98, 2.29, 3.19)], [(1.00, 0.00, 0.89), (1.02, -2.22, 1.27)],
    ]  # fmt: skip


def test_a_row_that_lacks_a_cell_is_named() -> None:
    text = (
        "Test          : hackbench\nCase:           tip[pct imp](CV)    new[pct imp](CV)\n"
        " 1-groups     1.00 [ -0.00]( 2.08)     0.98 [  2.29]( 3.19)\n 2-groups     1.00 [ -0.00]( 0.89)\n"
    )
    with pytest.raises(ImportProblem) as caught:
        imported(text)
    assert "mail.txt:4" in str(caught.value)


def test_heads_that_count_something_are_parameters() -> None:
    table = only(
        imported("hackbench\n\nTest:    tip      new\n 1-groups: 4.31 (0.00 pct) 4.21 (2.32 pct)\n"
                 " 2-groups: 4.96 (0.00 pct) 5.04 (-1.61 pct)\n")
    )  # fmt: skip
    assert [(r.operation, r.parameters, r.unit) for r in table.rows] == [
        ("", {"groups": 1}, "s"),
        ("", {"groups": 2}, "s"),
    ]


def test_kernels_as_rows_of_percentiles_are_the_columns() -> None:
    table = only(
        imported(
            "schbench -m 2 -t 16, wakeup latency in usec:\n\n"
            "  kernel            50.0th   99.9th\n"
            "  6.5-rc1               12      412\n"
            "  6.5-rc1+eevdf         11      254\n"
        )
    )
    assert (table.layout, table.columns) == ("runs in rows", ("6.5-rc1", "6.5-rc1+eevdf"))
    high = row(table, "99.9th")
    assert ([cell.value for cell in high.cells], high.unit, high.direction) == ([412, 254], "usec", "lower")


def test_ends_of_names_that_run_together_are_no_title() -> None:
    main, durations = imported(
        "fsmark\n"
        "                                   5.3.0-rc3              5.3.0-rc3\n"
        "                                     vanilla          shrinker-v1r1\n"
        "Min       1-files/sec     4444.80 (   0.00%)     4765.60 (   7.22%)\n"
        "Hmean     1-files/sec     5004.75 (   0.00%)     5075.96 (   1.42%)\n\n"
        "                   5.3.0-rc3   5.3.0-rc3\n"
        "                     vanillashrinker-v1r1\n"
        "Duration User         501.82      497.29\n"
        "Duration Elapsed     8124.76     8358.05\n"
    ).tables
    assert (main.workload, durations.workload, durations.title) == ("fsmark", "", "")
    assert [c.value for c in row(durations, "Duration Elapsed").cells] == [8124.76, 8358.05]
