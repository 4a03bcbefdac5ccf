"""What a layout's reader hands back, and the error for a line that spoils a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schedlab.importers.printed.page import Line
from schedlab.results import ImportProblem, Table


@dataclass(frozen=True)
class Found:
    """What was read up to ``page[end]``; no table where the lines turned out to hold none."""

    end: int
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()


def malformed(source: str, line: Line, why: str) -> ImportProblem:
    """A line inside of a table that cannot be read as part of it."""
    return ImportProblem(
        f'a line of a table is malformed: {why}: "{line.text.strip()[:100]}"',
        where=f"{source}:{line.number}",
        todo="mend the line or take it out of the file; a table is imported whole or not at all",
    )


def listing(page: Sequence[Line], first: int, last: int) -> str:
    """The note for figures under a header, from ``page[first]`` to ``page[last]``, that nothing says were measured."""
    where = f"lines {page[first].number}–{page[last].number}"
    why = "nothing in them says that they are results (no run, metric, unit or change)"
    return f"{where} were not read: {why}; --as tables reads them"
