"""Results of criterion, the benchmark library for Rust: a folder for each saved baseline of each benchmark::

    target/criterion/
    └── fib/iter/5/                 a benchmark
        ├── base/                   a baseline: "base", or NAME of --save-baseline NAME
        │   ├── benchmark.json      the name of the benchmark
        │   └── sample.json         the iterations and the time of every sample
        └── new/                    the last run, usually a copy of a baseline

A baseline is a column. A copy is left out, so that no sample counts twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from schedlab.importers.mmtests import column_order
from schedlab.importers.text import document
from schedlab.importers.trees import files, named
from schedlab.notation.units import counted
from schedlab.results.imported import Import, ImportProblem, Series
from schedlab.results.metrics import MetricSpec
from schedlab.workloads.json_logs import Object, load, numbers
from schedlab.workloads.log_reader import Log, floats, natural

FORMAT = "criterion"
_SAMPLES, _BENCHMARK = "sample.json", "benchmark.json"
_TIME = MetricSpec("time", "ns", "lower")
"""Time of an iteration. A sample's ``times`` are nanoseconds of all its iterations (criterion 0.5, ``analysis``)."""
_LAST = "new"
_OWN = frozenset({_SAMPLES, _BENCHMARK, "estimates.json", "tukey.json", "raw.csv"})
_DERIVED = frozenset({"report", "change"})
"""Folders of plots, and of differences to a baseline."""


@dataclass(frozen=True)
class _Saved:
    """The samples of a benchmark in a baseline."""

    file: Path
    benchmark: str
    depth: int
    content: Object

    @property
    def baseline(self) -> str:
        return self.file.parent.name

    @property
    def root(self) -> Path:
        """The folder ``criterion``, above the folders of the benchmark and of the baseline."""
        return self.file.parents[self.depth + 1]


def looks_like(path: Path) -> bool:
    """Return whether a path is a ``sample.json`` beside its ``benchmark.json``, or a folder that contains one."""
    return next(_files(path), None) is not None


def read(path: Path) -> Import:
    """Return the time of an iteration in every sample, by benchmark; ImportProblem with the file that is damaged."""
    notes, copies, series = list[str](), 0, list[Series]()
    read_before: dict[tuple[Path, str], list[Object]] = {}
    all_saved = sorted(map(_saved, _files(path)), key=lambda saved: (saved.baseline == _LAST, natural(saved.baseline)))
    several = len({saved.root for saved in all_saved}) > 1
    for saved in all_saved:
        contents = read_before.setdefault((saved.root, saved.benchmark), [])
        if saved.content in contents:
            copies += 1
            continue
        contents.append(saved.content)
        column = f"{saved.root.relative_to(path.absolute())}/{saved.baseline}" if several else saved.baseline
        series.append(_series(saved, column))
    if copies:
        notes.append(f"{path}: left out: {counted(copies, 'copy', 'copies')} of the samples of another baseline")
    others = [file for file in files(path) if not _is_of_criterion(file.relative_to(path))]
    if others:
        notes.append(f"{path}: left out: {counted(len(others), 'file')} of other tools, such as {others[0]}")
    columns = column_order({each.column: () for each in series})
    return Import(FORMAT, str(path), tuple(columns), tuple(series), notes=tuple(notes))


def _files(path: Path) -> Iterator[Path]:
    found = named(path, _SAMPLES) if path.is_dir() else iter([path] if path.name == _SAMPLES else [])
    return (file for file in found if file.with_name(_BENCHMARK).is_file())


def _is_of_criterion(file: Path) -> bool:
    """Return whether criterion wrote a file: samples and what it derived from them."""
    return file.name in _OWN or not _DERIVED.isdisjoint(file.parts)


def _saved(file: Path) -> _Saved:
    sample, benchmark = _load(file), _load(file.with_name(_BENCHMARK))
    name, folder = benchmark.get("full_id"), benchmark.get("directory_name")
    if not (isinstance(name, str) and name and isinstance(folder, str)):
        fault = "has no “full_id” and “directory_name”"
        raise ImportProblem(fault, where=str(file.with_name(_BENCHMARK)), todo="run cargo bench again")
    return _Saved(file.absolute(), name, folder.count("/") + 1, sample)


def _load(file: Path) -> Object:
    return load(Log(str(file), document(file).text))


def _series(saved: _Saved, column: str) -> Series:
    iterations, times = (numbers(saved.content.get(key)) for key in ("iters", "times"))
    if not times or len(times) != len(iterations) or min(iterations) <= 0 or min(times) < 0:
        fault = "has no time and no number of iterations for each sample"
        raise ImportProblem(fault, where=str(saved.file), todo="run cargo bench again")
    return Series(
        column=column,
        workload=FORMAT,
        metric=_TIME.name,
        unit=_TIME.unit,
        direction=_TIME.direction,
        parameters={"benchmark": saved.benchmark},
        values=floats(times) / floats(iterations),
        source=str(saved.file),
    )
