"""Read a result tree: find the logs, order the runs, read every log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from schedlab.importers.mmtests.tree import Folder, column_order, log_folders
from schedlab.results import Import, ImportProblem, Series
from schedlab.workloads.registry import MMTESTS_NAMES, mmtests_reader

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
