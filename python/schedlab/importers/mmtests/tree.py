"""Where a result tree keeps its logs: runs hold iterations, iterations hold benchmarks, benchmarks hold ``logs``.

::

    log/                         a folder of runs, as run-mmtests.sh leaves it
    ├── 6.1-vanilla/             a run: one column
    │   ├── iter-0/              an iteration: one block
    │   │   ├── tests-timestamp
    │   │   └── tbench/logs/
    │   └── iter-1/...
    └── 6.1-patched/...

Until 2018 a folder held ``tbench4-4.5.0-vanilla/noprofile`` instead: benchmark and run in one name, no iterations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from schedlab.importers.mmtests.benchmarks import reader_of
from schedlab.importers.mmtests.logs import natural

_ITERATION = re.compile(r"iter-(\d+)")


@dataclass(frozen=True)
class Folder:
    """The logs of one benchmark in one iteration of a run; ``block`` counts from 1, ``times`` may tell the start."""

    column: str
    block: int
    benchmark: str
    logs: Path
    times: Path


def folders(path: Path) -> list[Folder]:
    """Every folder of logs at or under ``path``, which may be any level of a tree; empty where it is no tree.

    Errors:
        OSError: ``path`` cannot be read.
    """
    path = path.resolve()
    for level in (_run, _runs, _old_runs, _iteration, _benchmark, _logs, _work):
        if found := sorted(level(path), key=_order):
            return found
    return []


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
    """``hackbench-pipes-4.5.0-vanilla`` is benchmark and run: the longest head that is a benchmark's whole name."""
    for dash in reversed([match.start() for match in re.finditer("-", name)]):
        # A run begins with a kernel's version wherever the name does not end at a benchmark's own.
        if reader_of(name[:dash]) and (name[dash + 1].isdigit() or not re.search(r"-\d", name[:dash])):
            return name[:dash], name[dash + 1 :]
    benchmark, _, run = name.partition("-")
    return benchmark, run or name


def _work(path: Path) -> Iterator[Folder]:
    """MMTests' own folder, which keeps its runs in ``work/log``."""
    for logs in (path / "work" / "log", path / "log"):
        if logs.is_dir():
            yield from _runs(logs)


def _children(path: Path) -> list[Path]:
    return sorted((inner for inner in path.iterdir() if inner.is_dir()), key=lambda inner: natural(inner.name))
