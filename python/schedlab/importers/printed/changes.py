"""Figures printed beside values that may be changes, but may as well be something else: told by what they amount to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from schedlab.results import Cell, TableRow

_NEAR_POINTS = 0.75
_MOST = 0.75
_FEW = 0.25


def baseline_of(rows: Sequence[TableRow]) -> int:
    """Which column the changes are over: the first one, unless its own are not 0 and another column's all are."""
    if not any(cell.gain for row in rows for cell in row.cells[:1]):
        return 0
    for k in range(1, len(rows[0].cells)):
        column = [row.cells[k] for row in rows]
        if any(cell.gain_text for cell in column) and not any(cell.gain for cell in column):
            return k
    return 0


def change_of(base: Cell, cell: Cell) -> float | None:
    """The change of a cell's value over the baseline's in per cent; None where there is none."""
    if base.value is None or cell.value is None or base.value == 0:
        return None
    return 100 * cell.value / base.value - 100


def without_doubtful(rows: Sequence[TableRow], baseline: int, bare: bool) -> tuple[list[TableRow], list[str]]:
    """Rows without the percentages that are no changes, and what was found of them.

    Args:
        rows: with every figure beside a value read as a change.
        baseline: the column that they are taken to be over.
        bare: whether no sign says that the figures are changes: ``6.99 (-11.36)``, or a column without a name.
    """
    ratios = changes = others = 0
    for row in rows:
        for k, cell in enumerate(row.cells):
            expected = change_of(row.cells[baseline], cell)
            if k == baseline or cell.gain is None or expected is None:
                continue
            near = _NEAR_POINTS + abs(cell.gain) / 100
            if abs(abs(cell.gain) - abs(expected)) <= near:
                changes += 1
            elif abs(cell.gain - 100 - expected) <= near:
                ratios += 1
            else:
                others += 1
    total, line = ratios + changes + others, rows[0].line
    if ratios and ratios >= total * _MOST:
        return _stripped(rows), [f"line {line}: per cent of the first column's values left out, they follow from them"]
    if bare and total and changes < total * _MOST:
        return _stripped(rows), [f"line {line}: figures beside the values left out, they are no changes in per cent"]
    if total > 2 and changes < total * _FEW:
        return list(rows), [f"line {line}: the printed changes are not over the first column of this table"]
    return list(rows), []


def _stripped(rows: Sequence[TableRow]) -> list[TableRow]:
    return [
        replace(row, cells=tuple(replace(cell, gain=None, gain_text="", star=None) for cell in row.cells))
        for row in rows
    ]
