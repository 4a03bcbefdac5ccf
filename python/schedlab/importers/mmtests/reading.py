"""From a path to an :class:`~schedlab.results.Import`: find the logs, order the runs, read every log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from schedlab.importers.mmtests.benchmarks import KNOWN, reader_of
from schedlab.importers.mmtests.order import column_order
from schedlab.importers.mmtests.tree import Folder, folders
from schedlab.results import Import, ImportProblem, Series

FORMAT = "mmtests"


def looks_like(path: Path) -> bool:
    """Whether ``path`` is a result tree of MMTests, or a run, iteration, benchmark or ``logs`` folder in one."""
    try:
        return path.is_dir() and any(reader_of(folder.benchmark) for folder in folders(path))
    except OSError:
        return False


def read(path: Path) -> Import:
    """Everything under ``path`` that a reader is known for; a column for each run, a block for each iteration.

    Raises:
        ImportProblem: there is no tree, no known benchmark, or a log that cannot be understood whole.
    """
    try:
        found = folders(path)
    except OSError as error:
        raise ImportProblem(f"cannot be read: {error.strerror}", where=str(path)) from None
    if not found:
        raise ImportProblem(
            "holds no MMTests results",
            where=str(path),
            todo="name a run (it holds iter-0), or the folder of runs (work/log)",
        )
    known = [folder for folder in found if reader_of(folder.benchmark)]
    if not known:
        names = ", ".join(sorted({folder.benchmark for folder in found}))
        raise ImportProblem(f"no reader for {names}", where=str(path), todo=f"benchmarks that are read: {KNOWN}")
    columns = _columns(known)
    place = {name: position for position, name in enumerate(columns)}
    known.sort(key=lambda folder: place[folder.column])  # stable: benchmarks and blocks stay in their order
    series = tuple(series for folder in known for series in _read(folder))
    return Import(FORMAT, str(path), columns, series, notes=tuple(_notes(found)))


def _columns(known: Iterable[Folder]) -> tuple[str, ...]:
    times: dict[str, list[Path]] = {}
    for folder in known:
        times.setdefault(folder.column, []).append(folder.times)
    return tuple(column_order({name: dict.fromkeys(files) for name, files in times.items()}))


def _read(folder: Folder) -> Iterator[Series]:
    reader = reader_of(folder.benchmark)
    rows = reader(folder.logs) if reader else []
    if not rows:
        raise ImportProblem(
            f"no log of {folder.benchmark}",
            where=str(folder.logs),
            todo="the benchmark left none, so it failed or the copy is not whole; leave its folder out",
        )
    for row in rows:
        yield Series(
            column=folder.column,
            workload=folder.benchmark,
            metric=row.scale.metric,
            unit=row.scale.unit,
            direction=row.scale.direction,
            parameters=row.parameters,
            values=row.values,
            source=str(row.file),
            label=row.label,
            block=folder.block,
            decimals=row.scale.decimals,
        )


def _notes(found: Sequence[Folder]) -> Iterator[str]:
    unknown = sorted({folder.benchmark for folder in found if not reader_of(folder.benchmark)})
    if unknown:
        yield f"left out, no reader: {', '.join(unknown)}"
    iterations = {folder.logs.parents[1] for folder in found if folder.logs.name == "logs"}
    if any(inner.is_file() and not inner.name.startswith("tests-") for path in iterations for inner in path.iterdir()):
        yield "left out: files beside the benchmarks' folders, such as monitors and dmesg"
