"""From printed figures to the contract's cells, in one unit for each row."""

from __future__ import annotations

from collections.abc import Sequence

from schedlab.importers.printed import units
from schedlab.importers.printed.tokens import Figure
from schedlab.results import Cell


def cells_of(figures: Sequence[Figure | None], starred: bool) -> tuple[str, tuple[Cell, ...]]:
    """The row's unit, that of its first figure with one, and its cells, brought to that unit where theirs is another.

    ``starred``: whether the table marks significance at all. Where units cannot be brought together the unit is empty,
    and each cell's text has its own.
    """
    printed = [figure.unit for figure in figures if figure is not None and figure.value is not None]
    unit = next(filter(None, printed), "")
    if any(other not in ("", unit) and units.factor(other, unit) is None for other in printed):
        unit = ""
    return unit, tuple(_cell(figure, unit, starred) for figure in figures)


def _cell(figure: Figure | None, unit: str, starred: bool) -> Cell:
    if figure is None:
        return Cell(None)
    value, spread, text = figure.value, figure.spread, figure.text
    if value is not None and figure.unit not in ("", unit):
        text += figure.unit
        value *= units.factor(figure.unit, unit) or 1
    if spread is not None and not figure.spread_percent:
        spread = 100 * spread / abs(figure.value) if figure.value else None
    return Cell(
        value=value,
        text=text,
        gain=figure.change,
        gain_text="" if figure.change_text == "()" else figure.change_text,
        star=figure.star if starred else None,
        spread_percent=spread,
        spread_kind=figure.spread_kind if spread is not None else "",
        n=figure.repeats,
    )
