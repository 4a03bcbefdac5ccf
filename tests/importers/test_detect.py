"""The format of a path follows from its content. Unknown content is refused with a hint."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from schedlab.importers import detect
from schedlab.importers.logs.reading import recognise
from schedlab.importers.printed.layout import layouts
from schedlab.importers.text import HEAD, LARGEST, document
from schedlab.results.imported import ImportProblem
from tests.importers.logs.recorded import SAMPLES, text, values

READERS = {
    "hackbench": "hackbench", "tbench": "dbench", "dbench": "dbench",
    "pgbench": "pgbench", "pgbench-aggregate": "pgbench-log",
    "pgbench-transactions": "pgbench-log", "pgbench-skipped": "pgbench-log", "perf-bench": "perf-bench",
    "perf-stat": "perf-stat", "netperf": "netperf", "iperf3": "iperf3", "hyperfine": "hyperfine",
    "schbench": "schbench", "cyclictest": "cyclictest", "rtla": "rtla", "oslat": "oslat", "turbostat": "turbostat",
    "perf-sched-latency": "perf-sched-latency", "perf-sched-stats": "perf-sched-stats",
    "lmbench-summary": "lmbench-summary",
}  # fmt: skip
"""Readers by the beginning of a sample's name."""

OTHERS = {
    "hyperfine.csv": "hyperfine-csv", "cyclictest.json": "cyclictest-json",
    "cyclictest-nsecs.json": "cyclictest-json",
    "perf-stat.json": "perf-stat-json", "perf-stat-interval.json": "perf-stat-json",
    "perf-stat-repeat.json": "perf-stat-json", "perf-stat-per-cpu.json": "perf-stat-json",
    "schbench.json": "schbench-json", "schbench-pipe.json": "schbench-json", "oslat.json": "rt-tests-json",
    "pmqtest.json": "rt-tests-json", "signaltest.json": "rt-tests-json", "rt-migrate-test.json": "rt-tests-json",
}  # fmt: skip


def expected(name: str) -> str:
    return OTHERS.get(name) or READERS[max((start for start in READERS if name.startswith(start)), key=len)]


NUMBERS_ALONE = "perf-messaging-simple.log"
"""Three numbers without a word, for which no reader may guess a metric."""


@pytest.mark.parametrize(
    "path",
    sorted(path for path in SAMPLES.iterdir() if path.is_file() and path.name != NUMBERS_ALONE),
    ids=lambda path: path.name,
)
@pytest.mark.parametrize("renamed", ["results", "notes.md"])
def test_the_reader_depends_on_the_content_and_not_on_the_name(path: Path, renamed: str, tmp_path: Path) -> None:
    copy = tmp_path / renamed
    shutil.copy(path, copy)
    reader = recognise(document(copy).head)
    assert reader is not None
    assert reader.name == expected(path.name)


def test_numbers_alone_are_refused_with_the_format_to_name() -> None:
    with pytest.raises(ImportProblem) as problem:
        detect.read(SAMPLES / NUMBERS_ALONE)
    assert "--as perf-bench" in problem.value.todo


def zstd(data: bytes) -> bytes:
    if shutil.which("zstd") is None:
        pytest.skip("the program zstd is not here")
    return subprocess.run(["zstd", "-c"], input=data, capture_output=True, check=True).stdout


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress, "zst": zstd,
}  # fmt: skip


@pytest.mark.parametrize("packing", PACK)
def test_packed_files_are_recognised_by_their_content(packing: str, tmp_path: Path) -> None:
    path = tmp_path / f"before.log.{packing}"
    path.write_bytes(PACK[packing](text("hackbench.log").encode()))
    assert detect.read(path).columns == ("before",)
    path = path.rename(tmp_path / "log")
    assert values(detect.read(path), "time") == [0.288, 0.261, 0.264]


@pytest.mark.parametrize("packing", PACK)
def test_a_packed_file_that_is_cut_off_is_named(packing: str, tmp_path: Path) -> None:
    path = tmp_path / f"tbench.log.{packing}"
    path.write_bytes(PACK[packing](text("tbench.log").encode())[:-40])
    with pytest.raises(ImportProblem, match="cut off or damaged") as problem:
        detect.read(path)
    assert problem.value.where.startswith(f"{path}:")


FOREIGN = {
    "empty": (b"", "is empty"),
    "blanks": (b"  \n\n", "only blanks"),
    "binary": (bytes(range(256)), "byte 1 is zero"),
    "utf-16le": ("Time: 1.000\n".encode("utf-16-le"), "is UTF-16LE without a byte order mark"),
    "utf-16be": ("Time: 1.000\n".encode("utf-16-be"), "is UTF-16BE without a byte order mark"),
    "tool.1": (b'\'\\" t\n.TH "PGBENCH" 1\n.nf\nprogress: 1.0 s, 5.0 tps, lat 1.0 ms stddev 0.1\n', "manual page"),
    "tool.8": (b'.\\" by hand\n.Dd May 1, 2020\n.Dt TOOL 8\n', "manual page"),
    "late": (b"Time: 1.000\n" * 9 + b"\0", "byte 109 is zero"),
    "perf.data": (b"PERFILE2" + b"x" * 99, "data of perf record"),
    "store": (b"SQLite format 3\0" + b"x" * 99, "an SQLite file"),
    "program": (b"\x7fELF\2\1\1", "a program"),
    "words": (b"This is a text.\nIt does not mention benchmarks.\n", "not output of a known tool"),
    "code": (b"#include <stdio.h>\nint main(void) { return 0; }\n", "not output of a known tool"),
    "json": (b'{"name": "x", "seconds": [1, 2]}', "JSON of an unknown tool .its keys: name, seconds"),
    "cut.json": (b'{\n "name": "x",\n "seconds": [1, 2', "middle of its JSON"),
    "list": (b'[{"a": 1}]', "JSON, but not an object"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_unreadable_content_is_refused_with_a_remedy(name: str, tmp_path: Path) -> None:
    content, message = FOREIGN[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ImportProblem, match=message) as problem:
        detect.read(path)
    assert problem.value.where.startswith(str(path))
    assert problem.value.todo


@pytest.mark.parametrize(
    ("content", "todo"),
    [
        (
            "[ ID] Interval           Transfer     Bitrate\n[  5]   0.00-1.00   sec  1.96 GBytes  16.8 Gbits/sec\n",
            "--json",
        ),
        ("Benchmark 1: sleep 0.01\n  Time (mean ± σ):      11.3 ms ±   0.5 ms\n", "--export-json"),
    ],
)
def test_output_for_people_is_refused_with_the_option_to_use(content: str, todo: str, tmp_path: Path) -> None:
    path = tmp_path / "output.txt"
    path.write_text(content)
    with pytest.raises(ImportProblem) as problem:
        detect.read(path)
    assert todo in problem.value.todo


def test_a_missing_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(ImportProblem, match="no such file") as problem:
        detect.read(tmp_path / "nothing")
    assert problem.value.where == str(tmp_path / "nothing")


def test_a_stated_format_is_used(tmp_path: Path) -> None:
    result = detect.read(SAMPLES / NUMBERS_ALONE, "perf-bench")
    assert values(result, "time", "perf-bench") == [0.068, 0.067, 0.070]
    with pytest.raises(ImportProblem, match="'perf' is not a format") as problem:
        detect.read(SAMPLES / "hackbench.log", "perf")
    assert "hackbench" in problem.value.todo


def test_every_format_has_a_description() -> None:
    assert len(detect.formats()) == len(set(detect.formats().values()))
    assert {"mmtests", "tables", "hackbench", "csv"} <= detect.formats().keys()


def test_a_huge_foreign_file_is_refused_by_its_first_zero_byte(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.write(b"words without any figure\n" * 4000)
        file.truncate(LARGEST * 4)  # the zeros after the words are a hole and take no disk space
    with pytest.raises(ImportProblem, match="is not text: byte 100001 is zero"):
        detect.read(path)


def test_more_text_than_fits_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedlab.importers.text.LARGEST", 2 * HEAD)
    path = tmp_path / "before.log"
    path.write_text(text("hackbench.log") * 1000)
    with pytest.raises(ImportProblem, match="contains more than"):
        detect.read(path)


def test_a_very_long_text_is_not_searched_for_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedlab.importers.logs.reading._LONGEST", 10_000)
    path = tmp_path / "mail.txt"
    table = "tbench4\n            base                new\nHmean 1  10.0 (  0.00%)   9.0 ( -10.00%)\n"
    path.write_text(f"{table}{'words without any figure' * 10}\n" * 20)
    assert len(detect.read(path).tables) == 20
    path.write_text(f"{table}{'words without any figure' * 10}\n" * 200)
    with pytest.raises(ImportProblem, match="too long for a search for tables") as problem:
        detect.read(path)
    assert problem.value.where == f"{path}:1"


@pytest.mark.slow
def test_a_table_after_the_first_64_kib_is_found_and_a_layout_can_be_stated(tmp_path: Path) -> None:
    path = tmp_path / "mail.txt"
    table = "tbench4\n            base                new\nHmean 1  10.0 (  0.00%)   9.0 ( -10.00%)\n"
    path.write_text("Nothing but words.\n" * HEAD + table)
    assert [each.line for each in detect.read(path).tables] == [HEAD + 2]
    path.write_text("case  a  b\nx     1  2\ny     3  4\n")
    with pytest.raises(ImportProblem, match="layout of this table is not known") as problem:
        detect.read(path)
    assert (problem.value.where, "--table lines=1-3" in problem.value.todo) == (f"{path}:1", True)
    (stated,) = detect.read(path, layouts=layouts("columns=runs,label=1,baseline=2,better=lower")).tables
    assert stated.columns == ("a", "b")
    with pytest.raises(ImportProblem, match="a stated table is not hackbench"):
        detect.read(path, "hackbench", layouts("columns=runs"))


def test_an_archive_is_refused_as_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "run.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(SAMPLES / "hackbench.log")
    with pytest.raises(ImportProblem, match="is a tar archive"):
        detect.read(path)


def test_line_ends_colours_and_byte_order_marks_do_not_matter(tmp_path: Path) -> None:
    plain = text("hackbench.log")
    for name, content in {
        "dos": plain.replace("\n", "\r\n").encode(),
        "colours": plain.replace("Time:", "\x1b[1;32mTime:\x1b[0m").encode(),
        "bom": plain.encode("utf-8-sig"),
        "utf16": plain.encode("utf-16"),
    }.items():
        path = tmp_path / name
        path.write_bytes(content)
        assert values(detect.read(path), "time") == [0.288, 0.261, 0.264]


def test_standard_input_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BufferedReader(io.BytesIO(gzip.compress(text("hackbench.log").encode())))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(raw))
    result = detect.read(Path("-"))
    assert (result.columns, len(result.series[0].values)) == (("stdin",), 3)


def put(folder: Path, *names: str, start: float = 0.1) -> None:
    """Write logs of hackbench with one run each and different times."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, name in enumerate(names):
        (folder / name).write_text(f"Time: {start + index / 1000:.3f}\n")


def times(paths: list[Path], names: list[str] | None = None) -> dict[tuple[str, int], list[float]]:
    """Return the samples by column and block."""
    (result,) = detect.read_all(paths, names=names or [])
    return {(each.column, each.block): each.values.tolist() for each in result.series}


def test_files_are_columns_with_their_names(tmp_path: Path) -> None:
    put(tmp_path, "before.log", "after.txt")
    paths = [tmp_path / "before.log", tmp_path / "after.txt"]
    assert times(paths) == {("before", 1): [0.1], ("after", 1): [0.101]}


def test_folders_are_columns_and_their_files_blocks_in_natural_order(tmp_path: Path) -> None:
    put(tmp_path / "base", "run-10.log", "run-9.log")
    put(tmp_path / "new", "a.log", start=0.2)
    expected_times = {("base", 1): [0.101], ("base", 2): [0.1], ("new", 1): [0.2]}
    assert times([tmp_path / "base", tmp_path / "new"]) == expected_times
    assert times([tmp_path]) == expected_times


def test_files_in_nested_folders_are_read(tmp_path: Path) -> None:
    put(tmp_path / "base" / "run-1", "a.log")
    put(tmp_path / "base" / "run-2", "a.log", start=0.2)
    (tmp_path / "base" / "loop").symlink_to(tmp_path)
    expected_times = {("base", 1): [0.1], ("base", 2): [0.2]}
    assert times([tmp_path]) == expected_times
    assert times([tmp_path / "base"], ["base"]) == expected_times


def test_a_folder_with_too_many_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "inner", "a.log", "b.log", "c.log")
    monkeypatch.setattr("schedlab.importers.logs.files.MOST_FILES", 2)
    with pytest.raises(ImportProblem, match="contains more than 2 files"):
        detect.read(tmp_path)


def test_a_folder_of_logs_alone_has_a_column_for_each_file(tmp_path: Path) -> None:
    put(tmp_path, "before.log", "after.log")
    assert {column for column, _ in times([tmp_path])} == {"before", "after"}


def test_files_with_the_same_name_are_columns_named_after_their_folders(tmp_path: Path) -> None:
    put(tmp_path / "old", "hackbench.log")
    put(tmp_path / "new", "hackbench.log", start=0.2)
    paths = [tmp_path / "old" / "hackbench.log", tmp_path / "new" / "hackbench.log"]
    assert times(paths) == {("old", 1): [0.1], ("new", 1): [0.2]}


def test_folders_of_the_same_name_are_columns_of_their_own(tmp_path: Path) -> None:
    put(tmp_path / "old" / "logs", "a.log")
    put(tmp_path / "new" / "logs", "a.log", start=0.2)
    paths = [tmp_path / "old" / "logs", tmp_path / "new" / "logs"]
    assert times(paths) == {("old/logs", 1): [0.1], ("new/logs", 1): [0.2]}
    assert times(paths, ["base", "patched"]) == {("base", 1): [0.1], ("patched", 1): [0.2]}


def test_a_name_for_a_file_with_columns_of_its_own(tmp_path: Path) -> None:
    csv = tmp_path / "samples.csv"
    lines = ["column,workload,metric,unit,direction,value", "base,hackbench,time,s,lower,0.1"]
    csv.write_text("\n".join(lines) + "\n")
    assert times([csv], ["vanilla"]) == {("vanilla", 1): [0.1]}
    csv.write_text("\n".join([*lines, "new,hackbench,time,s,lower,0.2"]) + "\n")
    with pytest.raises(ImportProblem, match="contains 2 columns, so the columns cannot all have the name 'vanilla'"):
        detect.read_all([csv], names=["vanilla"])


def test_a_name_makes_a_folder_one_column(tmp_path: Path) -> None:
    put(tmp_path, "a.log", "b.log")
    assert times([tmp_path], ["base"]) == {("base", 1): [0.1], ("base", 2): [0.101]}


def test_other_files_in_a_folder_are_left_out_with_a_note(tmp_path: Path) -> None:
    put(tmp_path, "before.log", "after.log")
    (tmp_path / "README").write_text("words\n")
    (tmp_path / "err.log").write_text("")
    (tmp_path / "core").write_bytes(b"\x7fELF")
    result = detect.read(tmp_path)
    assert set(result.columns) == {"before", "after"}
    assert [name for name in ("README", "err.log", "core") if not any(name in note for note in result.notes)] == []


def test_a_damaged_log_in_a_folder_stops_the_import(tmp_path: Path) -> None:
    put(tmp_path, "before.log")
    (tmp_path / "after.log").write_text("\n".join(text("tbench.log").split("\n")[:9]))
    with pytest.raises(ImportProblem, match=r"after\.log"):
        detect.read(tmp_path)


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("words\n")
    with pytest.raises(ImportProblem, match="no file with results") as problem:
        detect.read(tmp_path)
    assert "hackbench" in problem.value.todo


def test_summaries_of_several_files_are_columns() -> None:
    paths = [SAMPLES / "perf-stat-repeat.csv", SAMPLES / "perf-stat-repeat.json"]
    (result,) = detect.read_all(paths, names=["before", "after"])
    (table,) = result.tables
    assert table.columns == ("before", "after")
    cells = {each.operation: [cell.value for cell in each.cells] for each in table.rows}
    assert cells["task-clock"] == [0.75, 0.782044]
    # Only the first file contains the elapsed time.
    assert cells["elapsed"][1] is None


def test_several_files_of_hyperfine_are_columns_and_commands_are_rows(tmp_path: Path) -> None:
    for name in ("before.json", "after.json"):
        shutil.copy(SAMPLES / "hyperfine.json", tmp_path / name)
    (result,) = detect.read_all([tmp_path / "before.json", tmp_path / "after.json"])
    assert result.columns == ("before", "after")
    assert len(values(result, "time", column="after", command="sleep 0.012")) == 6


def test_a_problem_in_any_path_stops_the_whole_import(tmp_path: Path) -> None:
    put(tmp_path, "before.log")
    (tmp_path / "after.log").write_text("")
    with pytest.raises(ImportProblem, match="is empty"):
        detect.read_all([tmp_path / "before.log", tmp_path / "after.log"])


def test_a_name_makes_the_commands_of_hyperfine_rows_of_one_column() -> None:
    (result,) = detect.read_all([SAMPLES / "hyperfine.json"], names=["fast"])
    assert result.columns == ("fast",)
    assert len(values(result, "time", command="sleep 0.01")) == 6


def test_several_runs_of_mmtests_are_columns_of_one_import(tmp_path: Path) -> None:
    for run, seconds in (("old", "1.5"), ("new", "1.4")):
        logs = tmp_path / run / "iter-0" / "kernbench" / "logs"
        logs.mkdir(parents=True)
        (logs / "time-4-1").write_text(
            f"911.30user 88.83system 4:1{seconds}elapsed 399%CPU (0avgtext+0avgdata 0maxresident)k\n"
        )
    (result,) = detect.read_all([tmp_path / "new", tmp_path / "old"])
    assert (result.format, result.columns) == ("mmtests", ("new", "old"))
    (named,) = detect.read_all([tmp_path / "new", tmp_path / "old"], names=["a", "b"])
    assert named.columns == ("a", "b")
    with pytest.raises(ImportProblem, match="contains 2 columns"):
        detect.read_all([tmp_path], names=["a"])


@pytest.mark.parametrize(
    ("line", "is_page"),
    [
        ("PERF-STAT(1)                    perf Manual                    PERF-STAT(1)", True),
        ("\n\n  tool(1p)  x  tool(1p)  ", True),
        ("tool(1)  several words,  far apart   tool(1)", True),
        ("tool(1)  x tool(1)", False),
        ("tool(1) x  tool(1)", False),
        ("tool(1)  x  tool(1) and more", False),
        ("tool(1)  x  other(1)", False),
        ("words\ntool(1)  x  tool(1)", False),
    ],
)
def test_a_formatted_manual_page_is_known_by_its_first_line(line: str, is_page: bool, tmp_path: Path) -> None:
    path = tmp_path / "page.txt"
    path.write_text(f"{line}\n\nNAME\n    tool - does something\n")
    with pytest.raises(ImportProblem, match="is a manual page" if is_page else "not output of a known tool"):
        detect.read(path)


@pytest.mark.verify
@pytest.mark.parametrize("start", ["tool(1)  x", f"{text('hackbench.log')}before", f"{text('hackbench.log')}before,"])
def test_a_long_line_of_blanks_is_read_in_linear_time(start: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(f"{start}{' ' * 65_000}x\n")
    begin = time.process_time()
    with suppress(ImportProblem):
        detect.read(path)
    assert time.process_time() - begin < 3.0
