"""Values in columns: what is a variant, a metric, a parameter or a figure is told by the names above them."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.importers.logs.values.grid import NoGrid, grid, number
from schedlab.importers.logs.words import direction_of, unit_of
from schedlab.results import Import, ImportProblem
from tests.importers.logs.recorded import row, values

LONG = """\
variant,workload,metric,value,unit,groups
base,hackbench,time,1.5,s,1
base,hackbench,time,1.6,s,1
base,hackbench,time,2.6,s,4
patched,hackbench,time,1.4,s,1
patched,hackbench,time,,s,4
base,tbench,throughput,500,MB/s,4
patched,tbench,throughput,510,MB/s,4
"""


def imported(tmp_path: Path, content: str, name: str = "results.csv") -> Import:
    path = tmp_path / name
    path.write_text(content)
    return detect.read(path)


def test_a_measurement_a_row_is_read_by_its_names(tmp_path: Path) -> None:
    found = imported(tmp_path, LONG)
    assert found.columns == ("base", "patched")
    assert values(found, "time", column="base", groups=1) == [1.5, 1.6]
    assert (row(found, "throughput", column="patched").direction, values(found, "throughput", column="patched")) == (
        "higher",
        [510.0],
    )
    assert any("1 value is missing" in note for note in found.notes)


def test_a_block_column_keeps_blocks_apart(tmp_path: Path) -> None:
    found = imported(tmp_path, "variant,block,time_ms\na,1,10\na,1,11\na,2,12\nb,1,9\n")
    assert [(one.column, one.block, one.values.tolist()) for one in found.series] == [
        ("a", 1, [10.0, 11.0]),
        ("a", 2, [12.0]),
        ("b", 1, [9.0]),
    ]


def test_numbers_side_by_side_are_variants(tmp_path: Path) -> None:
    found = imported(tmp_path, "iteration,base,patched\n1,1.2,1.1\n2,1.3,1.15\n")
    assert found.columns == ("base", "patched")
    assert values(found, "value", column="patched") == [1.1, 1.15]
    assert any("--higher 'value'" in note for note in found.notes)


def test_the_files_name_may_say_what_its_numbers_are(tmp_path: Path) -> None:
    found = imported(tmp_path, "base,patched\n1.2,1.1\n", "throughput.csv")
    assert (found.series[0].metric, found.series[0].direction) == ("throughput", "higher")
    assert not found.notes


def test_parameters_beside_variants_tell_rows_apart_and_commas_may_be_points(tmp_path: Path) -> None:
    found = imported(tmp_path, "clients;base;patched\n1;100,5;110,2\n1;101,5;111,2\n2;200,5;210,2\n")
    assert values(found, "value", column="base", clients=1) == [100.5, 101.5]
    assert values(found, "value", column="patched", clients=2) == [210.2]


def test_numbers_that_are_called_after_what_is_measured_are_metrics_of_one_variant(tmp_path: Path) -> None:
    found = imported(tmp_path, "iteration,latency_us,throughput (MB/s)\n1,100,50\n2,110,49\n", "base.csv")
    assert found.columns == ("base",)
    assert (row(found, "latency").unit, row(found, "latency").direction) == ("us", "lower")
    assert (row(found, "throughput").unit, values(found, "throughput")) == ("MB/s", [50.0, 49.0])


@pytest.mark.parametrize(
    "content", ["1.2\n1.3\n1.4\n", "time (s)\n1.2\n1.3\n1.4\n", "# seconds\ntime\n1.2\n1.3\n1.4\n"]
)
def test_a_number_a_line_is_one_row(tmp_path: Path, content: str) -> None:
    found = imported(tmp_path, content, "before.txt")
    assert (found.columns, found.series[0].values.tolist()) == (("before",), [1.2, 1.3, 1.4])


def test_a_column_called_after_its_unit_is_a_time(tmp_path: Path) -> None:
    found = imported(tmp_path, "variant,seconds\na,1.5\nb,1.25\n")
    assert (found.series[0].metric, found.series[0].unit, found.series[0].direction) == ("time", "s", "lower")


def test_samples_may_stand_in_a_column_called_sample(tmp_path: Path) -> None:
    found = imported(tmp_path, "variant,sample\na,1.5\nb,1.25\n")
    assert values(found, "sample", column="b") == [1.25]


def test_means_with_deviations_are_a_table_that_can_be_tested(tmp_path: Path) -> None:
    content = "variant,benchmark,mean (ms),stddev (ms),n\nbase,hackbench,100,2,5\npatched,hackbench,95,3,5\n"
    (table,) = imported(tmp_path, content).tables
    mean = table.rows[0]
    assert (table.columns, mean.unit, mean.direction) == (("base", "patched"), "ms", "lower")
    assert [(cell.value, cell.n, cell.spread_kind) for cell in mean.cells] == [
        (100.0, 5, "standard deviation"),
        (95.0, 5, "standard deviation"),
    ]
    # 2 / 100 and 3 / 95
    assert [cell.spread_percent for cell in mean.cells] == pytest.approx([2.0, 3.157895])


def test_a_short_row_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ImportProblem, match="has 2 values for 3 names") as problem:
        imported(tmp_path, "variant,iteration,time\na,1,2\na,2,3\nb,1\n")
    assert problem.value.where.endswith("results.csv:4")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no row"),
        ("a,b\n", "no row"),
        ("1,2\n3,4\n", "numbers where the names"),
        ("a,a\n1,2\n", "two of the same name"),
        ("a,b\nx,y\n", "no column of numbers"),
        ('a,b\n"1,2\n', "unexpected end"),
    ],
)
def test_what_is_no_grid_is_said(text: str, said: str) -> None:
    with pytest.raises(NoGrid, match=said):
        grid(text)


def test_numbers_are_finite_or_none() -> None:
    assert [number(cell) for cell in ("1e3", " 2.5 ", "1,5", "1e999", "nan", "0x10", "")] == [
        1000.0, 2.5, 1.5, None, None, None, None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name", ["throughput", "MB/s", "requests per second", "tps", "iops", "score", "jobs/s", "GB/s", "ipc"]
)
def test_more_of_these_is_better(name: str) -> None:
    assert direction_of(name) == "higher"


@pytest.mark.parametrize(
    "name",
    [
        "time",
        "latency",
        "p99",
        "elapsed",
        "cache-misses",
        "ns/op",
        "context-switches",
        "max latency",
        "sys",
        "wall time",
    ],
)
def test_less_of_these_is_better(name: str) -> None:
    assert direction_of(name) == "lower"


@pytest.mark.parametrize("name", ["value", "base", "errors/s", "miss rate", "count", ""])
def test_of_these_nothing_is_known(name: str) -> None:
    assert direction_of(name) is None


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("latency (us)", ("latency", "us")),
        ("time_ms", ("time", "ms")),
        ("wall time [s]", ("wall time", "s")),
        ("req_per_sec", ("req_per_sec", "")),
        ("base", ("base", "")),
    ],
)
def test_units_are_told_from_names(name: str, told: tuple[str, str]) -> None:
    assert unit_of(name) == told
