"""The instructions of kernel paths as one HTML page: a heat map of paths and columns."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from schedlab.findings.cache import Cache
from schedlab.findings.cost import Cell, Cost
from schedlab.findings.functions import Functions
from schedlab.report import cache as by_line
from schedlab.report import functions as by_function
from schedlab.report.cost import head, notes, text_of
from schedlab.report.render.html.legacy import environment, policy, text
from schedlab.results.words import Word

FULL = 0.1
"""Change with the strongest colour; larger changes look the same."""


@dataclass(frozen=True)
class Square:
    """A cell of the heat map: its text, the word that chooses its colour, the strength from 0 to 1, and all seeds."""

    text: str
    word: str
    strength: float
    seeds: str


def render(cost: Cost, functions: Functions | None = None, cache: Cache | None = None) -> str:
    """Return the page; it needs no other file, no network and no script."""
    squares = {path: [_square(cost.cells[path, name], cost) for name in cost.columns] for path in cost.paths}
    return (
        environment()
        .get_template("cost.html.j2")
        .render(
            cost=cost,
            head=head(cost),
            squares=squares,
            notes=list(notes(cost, cache)),
            functions={path: by_function.rows(functions, path) for path in cost.paths} if functions else {},
            function_notes=list(by_function.notes(functions)) if functions else [],
            lines={"head": by_line.head(cache), "rows": list(by_line.rows(cache))} if cache else None,
            waits={path: by_function.rows(cache.waits, path) for path in cost.paths} if cache else {},
            line_notes=list(by_line.notes(cache)) if cache else [],
            full=FULL,
            style=Markup(text("report.css")),
            policy=policy(),
        )
    )


def _square(cell: Cell, cost: Cost) -> Square:
    share = cell.share if cell.column in cost.against else None
    seeds = ", ".join(f"{value:,.10g}" for _, value in sorted(cell.values.items()))
    word = "" if not share else Word.WORSE if share > 0 else Word.BETTER
    return Square(text_of(cell, cost), word, min(abs(share or 0.0) / FULL, 1.0), seeds)
