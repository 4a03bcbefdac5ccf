"""A log that cannot be read in full is reported with its line, and no part of its tree is imported."""

from __future__ import annotations

import gzip
import lzma
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from schedlab.importers.mmtests import read
from schedlab.results.imported import Import, ImportProblem, Series
from tests.importers.mmtests.conftest import Run
from tests.importers.mmtests.trees import NOW, OLD, RUNS, Noise, by_second, rt_tests

pytestmark = pytest.mark.slow

FORMATS = [("now", name) for name in NOW] + [("old", name) for name in OLD]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return tmp_path / "base" / "iter-0"


def written_logs(folder: Path, age: str, benchmark: str) -> list[Path]:
    """Write a run's logs, uncompressed so that a test can cut them at any byte; return the logs with samples."""
    path = folder / benchmark / "logs"
    {"now": NOW, "old": OLD}[age][benchmark](path, RUNS[2], Noise(RUNS[2], benchmark))
    for packed in [*path.glob("*.xz"), *path.glob("*.gz")]:
        unpack = lzma.decompress if packed.suffix == ".xz" else gzip.decompress
        packed.with_suffix("").write_bytes(unpack(packed.read_bytes()))
        packed.unlink()
    names = ("protocols", "workloads", "models", "time-", "pgbench-1.log", "pgbench-4.log")
    return [log for log in sorted(path.iterdir()) if not log.name.startswith(names) or benchmark == "kernbench"]


def problem_of(path: Path) -> ImportProblem:
    with pytest.raises(ImportProblem) as raised:
        read(path)
    return raised.value


@pytest.mark.parametrize(("age", "benchmark"), FORMATS)
def test_a_cut_log_is_refused_or_only_loses_samples(logs: Path, age: str, benchmark: str) -> None:
    cut = written_logs(logs, age, benchmark)[0]
    content = cut.read_bytes()
    complete = {series.label: series for series in read(logs).series}
    pick = random.Random(benchmark)
    for end in [0, 1, len(content) // 2, *(pick.randrange(len(content)) for _ in range(25))]:
        cut.write_bytes(content[:end])
        imported = attempted(logs)
        if isinstance(imported, ImportProblem):
            assert imported.where.startswith(str(cut))
        else:
            for series in imported.series:
                assert_subsequence(series, complete[series.label])


def attempted(path: Path) -> Import | ImportProblem:
    try:
        return read(path)
    except ImportProblem as problem:
        return problem


def assert_subsequence(series: Series, complete: Series) -> None:
    """Require that the cut removed samples at most, and changed no value."""
    values = iter(complete.values.tolist())
    assert all(value in values for value in series.values.tolist()), (series.values, complete.values)


@pytest.mark.parametrize(("age", "benchmark"), FORMATS)
@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"\x7fELF\x02\x01\x00\x00" * 40, b'{"a": 1}\n', bytes(range(128, 256))]
)
def test_empty_binary_and_foreign_logs_are_refused_by_name(
    logs: Path, age: str, benchmark: str, content: bytes
) -> None:
    log = written_logs(logs, age, benchmark)[-1]
    log.write_bytes(content)
    assert problem_of(logs).where.startswith(f"{log}:")


def test_the_problem_names_the_wrong_line(run: Run) -> None:
    path = run("wis-sched", {"benchlog-a_threads-1": "min:1 max:2 total:3\nmin:1 max:2 total:x\nmin:1 max:2 total:3\n"})
    problem = problem_of(path)
    assert problem.where.endswith("benchlog-a_threads-1:2")
    assert "“min:1 max:2 total:x”" in problem.what
    assert problem.todo


def test_a_truncated_number_is_refused(run: Run) -> None:
    problem = problem_of(run("hackbench-pipes", {"hackbench-1-1": rt_tests(1, 0.345), "hackbench-1-2": "Time: 0.3"}))
    assert problem.where.endswith("hackbench-1-2:1")


def test_a_complete_last_line_needs_no_newline(run: Run) -> None:
    imported = read(run("hackbench-pipes", {"hackbench-1-1": "Time: 0.345"}))
    np.testing.assert_array_equal(imported.series[0].values, [0.345])


@pytest.mark.parametrize("suffix", ["gz", "xz"])
def test_a_packed_log_that_is_cut_off_or_damaged_is_named(run: Run, suffix: str) -> None:
    name = f"pgbench-transactions-4.log.{suffix}"
    path = run("pgbench", {name: by_second(4, Noise(RUNS[0], ""))})
    log = path / "iter-0" / "pgbench" / "logs" / name
    packed = log.read_bytes()
    log.write_bytes(packed[:-20])
    problem = problem_of(path)
    assert f"{suffix} file is cut off" in problem.what
    assert problem.where.startswith(f"{log}:")
    log.write_bytes(packed[:30] + b"\xff" * 30 + packed[60:])
    assert problem_of(path).where.startswith(str(log))
    log.write_bytes(b"1717200000 10 1 2 3 4\n" * 30)
    assert "damaged" in problem_of(path).what


def test_an_unreadable_log_is_named(run: Run) -> None:
    path = run("perfpipe", {})
    log = path / "iter-0" / "perfpipe" / "logs" / "benchlog-_-_-1"
    log.parent.mkdir(parents=True)
    log.symlink_to("nowhere")
    assert problem_of(path).where == str(log)


def test_one_bad_log_stops_the_whole_import(now: Path, tmp_path: Path) -> None:
    copy = tmp_path / "log"
    shutil.copytree(now, copy)
    bad = copy / RUNS[2] / "iter-0" / "stressng" / "logs" / "stressng-4-3.log"
    bad.write_text("stress-ng: info:  [1] dispatching hogs: 4 context\n")
    assert problem_of(copy).where == f"{bad}:1"


@pytest.mark.parametrize(
    ("stamp", "message"), [(lambda n: 1717200000, "do not advance"), (lambda n: 1717200000 - n, "go back")]
)
def test_time_stamps_that_do_not_advance_are_refused(run: Run, stamp: Callable[[int], int], message: str) -> None:
    log = "".join(f"{stamp(number)} 10 1 2 3 4\n" for number in range(40))
    assert message in problem_of(run("pgbench", {"pgbench-transactions-1.log": log})).what


def test_a_pgbench_log_by_transaction_is_not_read_as_a_log_by_second(run: Run) -> None:
    path = run("pgbench", {"pgbench-transactions-1.log": "0 199 2241 0 1175850568 995598\n" * 40})
    assert problem_of(path).where.endswith("pgbench-transactions-1.log:1")
