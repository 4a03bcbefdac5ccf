"""The instructions of kernel paths as text and as JSON (documented in ``docs/exact-cost.md``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from schedlab.findings.cache import Cache
from schedlab.findings.cost import Cell, Cost, disagreeing
from schedlab.findings.functions import Functions
from schedlab.notation.units import counted
from schedlab.report import cache as by_line
from schedlab.report import functions as by_function
from schedlab.report.numbers import change
from schedlab.report.render.columns import Column, Columns
from schedlab.report.words import CONTROL, listed


def to_json(cost: Cost, functions: Functions | None = None, cache: Cache | None = None) -> dict[str, Any]:
    """Return the fields of the JSON object; seeds are numbered by block, and null stands for a missing figure."""

    def counts(path: str, name: str) -> dict[str, Any]:
        counted = by_function.to_json(functions, path, name) if functions else {}
        return counted | (by_line.to_json(cache, path, name) if cache else {})

    return {
        "run": cost.run.id,
        "target": cost.run.target,
        "kind": cost.run.kind,
        "seed": cost.run.seed,
        "loops": cost.loops,
        "unit": "instructions",
        "columns": [
            {"name": name, "compared_with": cost.against.get(name), "title": cost.titles.get(name)}
            for name in cost.columns
        ],
        "paths": [
            {
                "path": path,
                "columns": [_cell(cost.cells[path, name]) | counts(path, name) for name in cost.columns],
                "control": next((_cell(cell) for cell in cost.control if cell.path == path), None),
            }
            for path in cost.paths
        ],
    }


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        "name": cell.column,
        "instructions": cell.mean,
        "by_seed": [{"block": seed, "instructions": value} for seed, value in sorted(cell.values.items())],
        "differences": cell.differences,
        "share": cell.share,
        "exact": cell.exact,
    }


def render(cost: Cost, functions: Functions | None = None, cache: Cache | None = None) -> RenderableType:
    """Return the table with its notes: a line for each path, a column for each kernel and variant.

    With ``functions``, a table of each path follows, and with ``cache`` the tables of cache lines.
    """
    columns = [Column("path", [Text(path) for path in cost.paths], "name")]
    columns += [
        Column(name.replace(" ", "\n", 1), [_text(cost.cells[path, name], cost) for path in cost.paths])
        for name in cost.columns
    ]
    return Group(
        Text(head(cost)),
        Text(),
        Columns(columns),
        Text(),
        *map(Text, notes(cost, cache)),
        *([by_function.render(functions), Text(), *map(Text, by_function.notes(functions))] if functions else []),
        *([Text(), by_line.render(cache)] if cache else []),
    )


def head(cost: Cost) -> str:
    """Return what the figures are: unit, operations, random seeds and CPUs."""
    seeds = counted(cost.run.design.blocks, "random seed")
    cpus = cost.run.target.rpartition("@")[2]
    return f"instructions of one operation: median of {cost.loops}, {seeds}, CPUs {cpus}"


def _text(cell: Cell, cost: Cost) -> Text:
    is_change = cell.column in cost.against and cell.share and any(cell.differences)
    style = "dim" if cell.mean is None else "" if not is_change else "red" if (cell.share or 0) > 0 else "green"
    return Text(text_of(cell, cost), style=style)


def text_of(cell: Cell, cost: Cost) -> str:
    """Return a figure, or for a compared column the difference: ``+240 (+1.7 %)``.

    ``~`` precedes figures that depend on the random seed, ``?`` differences under a single seed.
    """
    if cell.mean is None:
        return "-"
    if cell.column not in cost.against:
        spread = "" if len(set(cell.values.values())) == 1 else "~"
        return f"{spread}{cell.mean:,.0f}"
    if cell.share is None:
        return f"{cell.mean:,.0f}"
    low, high = min(cell.differences), max(cell.differences)
    if low == high:
        size = f"{low:+,.10g}"
    else:
        # The seeds differ by more than a fraction of an instruction, so whole instructions are enough.
        size = "~" + " … ".join(dict.fromkeys(f"{round(bound):+,}" for bound in (low, high)))
    size = size if len(cell.differences) > 1 else f"?{size}"
    return "0" if cell.exact and not low else f"{size} ({change(1 + cell.share)})"


def notes(cost: Cost, cache: Cache | None = None) -> Iterator[str]:
    """Yield the remarks below the table."""
    others = [name for name in cost.columns if name in cost.against]
    if others:
        pairs = [f"{name} with {cost.against[name]}" for name in others]
        yield f"Differences compare {listed(pairs)}."
    yield from (f"{name}: {cost.titles[name]}" for name in cost.columns if name in cost.titles)
    if "none" in cost.paths:
        yield "Each path contains the line 'none': the two readings of the clock and the program's step."
    if any(len(cell.differences) == 1 for cell in cost.cells.values()):
        yield "?: only one random seed has a figure in both columns ('schedlab report --failures')."
    if any(len(set(cell.differences)) > 1 for cell in cost.cells.values()):
        yield "~: the seed changes the figure; the least and the greatest are shown. Other differences are exact."
    if bad := disagreeing(cost.control):
        yield f"The {CONTROL} DIFFERS in {listed([cell.path for cell in bad])}: do not trust these lines."
    elif cost.control:
        yield f"The {CONTROL} repeats {cost.columns[0]}: equal in all {counted(len(cost.control), 'path')}."
    if cache is None:
        yield "Caches, stalls and remote memory are not counted."
