"""How a column looks wherever it appears: colour, shape and dash together, so that colour never tells alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schedlab.store.columns import Chosen

_SHAPES = (
    ("circle", "●"),
    ("square", "■"),
    ("triangle-up", "▲"),
    ("diamond", "◆"),
    ("triangle-down", "▼"),
    ("cross", "✚"),
    ("triangle-right", "▶"),
    ("triangle-left", "◀"),
)
"""Vega's symbols, and the characters that a legend shows them by."""

_DASHES = ((1, 0), (7, 3), (2, 2), (7, 2, 2, 2), (10, 4), (4, 1), (1, 3), (8, 2, 1, 2, 1, 2))
"""Lengths of strokes and gaps in pixels."""

COLOURS = 8
"""Colours that the style sheet defines, ``--series-0`` to ``--series-7``; the first is the baseline's."""


@dataclass(frozen=True)
class Mark:
    """One column's look: a CSS colour, one of Vega's symbols, its character, and the dashes of its lines."""

    name: str
    colour: str
    shape: str
    glyph: str
    dash: tuple[int, ...]


def marks(columns: Sequence[Chosen]) -> list[Mark]:
    """One for each column, in order. With more columns than colours, colours come again with another shape."""
    return [_mark(place, column.name) for place, column in enumerate(columns)]


def _mark(place: int, name: str) -> Mark:
    turn = place // COLOURS
    shape, glyph = _SHAPES[(place + turn) % len(_SHAPES)]
    return Mark(name, f"var(--series-{place % COLOURS})", shape, glyph, _DASHES[(place + turn) % len(_DASHES)])
