"""The history of a store: the level of each row of each machine over all runs, and where it changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Engine

from schedlab.analysis.history import ChangePoint, change_points, level
from schedlab.findings.settings import settings_of
from schedlab.notation.units import counted
from schedlab.results.kinds import IMPORTED
from schedlab.results.metrics import Direction
from schedlab.results.words import Word
from schedlab.store.columns import read_cells
from schedlab.store.reader import Run


class SeriesKey(NamedTuple):
    """What all runs of a series have in common. ``parameters`` and ``settings`` (of the variant) are canonical JSON."""

    machine: str
    experiment: str
    workload: str
    parameters: str
    metric: str
    unit: str
    direction: Direction
    variant: str
    settings: str

    @property
    def identity(self) -> str:
        """A name for files and links, which depends on the key alone."""
        return sha256(json.dumps(self).encode()).hexdigest()[:16]

    @property
    def row(self) -> str:
        """The workload with its parameters."""
        values: Mapping[str, object] = json.loads(self.parameters)
        return " ".join([self.workload, *(f"{name}={value}" for name, value in values.items())])

    @property
    def text(self) -> str:
        """Every part, for searching."""
        return " ".join((self.machine, self.experiment, self.row, self.metric, self.unit, self.variant, self.identity))

    def matches(self, word: str) -> bool:
        """Whether the text contains a word, in any case; a word with ``=`` must be a whole parameter."""
        text = self.text.casefold()
        return word.casefold() in (text.split() if "=" in word else text)


@dataclass(frozen=True)
class Point:
    """The level of a run with its 95 % interval, which is nan after a single block.

    Attributes:
        started: seconds since 1970, UTC, of the measurement; if not ``dated``, of the import.
        kernel: empty if unknown.
        name: name of an imported column, which differs from point to point; empty for measured runs.
        dated: whether the date of the measurement is known.
    """

    run: int
    started: float
    kernel: str
    value: float
    low: float
    high: float
    blocks: int
    name: str = ""
    dated: bool = True


@dataclass(frozen=True)
class Series:
    """The levels of a key, oldest first, and their change points. See :func:`in_order`.

    ``shown``: indices of the points that first showed the changes for the worse, by the index of the change.
    """

    key: SeriesKey
    points: Sequence[Point]
    changes: Sequence[ChangePoint]
    shown: Mapping[int, int] = field(default_factory=dict)

    def word(self, change: ChangePoint) -> Word:
        """Whether a change is for the better."""
        is_better = (change.after > change.before) == (self.key.direction == "higher")
        return Word.BETTER if is_better else Word.WORSE


IMPORTS = "imported results"
"""The experiment of all imported runs."""

NO_MACHINE = "a machine that is not named"
"""The machine of imported runs whose source names none. Runs of several machines may be among them."""

ANY_KERNEL = "the kernel"
"""The variant of imported columns that are called after their kernel alone."""

_KERNEL_NAME = re.compile(r"\Av?\d+\.\d+(?:\.\d+)*(?:-rc\d+)?(?:-next-\d{8})?(?![\w.])")
_DATE_NAME = re.compile(r"(?<![0-9A-Za-z])(?:19|20)\d\d-?[01]\d-?[0-3]\d(?![0-9A-Za-z])")
_ITERATION_NAME = re.compile(r"(?<![A-Za-z])(?:iter|iteration|run|repeat|block)[-_.]?\d+$", re.IGNORECASE)


def machine_of(run: Run) -> str:
    """Describe a run's machine without its kernel, which changes in a series: target, name, CPUs, model."""
    if run.kind == IMPORTED:
        return str((run.fingerprint.get("kernel") or {}).get("hostname") or NO_MACHINE)
    return machine_description(run.target, run.fingerprint)


def variant_of(column: str) -> str:
    """Return the variant of an imported column: its name without a kernel's release at its beginning, without a date
    and without the number of an iteration, so that ``6.1-vanilla`` and ``6.2-vanilla`` are points of one series."""
    rest, kernels = _KERNEL_NAME.subn("", column)
    rest = _ITERATION_NAME.sub("", _DATE_NAME.sub("", rest)).strip("-_./: ")
    return rest or (ANY_KERNEL if kernels else IMPORTS)


def machine_description(target: str, facts: Mapping[str, Any]) -> str:
    """Return :func:`machine_of` for a target and its fingerprint."""
    cpus = (facts.get("topology") or {}).get("cpus")
    parts = (
        _split(target)[0],
        (facts.get("kernel") or {}).get("hostname"),
        counted(cpus, "CPU") if cpus else None,
        (facts.get("cpu") or {}).get("model"),
    )
    return ", ".join(str(part) for part in parts if part)


def kernel_of(run: Run) -> str:
    """The kernel that the run began on: its release, or the kernel that the target names; empty if unknown."""
    return _split(run.target)[1] or str((run.fingerprint.get("kernel") or {}).get("release") or "")


def _split(target: str) -> tuple[str, str]:
    """Return a target without its kernel, and its kernel: ``vm:KERNEL@TOPOLOGY``, ``sim:MACHINE/KERNEL``."""
    if target.startswith("vm:"):
        kernel, at, topology = target.removeprefix("vm:").partition("@")
        return f"vm:{at}{topology}", kernel
    if target.startswith("sim:"):
        machine, _, kernel = target.partition("/")
        return machine, kernel
    return target, ""


def _settings(run: Run) -> dict[str, str]:
    """Return the settings of each variant in the run's experiment as canonical JSON, without its description.

    A variant that keeps its name and changes its settings is another variant.
    """
    return {
        name: json.dumps(
            {key: value for key, value in table.items() if key != "description"}, sort_keys=True, default=str
        )
        for name, table in settings_of(run).items()
    }


def belongs(run: Run) -> bool:
    """Whether a run is part of histories: complete, of full size, and of variants that an experiment file names, or
    imported with samples."""
    design = run.design
    if run.kind == IMPORTED:
        return bool(design.questions)
    is_search = design.bisection or design.sweep or design.tuning or design.candidate
    return run.state == "complete" and design.paired and not run.quick and not is_search


def keys_of(run: Run) -> list[SeriesKey]:
    """Return the series that a run is part of: each row under each variant except the A/A control."""
    if not belongs(run):
        return []
    machine, settings = machine_of(run), _settings(run)
    is_import = run.kind == IMPORTED
    return [
        SeriesKey(
            machine,
            IMPORTS if is_import else run.name,
            row.workload,
            row.parameters,
            row.metric,
            row.unit,
            row.direction,
            variant_of(variant) if is_import else variant,
            settings.get(variant, ""),
        )
        for row in run.design.questions
        for variant in run.design.variants
        if variant != run.design.control
    ]


def points_of(engine: Engine, run: Run) -> dict[SeriesKey, Point]:
    """Return the run's level in each of its series; a row without values has none."""
    keys = keys_of(run)
    if not keys:
        return {}
    blocks: dict[tuple[str, ...], list[float]] = {}
    for cell in read_cells(engine, run, samples=False):
        measured = cell.values[np.isfinite(cell.values)]
        if len(measured):
            row = cell.workload, cell.parameters, cell.metric, cell.variant
            blocks.setdefault(row, []).append(float(measured.mean()))
    kernel, points = kernel_of(run), {}
    is_import = run.kind == IMPORTED
    for key in keys:
        variant = run.design.variants[0] if is_import else key.variant
        values = blocks.get((key.workload, key.parameters, key.metric, variant))
        if values:
            of_run = level(values)
            points[key] = Point(
                run.id, run.started, kernel, of_run.value, of_run.low, of_run.high, len(values),
                run.name if is_import else "", run.is_dated,
            )  # fmt: skip
    return points


def series_of(key: SeriesKey, points: Iterable[Point]) -> Series:
    """Order the points, and find the change points."""
    ordered = in_order(point for point in points if isfinite(point.value))
    return Series(key, ordered, change_points([point.value for point in ordered]))


def in_order(points: Iterable[Point]) -> list[Point]:
    """Return points in the order of their time; in the order of their runs if a point has no date."""
    listed = list(points)
    if all(point.dated for point in listed):
        return sorted(listed, key=lambda point: (point.started, point.run))
    return sorted(listed, key=lambda point: point.run)


def starts(changes: Sequence[ChangePoint]) -> Iterator[tuple[int, ChangePoint]]:
    """Yield each change with the index of the change before, or 0."""
    return zip([0, *(change.index for change in changes)], changes, strict=False)


def histories(engine: Engine, runs: Iterable[Run], words: Sequence[str] = ()) -> list[Series]:
    """Return the series that match all the words, in the order of their keys."""
    by_key: dict[SeriesKey, list[Point]] = {}
    for run in runs:
        keys = {key for key in keys_of(run) if all(map(key.matches, words))}
        if keys:
            for key, point in points_of(engine, run).items():
                if key in keys:
                    by_key.setdefault(key, []).append(point)
    return [series_of(key, by_key[key]) for key in sorted(by_key)]
