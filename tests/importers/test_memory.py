"""Files that describe far more data than their size are refused, and large logs need little more memory than their
text."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedlab.errors import SchedlabError
from schedlab.files import packed
from schedlab.importers import detect
from schedlab.results.imported import ImportProblem
from schedlab.store.exports import read_export
from schedlab.workloads.log_reader import Lines
from schedlab.workloads.mmtests_logs import open_log

RUN = "Running in process mode with 10 groups using 40 file descriptors each (== 400 tasks)\n"

HEAD = "column,workload,metric,unit,direction,value\n"

HIGH_WATER = """
import re, sys
from pathlib import Path
from schedlab.importers import detect
try:
    detect.read(Path(sys.argv[1]))
except detect.ImportProblem as problem:
    print(problem)
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


def high_water(path: Path) -> tuple[int, str]:
    """Import a path in another process; return the largest memory of the process in bytes, and the printed error."""
    command = [sys.executable, "-c", HIGH_WATER, str(path)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    text, _, last = printed.rstrip().rpartition("\n")
    return int(last) << 10, text


def table(rows: int, workload: str) -> pl.DataFrame:
    """Return samples whose columns have the same value in every row, which Parquet stores once."""
    values = {"column": "a", "workload": workload, "metric": "t", "unit": "s", "direction": "lower", "value": 1.0}
    return pl.DataFrame([pl.Series(name, [value]).new_from_index(0, rows) for name, value in values.items()])


@given(st.text(alphabet="ab\n\r\f\x85"))
def test_lines_are_the_lines_between_line_ends(text: str) -> None:
    assert list(Lines(text)) == text.removesuffix("\n").split("\n")
    assert len(Lines(text)) == len(list(Lines(text)))


@pytest.mark.slow
@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_a_packed_file_is_not_unpacked_beyond_the_limit(
    pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("schedlab.importers.text.LARGEST", 1 << 20)
    monkeypatch.setattr("schedlab.workloads.mmtests_logs.LARGEST", 1 << 20)
    path = tmp_path / ("log.xz" if pack is lzma.compress else "log.gz")
    path.write_bytes(pack(RUN.encode() + b"Time: 0.123\n" * (1 << 20)))
    with pytest.raises(ImportProblem, match=r"more than 1 MiB of text \(the file has 0.0 MiB\)") as problem:
        detect.read(path)
    assert str(path) in str(problem.value)
    assert problem.value.todo
    if pack is not bz2.compress:  # MMTests does not pack with bzip2
        with pytest.raises(ImportProblem, match="more than 1 MiB of text"):
            open_log(path, "log")


def test_a_plain_log_of_a_result_tree_has_the_same_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedlab.workloads.mmtests_logs.LARGEST", 1 << 20)
    path = tmp_path / "hackbench-1"
    path.write_text("Time: 0.123\n" * (1 << 17))
    with pytest.raises(ImportProblem, match="more than 1 MiB of text"):
        open_log(path, "hackbench log")


@pytest.mark.parametrize(
    "text",
    [
        "a\n" * (4 << 20),
        '{"a": [' + "[]," * (4 << 20) + "[]]}",
        HEAD + "".join(f"a,w{i},t,s,lower,1\n" for i in range(200_000)),
    ],
    ids=["lines", "json", "rows"],
)
@pytest.mark.slow
def test_a_file_whose_content_needs_too_much_memory_is_refused(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "MOST", 64 << 20)
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(ImportProblem, match="needs more than 64 MiB of memory") as problem:
        detect.read(path)
    assert problem.value.where == str(path)
    assert "MiB)" in problem.value.what


def test_an_import_of_too_many_rows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedlab.importers.checks._MOST_ROWS", 10)
    path = tmp_path / "samples.csv"
    path.write_text(
        "column,workload,metric,unit,direction,value\n" + "".join(f"a,w{i},t,s,lower,1\n" for i in range(11))
    )
    with pytest.raises(ImportProblem, match="contains 11 rows"):
        detect.read(path)


def test_the_limit_ends_with_the_block() -> None:
    # More than the free memory that malloc(3) keeps of what the process has already.
    size = 1 << 30
    with pytest.raises(MemoryError), packed.limited(1 << 20):
        bytearray(size)
    assert len(bytearray(size)) == size


@pytest.mark.slow
@pytest.mark.parametrize("read", [detect.read, read_export])
@pytest.mark.parametrize(
    ("rows", "workload"), [(20_000, "x" * 200_000), (3_000_000, "w" * 100)], ids=["dictionary", "run lengths"]
)
def test_a_small_parquet_file_with_a_large_table_is_refused(
    rows: int, workload: str, read: Callable[[Path], object], tmp_path: Path
) -> None:
    path = tmp_path / "samples.parquet"
    table(rows, workload).write_parquet(path, compression="zstd")
    assert path.stat().st_size < 100_000
    with pytest.raises(SchedlabError, match=r"more than (1024 MiB of memory|2,000,000 samples|256 MiB of text)"):
        read(path)


@pytest.mark.slow
def test_a_small_parquet_file_with_a_large_table_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "samples.parquet"
    table(20_000, "x" * 200_000).write_parquet(path, compression="zstd")
    taken, problem = high_water(path)
    assert "needs more than 1024 MiB of memory" in problem
    assert taken < 400 << 20


@pytest.mark.slow
def test_a_packed_file_of_any_size_takes_at_most_twice_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(400):
            file.write(b"Time: 0.123\n" * (1 << 17))
    taken, problem = high_water(path)
    assert re.search(r"log.gz: contains more than 256 MiB of text \(the file has \d.\d MiB\)", problem)
    assert taken < 600 << 20


@pytest.mark.slow
def test_a_log_takes_a_few_times_the_memory_of_its_text(tmp_path: Path) -> None:
    small, large = tmp_path / "small.log", tmp_path / "large.log"
    small.write_text(RUN + "Time: 0.1\n")
    large.write_text(RUN + "Time: 0.1\n" * 200_000)
    growth = high_water(large)[0] - high_water(small)[0]
    assert growth < 10 * large.stat().st_size  # a list of lines and an object for each sample took 36 times the text
