"""Runs become columns and iterations become blocks, from any level of a tree. The baseline comes first."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from schedlab.importers.mmtests import column_order, looks_like, read
from schedlab.results.imported import Import, ImportProblem, Origin
from tests.importers.mmtests.conftest import Run
from tests.importers.mmtests.trees import NOW, OLD, OLDER, RUNS, rt_tests, write

ONE_LOG = {"hackbench-1": rt_tests(1, 0.5)}


def columns_and_blocks(imported: Import) -> set[tuple[str, int]]:
    return {(series.column, series.block) for series in imported.series}


def test_a_folder_of_runs_gives_a_column_for_each_run_and_a_block_for_each_iteration(now: Path) -> None:
    imported = read(now)
    assert imported.format == "mmtests"
    assert imported.columns == RUNS
    assert columns_and_blocks(imported) == {(RUNS[0], 1), (RUNS[0], 2), (RUNS[1], 1), (RUNS[1], 2), (RUNS[2], 1)}
    assert {series.workload for series in imported.series} == set(NOW)
    assert imported.notes == ()


@pytest.mark.parametrize("level", ["", "iter-1", "iter-1/tbench", "iter-1/tbench/logs"])
def test_a_part_of_a_run_keeps_its_run_and_block(now: Path, level: str) -> None:
    path = now / RUNS[1] / level
    assert looks_like(path)
    imported = read(path)
    assert imported.columns == (RUNS[1],)
    assert columns_and_blocks(imported) == ({(RUNS[1], 2)} if level else {(RUNS[1], 1), (RUNS[1], 2)})
    assert ("tbench" in level) == ({series.workload for series in imported.series} == {"tbench"})


@pytest.mark.parametrize("above", ["work/log", "log"])
def test_the_folder_of_mmtests_contains_its_runs_in_work_log(tmp_path: Path, above: str) -> None:
    for name in ("old", "new"):
        write(tmp_path / above / name / "iter-0" / "hackbench" / "logs" / "hackbench-1", rt_tests(1, 0.5))
    assert looks_like(tmp_path)
    assert set(read(tmp_path).columns) == {"old", "new"}


def test_trees_of_2019_have_no_time_stamps_and_the_same_columns(y2019: Path) -> None:
    imported = read(y2019)
    assert imported.columns == RUNS
    assert {series.workload for series in imported.series} == set(OLD)


def test_trees_of_2016_have_benchmark_and_run_in_one_name(y2016: Path) -> None:
    assert looks_like(y2016)
    imported = read(y2016)
    assert imported.columns == RUNS[:2]
    assert {series.workload for series in imported.series} == set(OLDER)
    assert read(y2016 / f"hackbench-pipes-{RUNS[0]}").columns == RUNS[:1]


def test_trees_of_2016_may_have_their_logs_in_a_folder_default(y2016: Path, tmp_path: Path) -> None:
    for run in y2016.iterdir():
        if run.is_dir():
            shutil.copytree(run / "noprofile", tmp_path / run.name / "noprofile" / "default")
        else:
            shutil.copy(run, tmp_path)
    moved, plain = read(tmp_path), read(y2016)
    assert moved.columns == RUNS[:2]
    assert len(moved.series) == len(plain.series) > 0
    assert [series.values.tolist() for series in moved.series] == [series.values.tolist() for series in plain.series]


def test_other_folders_are_not_recognised_as_trees(tmp_path: Path) -> None:
    (tmp_path / "iter-0" / "notes").mkdir(parents=True)
    write(tmp_path / "tbench" / "results.txt", "none")
    for path in (tmp_path, tmp_path / "tbench", tmp_path / "missing", tmp_path / "tbench" / "results.txt"):
        assert not looks_like(path)
        with pytest.raises(ImportProblem) as problem:
            read(path)
        assert str(path) in problem.value.where


def test_a_folder_beside_the_runs_does_not_hide_them(run: Run) -> None:
    path = run("hackbench-process-pipes", ONE_LOG)
    write(path.parent / "scripts" / "logs" / "notes", "?")
    assert read(path.parent).columns == ("base",)


def test_a_relative_path_is_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(run("hackbench-process-pipes", ONE_LOG))
    assert read(Path()).columns == ("base",)


def test_benchmarks_without_a_reader_are_named_and_the_rest_is_read(run: Run) -> None:
    run("sysbench-mutex", {"log": "?"})
    path = run("hackbench-process-pipes", ONE_LOG)
    write(path / "iter-0" / "vmstat-hackbench", "?")
    first, second = read(path).notes
    assert first == "left out, no reader: sysbench-mutex"
    assert "monitors" in second


def test_a_tree_of_unknown_benchmarks_is_refused(run: Run) -> None:
    path = run("sysbench-mutex", {"log": "?"})
    assert not looks_like(path)
    with pytest.raises(ImportProblem, match="no reader for sysbench-mutex"):
        read(path)


def test_a_benchmark_without_logs_is_a_problem_with_its_folder(run: Run) -> None:
    run("hackbench-process-pipes", ONE_LOG)
    path = run("schbench", {"time-1": "nothing to read"})
    with pytest.raises(ImportProblem) as problem:
        read(path)
    assert problem.value.where.endswith("iter-0/schbench/logs")


def test_runs_are_ordered_by_their_start(tmp_path: Path) -> None:
    starts = {"vanilla": 1_700_000_300, "a": 1_700_000_200, "later": 1_700_000_900}
    times = {}
    for name, start in starts.items():
        write(tmp_path / name, f"file start :: /proc/vmstat\ntest begin :: tbench {start + 50}\nstart :: {start}\n")
        times[name] = [tmp_path / name]
    assert column_order(times) == ["a", "vanilla", "later"]


def test_a_run_starts_with_its_first_iteration_whatever_the_order_of_files(tmp_path: Path) -> None:
    """Runs that were measured alternately overlap: neither the last iteration nor the first file decides."""
    starts = {"first": (1_700_000_500, 1_700_000_100), "second": (1_700_000_200, 1_700_000_300)}
    times = {name: [tmp_path / f"{name}-{start}" for start in of_run] for name, of_run in starts.items()}
    for files in times.values():
        for file in files:
            write(file, f"start :: {file.name.rpartition('-')[2]}\n")
    assert column_order(times) == ["first", "second"]


@pytest.mark.parametrize(
    ("names", "ordered"),
    [
        (["new", "base"], ["base", "new"]),
        (["after", "before"], ["before", "after"]),
        (["b", "a"], ["a", "b"]),
        (["patched-10", "patched-9", "6.1-vanilla"], ["6.1-vanilla", "patched-9", "patched-10"]),
        (["new", "Old.kernel"], ["Old.kernel", "new"]),
        (["folder", "baseless"], ["baseless", "folder"]),
        (["threshold", "new", "old"], ["old", "new", "threshold"]),
    ],
)
def test_without_time_stamps_the_baseline_follows_from_the_names(names: list[str], ordered: list[str]) -> None:
    assert column_order({name: [] for name in names}) == ordered


def test_one_run_without_a_time_stamp_orders_all_runs_by_name(tmp_path: Path) -> None:
    write(tmp_path / "stamp", "start :: 1700000000\n")
    assert column_order({"new": [tmp_path / "stamp"], "base": [tmp_path / "none"]}) == ["base", "new"]
    assert column_order({"new": [tmp_path / "none"], "base": [tmp_path / "stamp"]}) == ["base", "new"]
    # An iteration without a time stamp does not hide the time stamps of its run's other iterations.
    times = {"new": [tmp_path / "none", tmp_path / "stamp"], "base": [tmp_path / "later"]}
    write(tmp_path / "later", "start :: 1700000001\n")
    assert column_order(times) == ["new", "base"]


def test_a_run_has_the_kernel_and_the_start_that_all_its_iterations_state(tmp_path: Path) -> None:
    for name, iteration, kernel, start in (
        ("one", 0, "6.12.0-one", 1_700_003_600),
        ("one", 1, "6.12.0-one", 1_700_000_000),
        ("two", 0, "6.12.0-two", 1_700_090_000),
        ("two", 1, "6.13.0-two", 1_700_090_100),
    ):
        folder = tmp_path / name / f"iter-{iteration}"
        write(folder / "hackbench" / "logs" / "hackbench-1", rt_tests(1, 0.5))
        write(
            folder / "kernel.version", f"Linux rack-7 {kernel} #1 SMP Mon Nov  2 12:00:00 UTC 2025 x86_64 GNU/Linux\n"
        )
        write(folder / "tests-timestamp", f"start :: {start}\ntest begin :: hackbench {start + 5}\n")
    assert read(tmp_path).origins == {
        "one": Origin("6.12.0-one", "rack-7", 1_700_000_000.0),
        "two": Origin("", "rack-7", 1_700_090_000.0),
    }


def test_trees_of_2016_state_the_start_and_trees_without_these_files_nothing(y2016: Path, y2019: Path) -> None:
    assert read(y2016).origins == {RUNS[0]: Origin(started=1_450_000_000.0), RUNS[1]: Origin(started=1_450_000_001.0)}
    assert read(y2019).origins == {}
