"""CSV of samples: the columns are fixed, and a file with other columns is refused with the line and the layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.results.imported import Import, ImportProblem
from tests.importers.logs.recorded import row, values

EXPORT = """\
run,column,block,position,iteration,workload,parameters,metric,unit,direction,value,kind
1,base,1,0,1,hackbench,"{""groups"": 4}",time,s,lower,1.5,real
1,base,1,1,2,hackbench,"{""groups"": 4}",time,s,lower,1.6,real
1,base,2,2,1,hackbench,"{""groups"": 4}",time,s,lower,1.7,real
1,patched,1,3,1,hackbench,"{""groups"": 4}",time,s,lower,1.4,real
1,patched,1,3,1,tbench,{},throughput,MB/s,higher,510,real
"""
MINIMAL = "column,workload,metric,unit,direction,value\n"


def imported(tmp_path: Path, content: str) -> Import:
    path = tmp_path / "results.csv"
    path.write_text(content)
    return detect.read(path)


def test_the_export_of_samples_is_read_back(tmp_path: Path) -> None:
    result = imported(tmp_path, EXPORT)
    assert result.columns == ("base", "patched")
    assert [
        (series.column, series.block, series.values.tolist()) for series in result.series if series.metric == "time"
    ] == [
        ("base", 1, [1.5, 1.6]),
        ("base", 2, [1.7]),
        ("patched", 1, [1.4]),
    ]
    assert row(result, "time", column="patched", groups=4).direction == "lower"
    assert (row(result, "throughput").unit, values(result, "throughput")) == ("MB/s", [510.0])


def test_equal_column_names_of_two_runs_are_distinguished(tmp_path: Path) -> None:
    result = imported(tmp_path, EXPORT.splitlines()[0] + "\n" + "".join(
        f'{run},base,1,0,1,hackbench,{{}},time,s,lower,{value},real\n' for run, value in ((1, 1.5), (2, 1.4))
    ))  # fmt: skip
    assert result.columns == ("base (run 1)", "base (run 2)")


def test_optional_columns_may_be_missing(tmp_path: Path) -> None:
    result = imported(tmp_path, MINIMAL + "base,hackbench,time,s,lower,1e3\n")
    assert (result.columns, result.series[0].values.tolist()) == (("base",), [1000.0])


@pytest.mark.parametrize(
    ("content", "message", "line"),
    [
        ("column,metric,value\nbase,time,1\n", "has no column workload, unit, direction", 1),
        (MINIMAL.replace("value", "value,groups") + "base,hackbench,time,s,lower,1,4\n", "unknown columns: groups", 1),
        (MINIMAL.replace("unit", "metric,unit") + "a,b,c,d,e,lower,1\n", "two columns of one name", 1),
        (MINIMAL + "base,hackbench,time,s,lower,1\nbase,hackbench\n", "has 2 values for 6 names", 3),
        (MINIMAL + "base,hackbench,time,s,lower,1\nbase,hackbench,time,s,lower,1.5K\n", "'1.5K' is not a number", 3),
        (MINIMAL + "base,hackbench,time,s,down,1\n", "'down' is not a direction", 2),
        (MINIMAL + 'base,"hackbench,time,s,lower,1\n', "unexpected end of data", 2),
        ("parameters," + MINIMAL + "groups=4,base,hackbench,time,s,lower,1\n", "'groups=4' is not a JSON object", 2),
        ("block," + MINIMAL + "0,base,hackbench,time,s,lower,1\n", "'0' is not a block", 2),
        (MINIMAL, "contains no samples", 1),
    ],
)
def test_another_layout_is_refused_with_its_line(tmp_path: Path, content: str, message: str, line: int) -> None:
    with pytest.raises(ImportProblem, match=message) as problem:
        imported(tmp_path, content)
    assert problem.value.where == f"{tmp_path / 'results.csv'}:{line}"
