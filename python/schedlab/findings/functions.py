"""Instructions and calls of kernel functions in the paths of a stored run of ``schedlab cost --functions``; limits.

Limits of paths and functions, such as ``pipe-round > 1%``, are the gate of ``schedlab cost --fail-on``.

The figures of a path and column are means over the random seeds. A function that one seed lacks counts 0 there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl
from sqlalchemy import Engine

from schedlab.findings.cost import Cost, Sums, label
from schedlab.notation.units import parse_share
from schedlab.results.instructions import CALLS, KERNEL, USER
from schedlab.results.words import Word
from schedlab.store import reader

Figures = Mapping[str, float]
"""Instructions by counter: :data:`~schedlab.results.instructions.USER`, and functions with the prefix ``KERNEL``."""


_INSTRUCTIONS = (USER, KERNEL)

_DIGITS = 6
"""Decimals of sums, which differ in their last bits."""

_Reading = Callable[[Figures], float]


@dataclass(frozen=True)
class Line:
    """A function, or the user code, in the columns of one path.

    Attributes:
        name: the function, or ``user``, ``kernel`` and ``N other functions`` for sums.
        values: mean instructions by column; columns that were not measured are left out.
        differences: by compared column.
        calls: mean calls of the function by column; empty for a sum of functions.
    """

    name: str
    values: Mapping[str, float]
    differences: Mapping[str, float]
    calls: Mapping[str, float] = field(default_factory=dict)

    @property
    def size(self) -> float:
        """Largest absolute difference; without a compared column, the largest number of instructions."""
        return max(map(abs, (self.differences or self.values).values()), default=0.0)

    def more_calls(self, column: str, compared: str) -> float:
        """Return the difference in calls between two columns."""
        return round(self.calls.get(column, 0.0) - self.calls.get(compared, 0.0), _DIGITS)


@dataclass(frozen=True)
class Functions:
    """Mean instructions by path, column and counter, and calls by path, column and function."""

    paths: Sequence[str]
    columns: Sequence[str]
    against: Mapping[str, str]
    figures: Mapping[tuple[str, str], Figures]
    calls: Mapping[tuple[str, str], Mapping[str, float]] = field(default_factory=dict)

    def sums(self, path: str) -> tuple[Line, Line]:
        """Return the lines of all user code, and of all functions of the kernel."""
        user = self._line("user", path, lambda figures: figures.get(USER, 0.0))
        return user, self._line("kernel", path, lambda figures: sum(figures.values()) - figures.get(USER, 0.0))

    def lines(self, path: str) -> list[Line]:
        """Return the kernel's functions: the largest differences first, or without a compared column the largest."""
        measured = [self.figures.get((path, column), {}) for column in self.columns]
        names = sorted({name.removeprefix(KERNEL) for figures in measured for name in figures if name != USER})
        lines = [replace(self._line(name, path, _reading(name)), calls=self._calls(name, path)) for name in names]
        return sorted(lines, key=lambda line: (-line.size, line.name))

    def by_name(self, path: str) -> list[Line]:
        """Return the kernel's functions in the order of their names."""
        return sorted(self.lines(path), key=lambda line: line.name)

    def table(self, path: str, most: int) -> list[Line]:
        """Return the lines of a path's table: user code, the kernel, its ``most`` functions that differ most (without a
        compared column: the largest), and the sum of the others."""
        lines = self.lines(path)
        if any(line.differences for line in lines):
            lines = [line for line in lines if line.size]
        rest = lines[most:]
        return [*self.sums(path), *lines[:most], *([_sum(rest)] if rest else [])]

    def executed(self, name: str) -> bool:
        """Return whether any column executes this function of the kernel."""
        return any(figures.get(KERNEL + name) for figures in self.figures.values())

    def _calls(self, name: str, path: str) -> dict[str, float]:
        return {
            column: self.calls[path, column].get(name, 0.0) for column in self.columns if (path, column) in self.calls
        }

    def _line(self, name: str, path: str, value: _Reading) -> Line:
        values = {
            column: round(value(self.figures[path, column]), _DIGITS)
            for column in self.columns
            if (path, column) in self.figures
        }
        differences = {
            column: round(values[column] - values[other], _DIGITS)
            for column, other in self.against.items()
            if column in values and other in values
        }
        return Line(name, values, differences)


def _sum(lines: Sequence[Line]) -> Line:
    def added(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
        return {name: round(sum(part[name] for part in parts), _DIGITS) for name in parts[0]}

    others = f"{len(lines)} other functions"
    return Line(others, added([line.values for line in lines]), added([line.differences for line in lines]))


def _reading(name: str) -> _Reading:
    return lambda figures: figures.get(KERNEL + name, 0.0)


def functions(engine: Engine, cost: Cost) -> Functions:
    """Return the functions of a run; without figures if the run did not count by function."""
    counters = reader.counters(engine, cost.run.id)
    means = {cell: _mean(seeds) for cell, seeds in _by_seed(counters, _INSTRUCTIONS).items() if cell[1] in cost.columns}
    calls = {
        cell: {name.removeprefix(CALLS): count for name, count in _mean(seeds).items()}
        for cell, seeds in _by_seed(counters, (CALLS,)).items()
        if cell[1] in cost.columns
    }
    return Functions(cost.paths, cost.columns, cost.against, means, calls)


def sums(engine: Engine, run: int) -> Sums:
    """Return the instructions of user code and all functions of a stored run."""
    return {
        cell: {block: sum(figures.values()) for block, figures in seeds.items()}
        for cell, seeds in _by_seed(reader.counters(engine, run), _INSTRUCTIONS).items()
    }


def _by_seed(counters: pl.DataFrame, kind: tuple[str, ...]) -> dict[tuple[str, str], dict[int, dict[str, float]]]:
    """Return counters whose names begin with one of ``kind``, by path and column, then by block."""
    by_seed: dict[tuple[str, str], dict[int, dict[str, float]]] = {}
    for row in counters.iter_rows(named=True):
        name = row["counter"]
        if name.startswith(kind):
            cell = by_seed.setdefault((label(row["parameters"]), row["variant"]), {})
            cell.setdefault(row["block"], {})[name] = row["value"]
    return by_seed


def _mean(seeds: Mapping[int, Figures]) -> Figures:
    names = {name for figures in seeds.values() for name in figures}
    return {name: sum(figures.get(name, 0.0) for figures in seeds.values()) / len(seeds) for name in sorted(names)}


def folded(functions: Functions) -> Iterator[str]:
    """Yield folded stacks, the input of flame graph programs: ``6.12 stats;pipe;kernel;pipe_write 310 318``.

    The frames are the column, the path, ``user`` or ``kernel``, and the function. A line ends with the rounded
    instructions, for a compared column with the instructions of both columns (``difffolded.pl`` of FlameGraph).
    """
    others = [column for column in functions.columns if column in functions.against]
    for column in others or functions.columns:
        for path in functions.paths:
            user, _ = functions.sums(path)
            lines = [("user", user), *((f"kernel;{line.name}", line) for line in functions.lines(path))]
            for frames, line in sorted(lines, key=lambda pair: pair[0]):
                shown = [functions.against[column], column] if column in functions.against else [column]
                counts = [round(line.values.get(each, 0.0)) for each in shown]
                if any(counts):
                    yield f"{column};{path};{frames} {' '.join(map(str, counts))}"


ANY = "any"
"""Name that stands for every path."""


@dataclass(frozen=True)
class Limit:
    """The largest accepted increase of a path or of a kernel function, as a share of the compared column."""

    name: str
    share: float

    @classmethod
    def parse(cls, text: str) -> Limit:
        """Return the limit of a text such as ``pipe-round > 1%``; ValueError for another text."""
        name, sign, share = (part.strip() for part in text.partition(">"))
        if not name or not sign:
            raise ValueError(f"{text!r} is not a limit: write {Word.WORSE}, or for instance 'pipe-round > 1%'")
        return cls(name, parse_share(share))


@dataclass(frozen=True)
class Excess:
    """A path in a column, or a function of the path, that has more instructions than its limit accepts.

    ``function`` is empty for a path. ``share`` is infinite for a function that the compared column does not execute.
    """

    column: str
    path: str
    function: str
    difference: float
    share: float
    limit: Limit


def of_paths(limit: Limit, cost: Cost) -> Iterator[Excess]:
    """Yield the excesses of a path's limit, in the order of the columns."""
    for column in cost.columns:
        for path in cost.paths:
            cell = cost.cells[path, column]
            if limit.name in (path, ANY) and column in cost.against and (cell.share or 0) > limit.share:
                difference = sum(cell.differences) / len(cell.differences)
                yield Excess(column, path, "", difference, cell.share or 0, limit)


def of_functions(limit: Limit, functions: Functions) -> Iterator[Excess]:
    """Yield the excesses of a function's limit, in the order of the columns."""
    for column in functions.columns:
        for path in functions.paths:
            line = next((line for line in functions.lines(path) if line.name == limit.name), None)
            if line is None or line.differences.get(column, 0.0) <= 0:
                continue
            before = line.values[functions.against[column]]
            share = line.differences[column] / before if before else float("inf")
            if share > limit.share:
                yield Excess(column, path, limit.name, line.differences[column], share, limit)
