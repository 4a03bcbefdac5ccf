"""Reports 000 to 004: every printed figure is read into its row and column.

The tests extract the expected figures from the fixtures without the readers: by a pattern for one column, or by
splitting at spaces.
"""

from __future__ import annotations

import re

import pytest

from schedlab.analysis.gains import disagreements, recompute
from schedlab.importers.printed.layout import layouts
from tests.importers.printed.helpers import TABLES, example, read, row, values

_MMTESTS_CELL = re.compile(r"([\d.]+) ([(*]) *(-?[\d.]+)%[)*]")


MIGRATION_COST = read(TABLES / "report-003.txt", layouts("lines=36-37,columns=runs,separator=wide,better=lower"))
"""The migration-cost report. The layout of its last table is stated, since no tool prints this layout."""


def _printed_cells(name: str) -> list[list[tuple[float, float, bool]]]:
    """Return value, change and star of every MMTests cell, line by line."""
    lines = (TABLES / f"{name}.txt").read_text().splitlines()
    cells_by_line = [[(float(v), float(g), s == "*") for v, s, g in _MMTESTS_CELL.findall(line)] for line in lines]
    return [line_cells for line_cells in cells_by_line if line_cells]


@pytest.mark.parametrize(("name", "rows"), [("report-000", 61), ("report-003", 27)])
def test_every_cell_of_the_mmtests_reports_is_read(name: str, rows: int) -> None:
    tables = [table for table in example(name).tables if table.layout == "mmtests"]
    read = [[(cell.value, cell.gain, bool(cell.star)) for cell in row.cells] for table in tables for row in table.rows]
    assert len(read) == rows
    assert read == _printed_cells(name)


def test_the_schedstats_report_has_its_five_tables_with_columns_benchmarks_and_directions() -> None:
    tables = example("report-000").tables
    assert [(t.workload, t.title, len(t.rows)) for t in tables] == [
        ("netperf-tcp", "netperf TCP_STREAM", 9),
        ("tbench", "tbench4", 13),
        ("tbench", "tbench4 on 8-core i7-3770 single socket machine", 10),
        ("hackbench-pipes", "hackbench-pipes", 12),
        ("pipetest", "pipetest", 17),
    ]
    # The third table has no header: it continues the columns of the second table.
    assert {t.columns for t in tables} == {("4.5.0-rc1-vanilla", "4.5.0-rc1-nostats-v2r2")}
    assert [{r.direction for r in t.rows} for t in tables] == [{"higher"}] * 3 + [{"lower"}] * 2
    assert [t.rows[0].parameters for t in tables] == [{"size": 64}, {"clients": 1}, {"clients": 1}, {"groups": 1}, {}]
    assert row(tables[1], "Hmean mb/sec-1024").unit == "MB/s"
    assert all(cell.star is None for t in tables for r in t.rows for cell in r.cells)


def test_the_migration_cost_report_has_stars_four_columns_and_the_cost_of_balancing() -> None:
    tables = MIGRATION_COST.tables
    (note,) = example("report-003").notes
    assert "lines 36–37 may be a table of an unknown layout" in note
    assert [(t.workload, len(t.columns), len(t.rows)) for t in tables] == [
        ("pgbench", 4, 13),
        ("tbench", 4, 10),
        ("pgbench", 2, 4),
        ("", 3, 1),
    ]
    assert tables[0].columns == ("mig-cost-500000", "mig-cost-100000", "mig-cost-10000", "mig-cost-1000000")
    assert [cell.star for cell in row(tables[0], "Hmean 48").cells] == [False, False, True, True]
    cost = row(tables[3], "avg cost")
    assert (tables[3].columns, values(cost), cost.unit, cost.direction) == (
        ("idle", "50%load", "100%load"), [3160, 4790, 7563], "ns", "lower",
    )  # fmt: skip


def test_the_numa_q_report_has_runs_in_rows_and_notes_missing_figures() -> None:
    result = example("report-001")
    lines = (TABLES / "report-001.txt").read_text().splitlines()
    expected: dict[str, list[list[str]]] = {}
    title = ""
    for line in lines:
        if re.match(r"(Kernbench|SDET|NUMA) ?", line) and line.rstrip().endswith((")", ":")):
            title = line.strip()
        elif line.startswith("2.5.59"):
            expected.setdefault(title, []).append(line.split())
    assert [t.title for t in result.tables] == list(expected)
    assert len(result.tables) == 14
    for table in result.tables:
        runs = expected[table.title]
        assert table.columns == tuple(words[0] for words in runs)
        for k, words in enumerate(runs):
            figures = [word.rstrip("%") for word in words[1:]]
            if table.workload == "sdet":
                cell = table.rows[0].cells[k]
                assert [cell.value, cell.spread_percent] == [float(word) for word in figures]
                assert cell.spread_kind == "standard deviation"
            elif set(figures) == {"0"}:
                assert [r.cells[k].value for r in table.rows] == [None] * 4
            else:
                assert [r.cells[k].value for r in table.rows] == [float(word) for word in figures]
    crashed = [note for note in result.notes if "2.5.59-sched4-2" in note and "failed" in note]
    assert len(crashed) == 4
    assert [note for note in result.notes if "has no rows" in note] == [
        f'line {lines.index("SDET 128 (see disclaimer)") + 2}: the table "SDET 128 (see disclaimer)" has no rows'
    ]


def test_the_numa_q_tables_have_benchmarks_units_and_parameters() -> None:
    tables = example("report-001").tables
    kernbench, sdet, schedbench = tables[1], tables[4], tables[9]
    assert [(r.operation, r.unit, r.direction) for r in kernbench.rows] == [
        ("Elapsed", "s", "lower"), ("User", "s", "lower"), ("System", "s", "lower"), ("CPU", "%", None),
    ]  # fmt: skip
    assert {tuple(r.parameters.items()) for r in kernbench.rows} == {(("jobs_per_cpu", 16),)}
    assert [(r.operation, r.unit, r.direction, r.parameters) for r in sdet.rows] == [
        ("Throughput", "% of first", "higher", {"scripts": 4})
    ]
    assert [(r.operation, r.unit, r.parameters) for r in schedbench.rows] == [
        (name, "s", {"processes": 4}) for name in ("AvgUser", "Elapsed", "TotalUser", "TotalSys")
    ]


def test_the_hackbench_report_has_samples_in_a_column_for_each_heading() -> None:
    result = example("report-002")
    assert result.columns == ("before the patch", "after the patch")
    assert [list(s.values) for s in result.series] == [[4.992, 4.971, 5.063], [4.973, 4.990, 4.993]]
    for series in result.series:
        assert (series.workload, series.metric, series.unit, series.direction) == ("hackbench", "time", "s", "lower")
        # The command says -f 25; hackbench prints the descriptors of both sides.
        assert series.parameters == {"mode": "process", "groups": 15, "fds": 25, "loops": 2000, "size": 512}


def test_the_slow_start_report_has_blocks_as_columns_and_standard_errors_of_ten_repeats() -> None:
    build, messaging = example("report-004").tables
    assert build.columns == ("!NUMA", "+NUMA, no slow start", "+NUMA, 1 sec slow start")
    assert [values(r) for r in build.rows] == [
        [45.291088843, 46.172308123, 45.224189155],
        [45.154231752, 46.343168745, 45.160866532],
    ]
    assert [[c.spread_percent for c in r.cells] for r in build.rows] == [[0.40, 0.30, 0.25], [0.36, 0.25, 0.17]]
    assert messaging.columns == ("-NUMA", "+NUMA no slow start", "+NUMA 1sec delay")
    assert values(messaging.rows[0]) == [0.246225691, 0.252620063, 0.248076230]
    assert (build.workload, messaging.workload) == ("perfstat", "perfstat")
    assert [r.parameters for r in build.rows] == [
        {"run": "test of ten bzImage builds to /dev/shm", "repetition": repetition} for repetition in (1, 2)
    ]
    assert messaging.rows[0].parameters == {"run": "perf bench sched messaging"}
    cells = [cell for table in (build, messaging) for r in table.rows for cell in r.cells]
    assert {(cell.n, cell.spread_kind) for cell in cells} == {(10, "standard error")}
    assert {r.direction for table in (build, messaging) for r in table.rows} == {"lower"}


@pytest.mark.parametrize(("name", "printed"), [("report-000", 61), ("report-003", 73)])
def test_all_printed_gains_of_the_reports_agree_with_their_values(name: str, printed: int) -> None:
    tables = example(name).tables
    assert sum(len(recompute(table)) for table in tables) == printed
    assert [wrong for table in tables for wrong in disagreements(table)] == []
