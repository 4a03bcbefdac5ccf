"""Trees of lkp-tests: matrices as ``lib/matrix.rb`` and ``add_stats_to_matrix`` of lkp-tests write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schedlab.importers import detect
from schedlab.importers.intake import Statements, read
from schedlab.results.imported import Import, ImportProblem

BASE, PATCHED = "f2ffc48de2017c69" + 24 * "0", "v6.12"
JOB = "hackbench/process-pipe-50%/box-1/debian-12/x86_64-rhel/gcc-12"


def matrix(*runs: tuple[str, int], job: str = JOB, **figures: list[float]) -> dict[str, Any]:
    """Return a matrix of these commits and runs."""
    keys = {key.replace("__", "."): values for key, values in figures.items()}
    return keys | {"stats_source": [f"/lkp/result/{job}/{commit}/{run}/stats.json" for commit, run in runs]}


def write(folder: Path, content: dict[str, Any], name: str = "matrix.json") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(content, indent=2))
    return folder / name


def tree(path: Path) -> Path:
    """Write the results of two runs of one commit and of one run of another commit."""
    base = matrix(
        (BASE, 0), (BASE, 1), hackbench__throughput=[200.0, 210.0], vmstat__system__cs=[7, 8], dmesg__timestamp=[1, 2]
    )
    patched = matrix((PATCHED, 0), hackbench__throughput=[220.0], vmstat__system__cs=[9])
    write(path / JOB / BASE, base)
    write(path / JOB / PATCHED, patched)
    both = matrix((BASE, 0), (BASE, 1), (PATCHED, 0), hackbench__throughput=[200.0, 210.0, 220.0])
    write(path / JOB, both)
    write(path / JOB / BASE / "0", {"mpstat.cpu.usr%": [1, 2, 3]})
    write(path / JOB / BASE / "0", {"hackbench.throughput": 200.0}, "stats.json")
    return path


def figures(imported: Import, metric: str = "hackbench.throughput") -> dict[tuple[str, int], float]:
    rows = [series for series in imported.series if series.metric == metric]
    return {(row.column, row.block): row.values.item() for row in rows}


@pytest.mark.parametrize("level", [".", "hackbench", JOB])
def test_a_commit_is_a_column_and_each_run_is_read_once(level: str, tmp_path: Path) -> None:
    imported = detect.read(tree(tmp_path) / level)
    assert imported.format == "lkp"
    assert figures(imported) == {(BASE[:12], 1): 200, (BASE[:12], 2): 210, (PATCHED, 1): 220}
    (row, *_) = imported.series
    assert (row.workload, row.unit, row.direction) == ("hackbench", "KB/s", "higher")
    assert row.parameters == {"job": "process-pipe-50%"}


def test_a_metric_of_unknown_direction_needs_a_statement(tmp_path: Path) -> None:
    path = tree(tmp_path)
    assert "left out, as it is not known which direction is better: vmstat.system.cs, " in detect.read(path).notes[-1]
    assert figures(detect.read(path), "vmstat.system.cs") == {}
    stated = Statements((), None, ("vmstat.system.cs",), (), ())
    (imported,) = read([path], None, stated)
    assert figures(imported, "vmstat.system.cs") == {(BASE[:12], 1): 7, (BASE[:12], 2): 8, (PATCHED, 1): 9}
    assert {row.direction for row in imported.series if row.metric == "vmstat.system.cs"} == {"lower"}
    file = write(tmp_path / "alone", matrix((BASE, 0), vmstat__system__cs=[7]), "results.json")
    with pytest.raises(ImportProblem, match="not known which direction is better for vmstat") as caught:
        read([file], None, Statements((), None, (), (), ()))
    assert "--lower METRIC" in caught.value.todo
    assert figures(read([file], None, stated)[0], "vmstat.system.cs") == {(BASE[:12], 1): 7}


def test_padding_and_incomplete_runs_are_left_out(tmp_path: Path) -> None:
    runs = [(BASE, 0), (BASE, 1), (BASE, 2)]
    content = matrix(*runs, hackbench__throughput=[0, 210.0], last_state__is_incomplete_run=[0, 0, 1])
    imported = detect.read(write(tmp_path, content))
    assert figures(imported) == {(BASE[:12], 2): 210}
    assert ["1 run that lkp marks as incomplete" in note for note in imported.notes] == [True, False]
    assert "1 figure of 0" in imported.notes[1]


def test_what_differs_between_machines_distinguishes_rows(tmp_path: Path) -> None:
    for box in ("box-1", "box-2"):
        job = JOB.replace("box-1", box)
        write(tmp_path / job / BASE, matrix((BASE, 0), job=job, hackbench__throughput=[200.0]))
    assert [row.parameters["tbox_group"] for row in detect.read(tmp_path).series] == ["box-1", "box-2"]


def test_a_matrix_that_is_cut_off_or_of_another_tree_is_refused(tmp_path: Path) -> None:
    file = tree(tmp_path) / JOB / BASE / "matrix.json"
    file.write_text(file.read_text()[:-4])
    with pytest.raises(ImportProblem, match="JSON"):
        detect.read(tmp_path)
    with pytest.raises(ImportProblem, match="in no tree of lkp"):
        detect.read(write(tmp_path / "x", {"hackbench.throughput": [1], "stats_source": ["stats.json"]}))
    with pytest.raises(ImportProblem, match="unknown tool"):
        detect.read(write(tmp_path / "y", {"mpstat.cpu.usr%": [1, 2, 3]}))
