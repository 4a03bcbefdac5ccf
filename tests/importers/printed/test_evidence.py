"""What is no result is refused, and what is one is not misread: listings, sources, decimal commas, odd orders."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.results import ImportProblem
from tests.importers.printed.helpers import gains, imported, only, values

LISTINGS = {
    "memory": """\
                 total        used        free      cached
Mem:             64000       12100       40100       11800
Swap:             8000           0        8000           0
""",
    "interrupts": """\
            CPU0       CPU1       CPU2
  0:          12          0          0   IO-APIC    timer
  9:           0          4          0   IO-APIC    acpi
 24:          31         70         11   PCI-MSI    disk
""",
    "processes": """\
    PID    PPID  NI     RSS  COMMAND
    101       1   0    4100  first
    112       1   0    5200  second
    140     112   5     300  third
""",
    "zones": """\
Node 0, zone    Normal
  pages free     40960
        boost    0
        low      1200
        high     1500
""",
    "definitions": """\
/* sizes */
#include <linux/list.h>
#define FIRST_SIZE        4096
#define SECOND_SIZE       8192
#define THIRD_SIZE       16384
""",
    "disassembly": """\
 4a0:   0f 1f 44 00    nopl  0x8
 4a4:   48 89 30 10    mov   16, 8
 4a8:   48 10 30 20    add   24, 8
 4ac:   48 10 30 40    add   32, 8
""",
    "profile": """\
  <stock perf>
    41.20%     1.30%  [kernel]    [k] first_function
    30.10%     0.20%  [kernel]    [k] second_function
    12.00%    11.90%  tool        [.] main
  <stock perf>
""",
}
"""Made-up output of the kinds that people paste beside their results: figures below names, none of them measured."""


@pytest.mark.parametrize("name", LISTINGS)
def test_a_listing_is_no_table(name: str) -> None:
    with pytest.raises(ImportProblem, match="no table"):
        imported(LISTINGS[name])


@pytest.mark.parametrize("name", LISTINGS)
def test_a_listing_beside_a_table_is_left_out_and_the_table_is_read(name: str) -> None:
    table = """
Runs of 60 seconds:

              base     patched
ops/s          410         433
latency         18          16
"""
    found = imported(f"The machine:\n\n{LISTINGS[name]}\n{table}")
    assert only(found).columns == ("base", "patched")


def test_an_error_says_which_lines_were_taken_for_no_results() -> None:
    with pytest.raises(ImportProblem, match=r"lines 1–3 were not read: nothing in them says that they are results"):
        imported(LISTINGS["memory"])


@pytest.mark.parametrize("name", ["memory", "interrupts"])
def test_whoever_says_that_it_is_a_table_has_it_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / "listing.txt"
    path.write_text(LISTINGS[name])
    with pytest.raises(ImportProblem, match="--as"):
        detect.read(path)
    found = detect.read(path, "tables")
    assert [len(table.rows) for table in found.tables] == [LISTINGS[name].count("\n") - 1]


def test_bars_around_figures_are_read_when_they_are_said_to_be_results(tmp_path: Path) -> None:
    path = tmp_path / "barred.txt"
    path.write_text("| a | old | new |\n|---|-----|-----|\n| b | 1.5 | 2.5 |\n| c | 3.5 | 4.5 |\n")
    assert only(detect.read(path, "tables")).columns == ("old", "new")


def test_a_rendered_manual_page_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    page.write_text(
        "tool(1)            Commands            tool(1)\n\nEXAMPLE\n\n    time   base   new\n    run    1.5    1.4\n"
    )
    with pytest.raises(ImportProblem, match="is a manual page"):
        detect.read(page)


def test_columns_that_only_number_cpus_are_results_where_a_unit_says_so() -> None:
    table = only(
        imported("Load in %:\n\n            CPU0     CPU1\nfirst     12.5%    33.0%\nsecond    11.0%    35.5%\n")
    )
    assert [values(row) for row in table.rows] == [[12.5, 33.0], [11.0, 35.5]]


def test_columns_that_are_sizes_are_results() -> None:
    table = only(
        imported("       | 4096 | 1024 |  256 |\n-------+------+------+------+\nours   | 8100 | 4200 | 1300 |\n")
    )
    assert table.columns == ("4096", "1024", "256")


def test_decimal_commas_are_told_by_the_company_they_keep() -> None:
    text = """
             base      patched
latency     1,344        1,359
spread       0,28         1,31
rate      26311,5      25976,2

             base      patched
wait        2,125        1,875
"""
    first, second = imported(text).tables
    assert [values(row) for row in first.rows] == [[1.344, 1.359], [0.28, 1.31], [26311.5, 25976.2]]
    assert values(second.rows[0]) == [2.125, 1.875]


def test_thousands_stay_thousands() -> None:
    text = """
             base      patched
rate        1,344        1,359
total   1,250,000    1,260,000
ratio         0.5          0.6
"""
    assert values(only(imported(text)).rows[0]) == [1344, 1359]


def test_a_measured_figure_is_never_part_of_a_rows_name() -> None:
    text = """
            first try     second try
avg 1.315       1.344          1.359
avg 1.339       1.365          1.367
avg 1.233       1.286          1.301
"""
    with pytest.raises(ImportProblem, match=r"lines 3–5 look like a table and were not read"):
        imported(text)


def test_changes_between_two_figures_belong_to_the_second() -> None:
    text = """
              vanilla                 patched
switches       100000     +50.0%       150000
migrations       2000     -25.0%         1500
"""
    table = only(imported(text))
    assert [(values(row), gains(row)) for row in table.rows] == [
        ([100000, 150000], [None, 50.0]),
        ([2000, 1500], [None, -25.0]),
    ]


def test_a_figure_before_an_arrow_is_no_name() -> None:
    text = "Summary:\n\n- mean latency: 9.75 ms -> 6.04 ms (38%)\n- base latency:  25.7 ms -> 10.2 ms (60%)\n"
    with pytest.raises(ImportProblem, match="no table"):
        imported(text)


def test_a_log_of_the_kernel_is_neither_json_nor_a_table(tmp_path: Path) -> None:
    log = tmp_path / "dmesg"
    log.write_text(
        "[    0.000000] tsc: 2000.5 MHz\n[    1.250000] sda: 4000 512-byte blocks\n[    2.500000] eth0: 1000 Mbit\n"
    )
    with pytest.raises(ImportProblem, match=r"holds no table|no table was found"):
        detect.read(log)


def test_an_odd_line_of_a_listing_spoils_nothing() -> None:
    listing = """
          first    second    third
alpha         0         1        1
beta          0         2        2
gamma         0
delta         0         4        4
"""
    results = """
Runs of 60 seconds:

              base     patched
ops/s          410         433
"""
    assert only(imported(f"{listing}\nand\n{results}")).columns == ("base", "patched")


def test_lines_of_a_trace_are_no_runs() -> None:
    trace = "".join(
        f"    task-{pid}   [000] d..2.   10.{pid}: wake_up: pid={pid} cpu=0{pid % 8}  0.5 us\n" for pid in range(20, 26)
    )
    with pytest.raises(ImportProblem, match="no table"):
        imported(f"After the change:\n\n{trace}")


def test_constants_that_a_document_explains_are_no_results() -> None:
    text = """
1) # of times the scheduler was called
2) the field is a legacy one

 ===== ======== =========
 nice  weight   inverse
 ===== ======== =========
 -20   80000    50000
 0     1000     4000000
 ===== ======== =========
"""
    with pytest.raises(ImportProblem, match="were not read: nothing in them says"):
        imported(text)
