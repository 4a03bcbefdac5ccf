"""Limits of paths and functions, such as ``pipe-round > 1%``: the gate of ``schedlab cost --fail-on``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schedlab.analysis.verdicts import Word
from schedlab.findings.cost import Cost
from schedlab.findings.functions import Functions
from schedlab.notation.units import parse_share

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
