"""The instructions of kernel functions, path by path, as text and as JSON (documented in ``docs/exact-cost.md``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from schedlab.findings.functions import Functions, Line
from schedlab.report.render.columns import Column, Columns

SHOWN = 12
"""Functions of a path in a text or page; JSON and folded stacks have all functions."""


@dataclass(frozen=True)
class Row:
    """A line of a path's table: a name, and a text and a sign (1, 0, −1) for each column."""

    name: str
    texts: Sequence[str]
    signs: Sequence[int]


def rows(functions: Functions, path: str) -> list[Row]:
    """Return the lines of a path: user code, the kernel, its functions that differ most, and the rest of the kernel."""
    lines = functions.lines(path)
    if any(line.differences for line in lines):
        lines = [line for line in lines if line.size]
    first, rest = lines[:SHOWN], lines[SHOWN:]
    named = [("user", functions.user(path)), ("kernel", functions.kernel(path)), *((f"  {x.name}", x) for x in first)]
    if rest:
        named.append((f"  {len(rest)} other functions", _sum(rest)))
    return [_row(name, line, functions) for name, line in named]


def _sum(lines: Sequence[Line]) -> Line:
    def added(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
        return {name: sum(part[name] for part in parts) for name in parts[0]}

    return Line("", added([line.values for line in lines]), added([line.differences for line in lines]))


def _row(name: str, line: Line, functions: Functions) -> Row:
    texts, signs = [], []
    for column in functions.columns:
        difference = line.differences.get(column)
        # Sums of nanoseconds differ in their last bits.
        difference = None if difference is None else round(difference, 6)
        if column not in line.values:
            text = "-"
        elif difference is None:
            text = f"{round(line.values[column], 6):,.10g}"
        else:
            text = (f"{difference:+,.10g}" if difference else "0") + _more_calls(
                line, functions.against[column], column
            )
        texts.append(text)
        signs.append(0 if not difference else 1 if difference > 0 else -1)
    return Row(name, texts, signs)


def _more_calls(line: Line, compared: str, column: str) -> str:
    """Return the difference in calls, such as `` (+1 call)``; empty for equally many calls."""
    more = round(line.calls.get(column, 0.0) - line.calls.get(compared, 0.0), 6)
    return f" ({more:+,.10g} {'call' if abs(more) == 1 else 'calls'})" if more else ""


def render(functions: Functions) -> RenderableType:
    """Return a table for each path."""
    return Group(*(part for path in functions.paths for part in (Text(), _table(functions, path))))


def _table(functions: Functions, path: str) -> RenderableType:
    lines = rows(functions, path)
    styles = {1: "red", 0: "", -1: "green"}
    columns = [Column(path, [Text(row.name) for row in lines], "remark")]  # not folded within names
    for number, name in enumerate(functions.columns):
        cells = [Text(row.texts[number], style=styles[row.signs[number]]) for row in lines]
        columns.append(Column(name.replace(" ", "\n", 1), cells))
    return Columns(columns)


def notes(functions: Functions) -> Iterator[str]:
    """Yield the remarks on the tables of functions."""
    yield "Functions: the median operation, counted by a plug-in; means over the random seeds."
    if functions.against:
        yield f"The {SHOWN} functions with the largest differences are shown, without functions that do not differ."


def to_json(functions: Functions, path: str, column: str) -> dict[str, Any]:
    """Return the fields of a path and column: user code, the kernel, and each function by name."""
    user, kernel = (line.values.get(column) for line in (functions.user(path), functions.kernel(path)))
    lines = sorted(functions.lines(path), key=lambda line: line.name)
    return {
        "user": user,
        "kernel": kernel,
        "functions": [
            {
                "name": line.name,
                "instructions": line.values[column],
                "difference": line.differences.get(column),
                "calls": line.calls.get(column),
            }
            for line in lines
            if line.values.get(column) or line.differences.get(column)
        ],
    }
