"""Results of lkp-tests: ``matrix.json``, the figures of all runs of a kernel, in lkp's tree of results::

    TEST/PARAMETERS/MACHINE/ROOTFS/KCONFIG/COMPILER/COMMIT/matrix.json
        {"hackbench.throughput": [312.5, 310.1], …, "stats_source": ["/…/0/stats.json", "/…/1/stats.json"]}

``stats_source`` names the run of each place in the lists. A commit is a column, and a run a block. The matrix of a
compiler's folder repeats the runs of its commits, so each run is read once, from the smallest matrix.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from schedlab.importers.text import document
from schedlab.importers.trees import named
from schedlab.notation.units import counted
from schedlab.results.imported import Import, ImportProblem, Series
from schedlab.results.metrics import MetricSpec
from schedlab.workloads.json_logs import Object, items, load, number
from schedlab.workloads.log_reader import Log, natural

FORMAT = "lkp"
_NAME = "matrix.json"
_SOURCES = "stats_source"
_LEVELS = ("testcase", "job", "tbox_group", "rootfs", "kconfig", "compiler", "commit", "run")
"""Folders above a ``stats.json`` (lkp-tests, ``lib/result.rb``); ``job`` are the parameters of the benchmark."""
_SURROUNDINGS = _LEVELS[2:6]
"""Levels that are parameters only where the runs of an import differ."""
_INCOMPLETE = "last_state.is_incomplete_run"
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class _Run:
    """A run: its levels, its place in the lists of a matrix, and the matrix with its file."""

    levels: Mapping[str, str]
    place: int
    matrix: Object
    file: Path

    def value(self, key: str) -> float | None:
        """Return the figure of a key. lkp fills missing figures of earlier runs with 0 (``add_stats_to_matrix``)."""
        values = items(self.matrix[key])[self.place : self.place + 1]
        return number(values[0]) or None if values else None


def looks_like(path: Path) -> bool:
    """Return whether a path is a matrix of several runs, or a folder that contains one."""
    files = [path] if path.is_file() else named(path, _NAME)
    return any(_matrix(file) is not None for file in files)


def _matrix(file: Path) -> str | None:
    """Return the text of a matrix of several runs; None for any other file."""
    try:
        with file.open("rb") as opened:
            begins_with_brace = opened.read(1) == b"{"
        text = document(file).text if begins_with_brace else ""
    except (OSError, ImportProblem):
        return None
    return text if f'"{_SOURCES}"' in text else None


def read(path: Path) -> Import:
    """Return the figures of all runs at or below ``path``; ImportProblem with the file that cannot be read."""
    notes = [] if path.is_file() else [f"{path}: left out: all files except {_NAME} of several runs"]
    runs = _runs(path)
    complete = [run for run in runs if _INCOMPLETE not in run.matrix or not run.value(_INCOMPLETE)]
    if len(complete) < len(runs):
        notes.append(f"{path}: left out: {counted(len(runs) - len(complete), 'run')} that lkp marks as incomplete")
    if not complete:
        raise ImportProblem("contains no complete run", where=str(path), todo="run the benchmark again")
    varied = {level for level in _SURROUNDINGS if len({run.levels.get(level) for run in complete}) > 1}
    directed, undirected = list[Series](), list[Series]()
    blocks: dict[tuple[tuple[str, str], ...], int] = {}
    missing = list[str]()
    for run in complete:
        levels = {level: value for level, value in run.levels.items() if level != "run"}
        block = blocks[tuple(levels.items())] = blocks.get(tuple(levels.items()), 0) + 1
        parameters = {level: value for level, value in levels.items() if level == "job" or level in varied}
        for key in run.matrix:
            spec = _spec(key)
            if (value := run.value(key)) is not None:
                (directed if spec else undirected).append(_series(run, key, spec, value, parameters, block))
            elif spec:
                missing.append(key)
    if missing:
        notes.append(f"{path}: left out: {counted(len(missing), 'figure')} of 0, as lkp writes missing figures")
    columns = sorted({series.column for series in (*directed, *undirected)}, key=natural)
    return Import(FORMAT, str(path), tuple(columns), tuple(directed), notes=tuple(notes), undirected=tuple(undirected))


def _series(
    run: _Run, key: str, spec: MetricSpec | None, value: float, parameters: Mapping[str, str], block: int
) -> Series:
    spec = spec or MetricSpec(key, "", "lower")
    commit = run.levels["commit"]
    return Series(
        column=commit[:12] if _COMMIT.fullmatch(commit) else commit,
        workload=run.levels["testcase"],
        metric=spec.name,
        unit=spec.unit,
        direction=spec.direction,
        parameters=parameters,
        values=np.array([value]),
        source=str(run.file),
        block=block,
    )


def _runs(path: Path) -> list[_Run]:
    """Return each run once, from the matrix with the fewest runs, in the order of commits and runs."""
    matrices = []
    for file in [path] if path.is_file() else named(path, _NAME):
        if (text := _matrix(file)) is None:
            continue
        log = Log(str(file), text)
        matrix = load(log)
        sources = items(matrix.get(_SOURCES))
        if not sources or not all(isinstance(source, str) for source in sources):
            raise log.problem(f"has no list of texts “{_SOURCES}”", todo="import lkp's matrix.json as it was written")
        matrices.append((sources, matrix, file))
    runs: dict[str, _Run] = {}
    for sources, matrix, file in sorted(matrices, key=lambda each: len(each[0])):
        if len(set(sources)) < len(sources):
            raise ImportProblem("names a run twice", where=str(file), todo="unite the runs again with lkp")
        for place, source in enumerate(sources):
            runs.setdefault(source, _Run(_levels(source, file), place, matrix, file))
    return sorted(runs.values(), key=lambda run: [natural(value) for value in run.levels.values()])


def _levels(source: str, file: Path) -> Mapping[str, str]:
    folders = source.split("/")[:-1]
    if len(folders) < len(_LEVELS) or not folders[-1].isdecimal():
        todo = f"lkp's runs are in {'/'.join(_LEVELS).upper()}"
        raise ImportProblem(f"the run {source[:80]!r} is in no tree of lkp", where=str(file), todo=todo)
    return dict(zip(_LEVELS, folders[-len(_LEVELS) :], strict=True))


@cache
def _known() -> Sequence[tuple[re.Pattern[str], str, str]]:
    table = tomllib.loads(Path(__file__).with_name("lkp.toml").read_text(encoding="utf-8"))
    return [(re.compile(pattern), unit, better) for pattern, unit, better in table["metrics"]]


@cache
def _spec(key: str) -> MetricSpec | None:
    """Return the metric of a key; None if its better direction is not known."""
    for pattern, unit, better in _known():
        if match := pattern.fullmatch(key):
            stated = match["unit"] if "unit" in pattern.groupindex else unit
            return MetricSpec(key, stated, "lower" if better == "lower" else "higher")
    return None
