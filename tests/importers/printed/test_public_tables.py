"""Tables of public mailing lists in all their shapes; expectations are typed from the fixtures."""

from __future__ import annotations

import pytest

from schedlab.results import Table
from tests.importers.printed.helpers import TABLES, example, gains, only, row, values

Case = tuple[str, list[tuple[str, str, tuple[str, ...], int, str]]]
"""A fixture, and of each of its tables: layout, workload, columns, rows, what the percentages are."""

_NODES = ("tip", "SIS_NODE", "SIS_NODE_LIMIT", "SIS_NODE_TOPOEXT")
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
    ("mmtests-baseline-without-change", [
        ("columns", "tbench", ("baseline", "patched"), rows, "change") for rows in (7, 6)
    ]),
    ("mmtests-pct-quoted", [("columns", "", _NODES, 5, "improvement")] * 3),
    ("mmtests-unixbench-five-columns", [
        ("mmtests", "unixbench", _FIVE, 10, "improvement"),
        ("runs in rows", "", ("tip", "eevdf", "eevdf_curb;", *_FIVE[3:]), 1, "change"),
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
    ("schbench-absolute-spread", [("columns", "schbench", ("baseline", "sched_cache"), 5, "improvement")]),
    ("markdown-changes", [("columns", "", ("menu", "teo", "teo-util-aware"), 5, "change")]),
    ("sysbench-bars", [("columns", "sysbench", ("V", "V+no bw votes", "bwmon"), 13, "change")]),
    ("framed-long", [("columns", "", ("menu", "teo", "teo_util_v3", "teo_util_v4"), 2, "change")]),
    ("framed-spanning-header", [("columns", "", ("no-EAS Mean", "EAS Mean"), 5, "change")]),
    ("bars-ratio", [("columns", "", ("before (ops/sec)", "after (ops/sec)"), 8, "improvement")]),
    ("columns-absolute-spreads", [("columns", "", ("Baseline (6.19)", "VSS v5", "VSS v6"), 8, "improvement")]),
    ("columns-hackbench-latency-nice", [("columns", "", ("latency 0", "latency 19"), 4, "improvement")]),
    ("columns-intervals-tabs", [("columns", "", ("before", "after"), rows, "change") for rows in (1, 4)]),
    ("columns-iops", [("columns", "", ("before", "poll_source", "io_poll"), 3, "change")]),
    ("columns-module-sizes", [("columns", "", ("BASE", "COMP"), 8, "change")]),
    ("columns-stacked-header", [("columns", "", ("Before Patch-real", "After Patch-real"), 3, "improvement")]),
    ("runs-kmalloc", [
        ("runs in rows", "", (
            "Baseline (6.3-rc7)", "profiling disabled", "profiling enabled", "memcg_kmem enabled",
        ), 2, "change")
    ]),
]  # fmt: skip


def _shape(table: Table) -> tuple[str, str, tuple[str, ...], int, str]:
    return table.layout, table.workload, table.columns, len(table.rows), table.gains


@pytest.mark.parametrize(("name", "tables"), CASES, ids=[name for name, _ in CASES])
def test_layout_columns_and_rows_of_public_tables(
    name: str, tables: list[tuple[str, str, tuple[str, ...], int, str]]
) -> None:
    assert [_shape(table) for table in example(name).tables] == tables


def test_every_fixture_is_expected_somewhere() -> None:
    elsewhere = {"seed", "perf", "zero", "normalised"}
    names = {path.stem for path in TABLES.glob("*.txt") if path.stem.partition("-")[0] not in elsewhere}
    assert names == {name for name, _ in CASES}


def test_mmtests_rows_without_changes_keep_their_operations() -> None:
    found = example("mmtests-hackbench-pan").tables
    assert values(row(found[1], "Duration System")) == [276322.70, 271729.32]
    assert row(found[1], "Duration Elapsed").direction == "lower"
    hits = row(found[2], "Ops NUMA alloc hit")
    assert (values(hits), hits.direction, hits.parameters) == (
        [1082415453, 1088025994], None, {"case": "NUMA alloc hit"},
    )  # fmt: skip
    assert row(found[0], "CoeffVar 256").unit == "%"
    assert row(found[0], "Max 256").parameters == {"groups": 256}


def test_names_that_run_into_one_another_are_those_of_the_table_before() -> None:
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


def test_printed_changes_prove_a_direction_against_the_operation_and_it_is_said() -> None:
    # netperf's Stddev is lower-is-better whatever netperf is; 2-groups of hackbench fell and gained.
    table = example("mmtests-pct-quoted").tables[0]
    assert {r.direction for r in table.rows} == {"lower"}
    assert gains(row(table, "16-groups")) == [0.0, -34.01, 0.63, -2.03]


def test_a_figure_before_the_first_change_is_the_baseline_where_rows_are_named_by_a_number() -> None:
    first = example("mmtests-baseline-without-change").tables[0]
    found = first.rows[4]
    assert (found.parameters, values(found), gains(found)) == ({"clients": 32}, [9810.6733, 9877.34], [None, 0.68])


def test_a_column_of_differences_becomes_changes_and_one_that_follows_is_left_out_with_a_note() -> None:
    found = example("columns-module-sizes")
    assert gains(row(only(found), "btrfs.ko")) == [None, 24.91]
    assert any('"CHG"' in note for note in found.notes)


def test_ratios_are_no_changes() -> None:
    found = example("bars-ratio")
    assert all(cell.gain is None for r in only(found).rows for cell in r.cells)
    assert any("per cent of the first column" in note for note in found.notes)
    cell = only(found).rows[0].cells[0]
    # 11.01 of 4813.06
    assert cell.spread_percent == pytest.approx(0.22875, abs=1e-5)


def test_a_long_table_is_turned_into_a_column_for_each_run() -> None:
    table = only(example("framed-long"))
    assert [(r.operation, r.unit) for r in table.rows] == [("CrRendererMain gmean", "μs"), ("RenderThread gmean", "μs")]
    assert values(table.rows[1]) == [68.60, 48.44, None, None]
    assert gains(table.rows[0]) == [0.0, -5.82, 5.05, 6.27]


def test_changes_that_run_down_the_rows_make_the_rows_the_runs() -> None:
    table = only(example("runs-kmalloc"))
    assert [r.operation for r in table.rows] == ["kmalloc", "pgalloc"]
    assert values(table.rows[0]) == [9.2, 9.8, 12.5, 41.4]
    assert gains(table.rows[1]) == [None, 4.99, 25.60, 127.38]


def test_header_lines_are_stacked_each_above_its_columns() -> None:
    table = only(example("columns-stacked-header"))
    assert [(r.parameters, values(r), gains(r)) for r in table.rows] == [
        ({"threads": 1}, [65373, 65206], [None, 0.0]),
        ({"threads": 4}, [15467, 15378], [None, 0.5]),
        ({"threads": 40}, [6214, 5528], [None, 11.0]),
    ]


def test_cells_with_spread_in_parentheses_and_a_change_beside_them() -> None:
    table = only(example("columns-hackbench-latency-nice"))
    cells = table.rows[1].cells
    assert [(c.value, c.spread_percent, c.gain) for c in cells] == [(1.393, 3.0, None), (1.312, 3.0, 6.0)]
    assert {r.direction for r in table.rows} == {"lower"}


def test_the_corner_of_a_header_names_the_parameter_of_mmtests_rows() -> None:
    netperf = example("mmtests-stream-gbsec").tables[1]
    assert [(r.operation, r.parameters) for r in netperf.rows[:2]] == [
        ("Hmean", {"pairs": 32}),
        ("BHmean-99", {"pairs": 32}),
    ]
