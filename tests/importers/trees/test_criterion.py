"""Trees of criterion 0.5.1, with samples that ``cargo bench`` wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.results.imported import ImportProblem

ITERATIONS = [777440.0, 1554880.0, 2332320.0, 3109760.0]
TIMES = [3660403.0, 7352166.0, 10889491.0, 14658292.0]
PER_ITERATION = [4.708277166083557, 4.728445925087467, 4.668952373602250, 4.713640924058449]
"""``TIMES`` over ``ITERATIONS``, by hand."""


def save(root: Path, baseline: str, times: list[float], benchmark: str = "fib/iter/5") -> None:
    """Write what criterion saves of a benchmark."""
    folder = root / benchmark / baseline
    folder.mkdir(parents=True)
    sample = {"sampling_mode": "Linear", "iters": ITERATIONS, "times": times}
    (folder / "sample.json").write_text(json.dumps(sample))
    group, function, value = benchmark.split("/")
    named = {"group_id": group, "function_id": function, "value_str": value, "throughput": {"Elements": 10}}
    (folder / "benchmark.json").write_text(json.dumps(named | {"full_id": benchmark, "directory_name": benchmark}))
    (folder / "estimates.json").write_text('{"mean":{"point_estimate":4.73}}')
    (folder / "tukey.json").write_text("[4.5,4.6,4.9,5.0]")


def test_a_baseline_is_a_column_and_copies_are_left_out(tmp_path: Path) -> None:
    slower = [2 * time for time in TIMES]
    save(tmp_path, "before", TIMES)
    save(tmp_path, "after", slower)
    save(tmp_path, "new", slower)
    imported = detect.read(tmp_path)
    assert (imported.format, imported.columns) == ("criterion", ("before", "after"))
    after, before = imported.series
    assert before.values == pytest.approx(PER_ITERATION, rel=1e-12)
    assert after.values == pytest.approx([2 * value for value in PER_ITERATION], rel=1e-12)
    assert (before.workload, before.metric, before.unit, before.direction) == ("criterion", "time", "ns", "lower")
    assert before.parameters == {"benchmark": "fib/iter/5"}
    assert [note.partition("left out: ")[2] for note in imported.notes] == ["1 copy of the samples of another baseline"]
    (tmp_path / "hackbench.log").write_text("Time: 0.3\n")
    assert "1 file of other tools, such as " in detect.read(tmp_path).notes[-1]


def test_a_run_that_no_baseline_contains_is_a_column(tmp_path: Path) -> None:
    save(tmp_path, "base", TIMES)
    save(tmp_path, "new", TIMES[::-1])
    assert detect.read(tmp_path).columns == ("base", "new")
    assert detect.read(tmp_path / "fib/iter/5/new/sample.json").columns == ("new",)


def test_baselines_of_several_trees_are_columns_of_their_own(tmp_path: Path) -> None:
    for tree, times in (("before", TIMES), ("after", TIMES[::-1])):
        for baseline in ("base", "new"):
            save(tmp_path / tree / "criterion", baseline, times)
    assert set(detect.read(tmp_path).columns) == {"before/criterion/base", "after/criterion/base"}
    assert [len(series.values) for series in detect.read(tmp_path).series] == [4, 4]


def test_damaged_samples_are_refused_with_their_file(tmp_path: Path) -> None:
    save(tmp_path, "base", TIMES[:-1])
    with pytest.raises(ImportProblem, match="no number of iterations for each sample") as caught:
        detect.read(tmp_path)
    assert caught.value.where.endswith("fib/iter/5/base/sample.json")
