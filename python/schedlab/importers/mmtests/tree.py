"""Read a result tree: find the logs, order the runs, read every log.

Runs contain iterations, iterations contain benchmarks, benchmarks contain ``logs``.

::

    log/                         a folder of runs, as run-mmtests.sh leaves it
    ├── 6.1-vanilla/             a run: one column
    │   ├── iter-0/              an iteration: one block
    │   │   ├── tests-timestamp
    │   │   └── tbench/logs/
    │   └── iter-1/...
    └── 6.1-patched/...

Until 2018 a tree contained ``tbench4-4.5.0-vanilla/noprofile``: benchmark and run in one name, no iterations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from schedlab.results import Import, ImportProblem, Series
from schedlab.workloads.reading import natural
from schedlab.workloads.registry import MMTESTS_NAMES, mmtests_reader

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
    path = path.resolve()
    for level in (_run, _runs, _old_runs, _iteration, _benchmark, _logs, _work):
        if folders := sorted(level(path), key=_order):
            return folders
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
    stamps = [int(stamp) for file in files if file.is_file() for stamp in _STARTED.findall(file.read_bytes())]
    return min(stamps, default=None)


def _order(folder: Folder) -> tuple[object, ...]:
    return natural(folder.column), natural(folder.benchmark), folder.block


def _logs(path: Path) -> Iterator[Folder]:
    if path.name == "logs" and path.is_dir():
        yield from _benchmark(path.parent)


def _benchmark(path: Path) -> Iterator[Folder]:
    if not (path / "logs").is_dir():
        return
    above = path.parent
    iteration = _ITERATION.fullmatch(above.name)
    block, run = (int(iteration[1]) + 1, above.parent) if iteration else (1, above)
    yield Folder(run.name, block, path.name, path / "logs", above / "tests-timestamp")


def _iteration(path: Path) -> Iterator[Folder]:
    for inner in _children(path):
        yield from _benchmark(inner)


def _run(path: Path) -> Iterator[Folder]:
    for inner in _children(path):
        if _ITERATION.fullmatch(inner.name):
            yield from _iteration(inner)


def _runs(path: Path) -> Iterator[Folder]:
    for inner in _children(path):
        yield from _run(inner)


def _old_runs(path: Path) -> Iterator[Folder]:
    yield from _old_run(path)
    for inner in _children(path):
        yield from _old_run(inner)


def _old_run(path: Path) -> Iterator[Folder]:
    logs = path / "noprofile"
    if not logs.is_dir():
        return
    benchmark, run = _split(path.name)
    inner = logs / "default"
    yield Folder(run, 1, benchmark, inner if inner.is_dir() else logs, path.parent / f"tests-timestamp-{run}")


def _split(name: str) -> tuple[str, str]:
    """Split ``hackbench-pipes-4.5.0-vanilla`` into benchmark and run at the longest name of a benchmark."""
    for dash in reversed([match.start() for match in re.finditer("-", name)]):
        # A run begins with a kernel's version unless the name before it is that of a benchmark alone.
        if mmtests_reader(name[:dash]) and (name[dash + 1].isdigit() or not re.search(r"-\d", name[:dash])):
            return name[:dash], name[dash + 1 :]
    benchmark, _, run = name.partition("-")
    return benchmark, run or name


def _work(path: Path) -> Iterator[Folder]:
    """Yield the folders of a MMTests checkout, which contains its runs in ``work/log``."""
    for logs in (path / "work" / "log", path / "log"):
        if logs.is_dir():
            yield from _runs(logs)


def _children(path: Path) -> list[Path]:
    return sorted((inner for inner in path.iterdir() if inner.is_dir()), key=lambda inner: natural(inner.name))


FORMAT = "mmtests"


def looks_like(path: Path) -> bool:
    """Return whether ``path`` is a result tree of MMTests, or a run, iteration, benchmark or ``logs`` folder in one."""
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
        folders = log_folders(path)
    except OSError as error:
        raise ImportProblem(f"cannot be read: {error.strerror}", where=str(path)) from None
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
    return Import(FORMAT, str(path), columns, series, notes=tuple(_notes(folders)))


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
        yield "left out: files beside the benchmarks' folders, such as monitors and dmesg"
