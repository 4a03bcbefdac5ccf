"""Result trees of MMTests, which ``run-mmtests.sh`` leaves under ``work/log``, read as series of samples.

Runs contain iterations, iterations contain benchmarks, benchmarks contain ``logs``.

::

    log/                         a folder of runs, as written by run-mmtests.sh
    ├── 6.1-vanilla/             a run: one column
    │   ├── iter-0/              an iteration: one block
    │   │   ├── kernel.version      the output of uname -a
    │   │   ├── tests-timestamp     when each benchmark began and ended
    │   │   └── tbench/logs/
    │   └── iter-1/...
    └── 6.1-patched/...

Until 2018 a tree contained ``tbench4-4.5.0-vanilla/noprofile``: benchmark and run in one name, no iterations.

The readers of the logs are ``workloads/*/output.py``. A row has the label of MMTests' report; ``docs/mmtests.md``
lists intended differences.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from schedlab.results.imported import NOT_STATED, Import, ImportProblem, Origin, Series
from schedlab.workloads.log_reader import natural
from schedlab.workloads.origins import common, of_uname
from schedlab.workloads.registry import MMTESTS_NAMES, mmtests_reader

_LEVELS = (
    "iter-[0-9]*/*/logs",
    "*/iter-[0-9]*/*/logs",
    "noprofile",
    "*/noprofile",
    "*/logs",
    "logs",
    ".",
    "work/log/*/iter-[0-9]*/*/logs",
    "log/*/iter-[0-9]*/*/logs",
)
"""Places of folders of logs below a run, a folder of runs, an iteration, a benchmark, and MMTests itself."""
_ITERATION = re.compile(r"iter-(\d+)")
_STARTED = re.compile(rb"^(?:start|test begin) :: (?:\S+ )?(\d{9,})\s*$", re.M)
_BASELINE = re.compile(
    r"(?:.*[-_. ])?(?:base|baseline|vanilla|old|before|control|stock|orig|original|unpatched)(?:[-_. ].*)?|a", re.I
)


@dataclass(frozen=True)
class Folder:
    """Logs of one benchmark in one iteration of a run.

    Attributes:
        column: name of the run.
        block: number of the iteration, from 1.
        benchmark: MMTests' name of the benchmark.
        logs: folder of the logs.
        times: file that may contain the start time of the iteration.
    """

    column: str
    block: int
    benchmark: str
    logs: Path
    times: Path


def log_folders(path: Path) -> list[Folder]:
    """Return every folder of logs at or under ``path``, which may be any level of a tree; empty for other paths.

    Raises:
        OSError: ``path`` cannot be read.
    """
    path = Path(os.path.realpath(path))
    for pattern in _LEVELS:
        inside = [path] if pattern == "." else path.glob(pattern)
        if folders := [folder for logs in inside if logs.is_dir() and (folder := _folder(logs))]:
            return sorted(folders, key=_order)
    return []


def column_order(times: Mapping[str, Iterable[Path]]) -> Sequence[str]:
    """Return the names of runs, the baseline first.

    MMTests orders runs by their start, which ``tests-timestamp`` contains. Where the start of one run is missing, names
    that are usual for a baseline come first, and numbers within names are compared by value.

    Args:
        times: for each run, the files that may contain its start.
    """
    starts = {name: _start(files) for name, files in times.items()}
    if all(start is not None for start in starts.values()):
        return sorted(starts, key=lambda name: (starts[name] or 0, natural(name)))
    return sorted(starts, key=lambda name: (not _BASELINE.fullmatch(name), natural(name)))


def _start(files: Iterable[Path]) -> int | None:
    """Return seconds since 1970 of the first start in the files."""
    stamps = [int(stamp) for file in files if file.is_file() for stamp in _STARTED.findall(_head(file))]
    return min(stamps, default=None)


def _head(file: Path) -> bytes:
    """Return the beginning of a file of time stamps, which has a line for each benchmark."""
    with file.open("rb") as opened:
        return opened.read(1 << 20)


def _order(folder: Folder) -> tuple[object, ...]:
    return natural(folder.column), natural(folder.benchmark), folder.block


def _folder(logs: Path) -> Folder | None:
    """Return the run, iteration and benchmark of a folder of logs by its place; None where the folder has another
    name."""
    if logs.name == "noprofile":
        benchmark, run = _split(logs.parent.name)
        inner = logs / "default"
        times = logs.parents[1] / f"tests-timestamp-{run}"
        return Folder(run, 1, benchmark, inner if inner.is_dir() else logs, times)
    if logs.name != "logs":
        return None
    above = logs.parents[1]
    iteration = _ITERATION.fullmatch(above.name)
    block, run = (int(iteration[1]) + 1, above.parent.name) if iteration else (1, above.name)
    return Folder(run, block, logs.parent.name, logs, above / "tests-timestamp")


def _split(name: str) -> tuple[str, str]:
    """Split ``hackbench-pipes-4.5.0-vanilla`` into benchmark and run at the longest name of a benchmark."""
    for dash in reversed([match.start() for match in re.finditer("-", name)]):
        # A run begins with a kernel's version unless the previous name is the name of a benchmark alone.
        if mmtests_reader(name[:dash]) and (name[dash + 1].isdigit() or not re.search(r"-\d", name[:dash])):
            return name[:dash], name[dash + 1 :]
    benchmark, _, run = name.partition("-")
    return benchmark, run or name


FORMAT = "mmtests"


def looks_like(path: Path) -> bool:
    """Return whether ``path`` is a result tree of MMTests, or a run, iteration, benchmark or ``logs`` folder in a
    result tree."""
    try:
        return path.is_dir() and any(mmtests_reader(folder.benchmark) for folder in log_folders(path))
    except OSError:
        return False


def read(path: Path) -> Import:
    """Read every known benchmark under ``path``: a column for each run, a block for each iteration.

    Raises:
        ImportProblem: ``path`` is not a tree, has no known benchmark, or has a log that cannot be read in full.
    """
    try:
        next(path.iterdir(), None)  # without rights, a pattern finds nothing
        folders = log_folders(path)
    except OSError as error:
        raise ImportProblem(
            f"cannot be read: {error.strerror}", where=str(path), todo="check its permissions"
        ) from None
    if not folders:
        raise ImportProblem(
            "contains no MMTests results",
            where=str(path),
            todo="name a run (it contains iter-0), or the folder of runs (work/log)",
        )
    readable = [folder for folder in folders if mmtests_reader(folder.benchmark)]
    if not readable:
        names = ", ".join(sorted({folder.benchmark for folder in folders}))
        todo = f"benchmarks that are read: {', '.join(MMTESTS_NAMES)}"
        raise ImportProblem(f"no reader for {names}", where=str(path), todo=todo)
    columns = _columns(readable)
    place = {name: position for position, name in enumerate(columns)}
    readable.sort(key=lambda folder: place[folder.column])  # stable: benchmarks and blocks stay in their order
    series = tuple(series for folder in readable for series in _read(folder))
    return Import(FORMAT, str(path), columns, series, notes=tuple(_notes(folders)), origins=_origins(readable))


def _origins(folders: Iterable[Folder]) -> dict[str, Origin]:
    """Return the origin of each run, of which all iterations state the kernel and the host; none for trees before
    2018."""
    iterations: dict[str, dict[Path, Path]] = {}
    for folder in folders:
        above = folder.logs.parents[1]
        iterations.setdefault(folder.column, {})[above / "kernel.version"] = folder.times
    stated = {
        column: common(of_uname(_text(version), _start([times])) for version, times in files.items())
        for column, files in iterations.items()
    }
    return {column: origin for column, origin in stated.items() if origin != NOT_STATED}


def _text(file: Path) -> str:
    """Return the first kilobytes of a file; empty where there is no such file."""
    return file.read_bytes()[:4096].decode(errors="replace") if file.is_file() else ""


def _columns(folders: Iterable[Folder]) -> tuple[str, ...]:
    times: dict[str, list[Path]] = {}
    for folder in folders:
        times.setdefault(folder.column, []).append(folder.times)
    return tuple(column_order({name: dict.fromkeys(files) for name, files in times.items()}))


def _read(folder: Folder) -> Iterator[Series]:
    reader = mmtests_reader(folder.benchmark)
    rows = reader(folder.logs) if reader else []
    if not rows:
        raise ImportProblem(
            f"no log of {folder.benchmark}",
            where=str(folder.logs),
            todo="the benchmark failed, or the copy is incomplete; leave its folder out",
        )
    for row in rows:
        yield Series(
            column=folder.column,
            workload=folder.benchmark,
            metric=row.metric.name,
            unit=row.metric.unit,
            direction=row.metric.direction,
            parameters=row.parameters,
            values=row.values,
            source=str(row.file),
            label=row.label,
            block=folder.block,
            decimals=row.decimals,
        )


def _notes(folders: Sequence[Folder]) -> Iterator[str]:
    unknown = sorted({folder.benchmark for folder in folders if not mmtests_reader(folder.benchmark)})
    if unknown:
        yield f"left out, no reader: {', '.join(unknown)}"
    iterations = {folder.logs.parents[1] for folder in folders if folder.logs.name == "logs"}
    if any(inner.is_file() and not inner.name.startswith("tests-") for path in iterations for inner in path.iterdir()):
        yield "left out: files next to the benchmarks' folders, such as monitors and dmesg"
