"""The cache lines of kernel paths on a machine model, as text and as JSON (documented in ``docs/exact-cost.md``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from schedlab.findings.cache import Cache
from schedlab.report import functions as by_function
from schedlab.report.numbers import change
from schedlab.report.render.columns import Column, Columns


def head(cache: Cache) -> list[str]:
    """Return the titles of the columns: path, kernel, sources of lines, and predicted times."""
    return ["path", "kernel", *cache.sources, "instructions, ns", "lines, ns", "predicted, ns", "change"]


def rows(cache: Cache) -> Iterator[Sequence[str]]:
    """Yield the cells of each path and column."""
    for (path, column), cell in cache.cells.items():
        share = cache.share(path, column)
        counts = [f"{cell.sources[source]:,.1f}" for source in cache.sources]
        times = [f"{ns:,.0f}" for ns in (cell.instructions_ns, cell.lines_ns, cell.ns)]
        yield [path, column, *counts, *times, "" if share is None else change(1 + share)]


def render(cache: Cache) -> RenderableType:
    """Return the table of paths, and a table of functions for each path."""
    cells = list(zip(*rows(cache), strict=True)) or [() for _ in head(cache)]
    columns = [
        Column(title, [Text(text) for text in texts], "name") if title in ("path", "kernel") else
        Column(title, [Text(text) for text in texts])
        for title, texts in zip(head(cache), cells, strict=True)
    ]  # fmt: skip
    return Group(
        Text(f"cache lines of one operation on {cache.machine}, by source"),
        Text(),
        Columns(columns),
        Text(),
        *map(Text, notes(cache)),
        by_function.render(cache.waits),
        Text(),
        Text("Nanoseconds in which functions wait for lines."),
    )


def notes(cache: Cache) -> Iterator[str]:
    """Yield the remarks below the table."""
    yield "Lines: means over the middle half of the operations and over the random seeds."
    yield f"Predicted: instructions by the time per instruction of {cache.machine}, lines by their source's latency."
    yield "A store to a line that other caches have counts as a line of the farthest of them."
    yield "Instruction fetches and page tables are not counted."


def to_json(cache: Cache, path: str, column: str) -> dict[str, Any]:
    """Return the fields of a path and column: lines by source, predicted times, and waits by function."""
    cell = cache.cells.get((path, column))
    if cell is None:
        return {"cache": None}
    waits = by_function.to_json(cache.waits, path, column)
    return {
        "cache": {
            "machine": cache.machine,
            "lines": dict(cell.sources),
            "instructions_ns": cell.instructions_ns,
            "lines_ns": cell.lines_ns,
            "ns": cell.ns,
            "share": cache.share(path, column),
            "functions": [
                {"name": each["name"], "ns": each["instructions"], "difference": each["difference"]}
                for each in waits["functions"]
            ],
        }
    }
