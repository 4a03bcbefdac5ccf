"""Output of ``perf stat`` and reports of the 0-day service in mails."""

from __future__ import annotations

import pytest

from schedlab.results.imported import ImportProblem
from tests.importers.printed.helpers import example, gains, imported, only, row, values

_ELAPSED = "  45.2910 seconds time elapsed   ( +-  0.40% )"


def test_blocks_of_one_command_are_columns_and_comments_are_ignored() -> None:
    table = only(example("perf-two-blocks-quoted"))
    assert (table.layout, table.workload, table.columns) == ("perf-stat", "perfstat", ("Before", "After"))
    assert {tuple(r.parameters.items()) for r in table.rows} == {(("run", "perf bench sched pipe"),)}
    assert {r.direction for r in table.rows} == {"lower"}
    cycles = row(table, "cycles:u")
    assert values(cycles) == [333_773_107, 342_768_312]
    assert [cell.spread_percent for cell in cycles.cells] == [0.70, 0.63]
    # The line has two comments. The spread follows the second comment.
    instructions = row(table, "instructions:u")
    assert [cell.spread_percent for cell in instructions.cells] == [0.02, 0.02]
    assert values(row(table, "elapsed")) == [14.5464, 14.358]
    assert {cell.n for r in table.rows for cell in r.cells} == {10}
    assert [r.operation for r in table.rows][-1] == "elapsed"


def test_decimal_commas_of_a_locale_are_read() -> None:
    table = only(example("perf-comma-locale"))
    assert table.columns == ("With the optimisation", "With the optimisation disabled")
    assert values(row(table, "task-clock")) == [43_367_405.59, 43_354_742.31]
    assert values(row(table, "cpu-migrations")) == [832_364, 842_835]
    assert values(row(table, "elapsed")) == [1403.441, 1404.47]
    assert row(table, "elapsed").cells[1].spread_percent == 0.08
    assert {cell.n for r in table.rows for cell in r.cells} == {5}


OUTPUT_ABOVE = """{first}

 Performance counter stats for '{one}' (5 runs):

     2.000.000.000      cycles:u          ( +-  2,00% )
            3,5000 +- 0,0100 seconds time elapsed  ( +-  0,29% )

{second}

 Performance counter stats for '{two}' (5 runs):

     1.000.000.000      cycles:u          ( +-  1,00% )
            0,5000 +- 0,0100 seconds time elapsed  ( +-  2,00% )
"""


@pytest.mark.parametrize(
    "output",
    [("Ratio: 50% | N: 10,000",) * 2, ("done",) * 2, ("Results:",) * 2, ("Total time: 3.1 s", "Total time: 3 s")],
)
def test_output_of_the_command_names_no_column(output: tuple[str, str]) -> None:
    first, second = output
    one, two = imported(OUTPUT_ABOVE.format(first=first, second=second, one="./one", two="./two")).tables
    assert (one.title, one.columns, two.title, two.columns) == ("./one", ("./one",), "./two", ("./two",))
    assert (values(row(one, "cycles:u")), values(row(two, "elapsed"))) == ([2e9], [0.5])
    both = only(imported(OUTPUT_ABOVE.format(first=first, second=second, one="./one", two="./one")))
    # Words that do not distinguish runs are between repetitions.
    columns = ("./one",) if first in ("done", "Results:") else ("./one", "./one (2)")
    assert (both.title, both.columns) == ("./one", columns)


@pytest.mark.parametrize(
    "headings", [("Before:", "After:"), ("6.1-base", "6.1-patch"), ("without the patch", "with it")]
)
def test_headings_of_one_command_name_its_columns(headings: tuple[str, str]) -> None:
    first, second = headings
    table = only(imported(OUTPUT_ABOVE.format(first=first, second=second, one="./one", two="./one")))
    assert table.columns == (first.rstrip(":"), second.rstrip(":"))


def test_the_table_of_single_runs_does_not_end_a_block() -> None:
    table = only(
        imported(
            " Performance counter stats for 'true' (2 runs):\n\n"
            "           # Table of individual measurements:\n"
            "           0.00861 (+0.00505) ############\n           0.00110 (-0.00246) ####\n\n"
            "           # Final result:\n           0.00356 +- 0.00252 seconds time elapsed  ( +- 70.91% )\n"
        )
    )
    assert (table.title, table.columns, values(row(table, "elapsed"))) == ("true", ("true",), [0.00356])


def test_headings_within_lines_are_columns_and_another_command_is_another_table() -> None:
    arm, x86 = example("perf-inline-headings").tables
    assert arm.columns[0] == x86.columns[0] == "ATOMIC_TIMING"
    assert values(arm.rows[0]) == [46.50451, 77.57522, 48.7181]
    assert values(x86.rows[0]) == [31.6225, 31.6689, 53.203, 31.7408]


def test_unsupported_counters_are_missing_cells() -> None:
    table = only(
        imported(
            " Performance counter stats for 'make':\n\n"
            "         1,204.10 msec task-clock       #    0.998 CPUs utilized\n"
            "   <not supported>      cycles\n"
            "   <not counted>        branches                 (0.00%)\n"
            "           120.00 Joules power/energy-pkg/\n\n"
            "       1.206 seconds time elapsed\n       1.1 seconds user\n       0.1 seconds sys\n"
        )
    )
    assert [(r.operation, r.unit, values(r)) for r in table.rows] == [
        ("task-clock", "ms", [1204.10]),
        ("cycles", "events", [None]),
        ("branches", "events", [None]),
        ("power/energy-pkg/", "J", [120.0]),
        ("elapsed", "s", [1.206]),
        ("user", "s", [1.1]),
        ("system", "s", [0.1]),
    ]
    assert row(table, "cycles").cells[0].text == "<not supported>"


def test_an_event_of_a_single_block_is_missing_in_other_blocks() -> None:
    block = " Performance counter stats for 'x' (3 runs):\n\n   100 cycles ( +- 1.00% )\n{more}\n"
    table = only(imported(f"old:\n{block.format(more='')}\nnew:\n{block.format(more='   7 page-faults ( +- 2.00% )')}"))
    assert [(r.operation, values(r)) for r in table.rows] == [("cycles", [100, 100]), ("page-faults", [None, 7])]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("  45.29x seconds time elapsed   ( +-  0.40% )", "the figure or the event"),
        ("  1,2x4 cycles   ( +-  0.40% )", "the figure or the event"),
    ],
)
def test_a_broken_line_of_perf_stat_is_named(line: str, why: str) -> None:
    text = f"x:\n{_ELAPSED}\n\n Performance counter stats for 'y' (3 runs):\n\n{line}\n"
    with pytest.raises(ImportProblem, match=why) as caught:
        imported(text)
    assert caught.value.where == "mail.txt:6"


def test_a_text_that_ends_before_its_counters_is_refused() -> None:
    with pytest.raises(ImportProblem, match="ends before its counters"):
        imported(f"x:\n{_ELAPSED}\n\n Performance counter stats for 'y' (3 runs):\n")


def test_a_0_day_report_of_three_commits_has_spreads_changes_and_points() -> None:
    table = only(example("zero-day-three-commits"))
    assert table.columns == ("59142d87ab03b8ff", "a94032b35e5f97dc1023030d929", "fd2296741e2686ed6ecd05187e4")
    assert (table.layout, table.workload, table.gains, len(table.rows)) == ("0-day", "will-it-scale", "change", 13)
    ops = row(table, "will-it-scale.per_process_ops")
    assert (values(ops), gains(ops), ops.direction) == ([91713, 79833, 87614], [None, -13.0, -4.5], "higher")
    assert ops.parameters == {"mode": "process", "nr_task": "100%", "test": "page_fault2"}
    time = row(table, "cpuidle..time")
    assert (values(time), time.direction) == ([1.646e8, 1.772e8, 2.215e8], None)
    assert [c.spread_percent for c in time.cells] == [None, 14, 20]
    assert {c.spread_kind for c in time.cells[1:]} == {"standard deviation"}
    idle = row(table, "mpstat.cpu.all.idle%")
    # The robot prints changes of shares in percentage points, which are not gains.
    assert (gains(idle), [c.gain_text for c in idle.cells], idle.unit) == ([None] * 3, ["", "+0.1", "+0.2"], "%")


def test_failures_in_a_0_day_report_are_counts_of_boots() -> None:
    table = only(example("zero-day-fails"))
    assert [[(c.value, c.n) for c in r.cells] for r in table.rows] == [
        [(16, 60), (0, 111)],
        [(7, 60), (0, 111)],
        [(0, 60), (63, 111)],
    ]
    assert {(r.unit, r.direction) for r in table.rows} == {("failed runs", "lower")}
    assert gains(table.rows[0]) == [None, None]
    assert table.rows[0].cells[1].gain_text == "-27%"


def test_a_0_day_report_in_soft_wrapped_lines_is_read() -> None:
    table = only(example("zero-day-mixed-wrapped"))
    assert table.columns == ("dcb45fd7f501f864", "v6.3-rc2", "32715af441411a5a266606be08f")
    assert [(r.operation, values(r)) for r in table.rows] == [
        ("last_state.booting", [0, 0, 1]),
        ("last_state.is_incomplete_run", [0, 0, 1]),
        ("filebench.sum_operations/s", [515.95, 257.98, 515.92]),
        ("filebench.sum_time_ms/op", [5.04, 47.09, 4.90]),
    ]


def test_0_day_rows_without_header_have_the_columns_of_the_table_before() -> None:
    head = "aaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbb\n---------------- ----------------\n"
    text = f"{head}         %stddev     %change         %stddev\n             \\          |                \\\n"
    text += "      3379            +3.7%       3505        vmstat.system.cs\n\nmore of it:\n\n"
    text += "  1.05e+10            +2.7%  1.078e+10 ±  3%  cpuidle..time\n"
    first, second = imported(text).tables
    assert first.columns == second.columns == ("aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb")
    assert values(second.rows[0]) == [1.05e10, 1.078e10]


def test_a_damaged_0_day_row_is_named() -> None:
    text = "         %stddev     %change         %stddev\n             \\          |                \\\n"
    text += "      3379            +3.7%       3505        vmstat.system.cs\n      3379            +3.7%\n"
    with pytest.raises(ImportProblem, match="0-day") as caught:
        imported(text)
    assert caught.value.where == "mail.txt:4"


def test_runs_written_as_a_diff_are_two_columns() -> None:
    text = """
 Performance counter stats for 'make kernel/sched/built-in.a' (5 runs):

 -    71,938,508,607      cycles                                          ( +-  0.17% )
 +    71,992,916,493      cycles                                          ( +-  0.22% )
 -     5,878,232,620 ns   duration_time                                   ( +-  0.38% )
 +     5,290,085,069 ns   duration_time                                   ( +-  0.21% )

 -            5.8782 +- 0.0221 seconds time elapsed  ( +-  0.38% )
 +            5.2901 +- 0.0111 seconds time elapsed  ( +-  0.21% )
"""
    table = only(imported(text))
    assert table.columns == ("-", "+")
    assert [(row.operation, row.unit, values(row)) for row in table.rows] == [
        ("cycles", "events", [71938508607, 71992916493]),
        ("duration_time", "ns", [5878232620, 5290085069]),
        ("elapsed", "s", [5.8782, 5.2901]),
    ]


def test_arrows_and_program_output_are_not_column_names() -> None:
    block = " Performance counter stats for 'sleep 1':\n\n     1,138,698      cycles      (94.99%)\n"
    for above in ("  `> count with child", "  Average parse took: 81.169 ms (+- 0.074 ms)", "  cycles: 153 321 218"):
        assert only(imported(f"{above}\n\n{block}")).columns == ("sleep 1",)


def test_a_single_plain_time_is_a_table() -> None:
    table = only(imported("   45.291088843 seconds time elapsed                      ( +-  0.40% )\n"))
    (elapsed,) = table.rows
    assert (table.layout, elapsed.operation, elapsed.unit, values(elapsed)) == (
        "perf-stat", "elapsed", "s", [45.291088843],
    )  # fmt: skip
    assert (elapsed.cells[0].spread_percent, elapsed.cells[0].spread_kind) == (0.40, "standard error")


@pytest.mark.parametrize("printed", ["msec task-clock", "task-clock (msec)", "task-clock", "msec cpu-clock:u"])
def test_clocks_are_in_milliseconds(printed: str) -> None:
    text = f" Performance counter stats for 'x' (3 runs):\n\n   1,204.10 {printed}   #  0.998 CPUs   ( +- 1.00% )\n"
    (clock,) = only(imported(text)).rows
    assert (clock.unit, values(clock)) == ("ms", [1204.10])


def test_wrapped_rows_of_a_0_day_report_are_joined() -> None:
    text = """         %stddev     %change         %stddev
             \\          |                \\
    138055 ± 18%     +33.4%
184128 ± 14%  cpuidle..usage
      3.32 ± 46%      +1.5        4.82 ± 13%
mpstat.cpu.all.usr%
      3379            +3.7%       3505        vmstat.system.cs
"""
    table = only(imported(text))
    assert [(row.operation, values(row), row.cells[1].gain_text) for row in table.rows] == [
        ("cpuidle..usage", [138055, 184128], "+33.4"),
        ("mpstat.cpu.all.usr%", [3.32, 4.82], "+1.5"),
        ("vmstat.system.cs", [3379, 3505], "+3.7"),
    ]
    with pytest.raises(ImportProblem, match="0-day") as caught:
        imported(text.replace("+33.4%\n184128 ± 14%", "+33.4%"))
    assert caught.value.where == "mail.txt:3"


ZERO_DAY_PARTS = """\
| testcase: change | stress-ng: stress-ng.pthread.ops_per_sec 23.7% regression                         |
| testcase: change | stress-ng: stress-ng.vfork.ops_per_sec 3.1% improvement                           |

                     %change         %stddev
                        |                \\
     88287           -45.7%      47970 ±  2%  vmstat.system.cs

         %stddev     %change         %stddev
             \\          |                \\
      5851           -35.9%       3752 ±  2%  blogbench.write_score
"""


def test_parts_of_a_0_day_report_that_are_not_read_are_notes() -> None:
    result = imported(ZERO_DAY_PARTS)
    table = only(result)
    assert (table.columns, [values(each) for each in table.rows]) == (("column 1", "column 2"), [[5851.0, 3752.0]])
    assert result.notes == (
        "line 1: the list of further tests has changes without values, and is not read",
        "lines 4–6: the header of a 0-day table is not complete, and its rows are not read",
    )
