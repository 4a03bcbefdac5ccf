"""Printed tables as text: the figures as their source prints them, gains beside them, and what disagrees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schedlab.analysis.tables import Checked, Gain
from schedlab.report.numbers import figure, p_value, spread
from schedlab.results import Cell, TableRow

GAP = "  "

MEANINGS = {
    "improvement": "positive is better",
    "change": "positive is larger",
}


def lines(checked: Checked, width: int) -> Iterator[str]:
    """A table over as many parts as its columns need in the width, then its tests and what disagrees."""
    table = checked.table
    names = [row_name(row) for row in table.rows]
    margin = max(map(len, names), default=0)
    cells = [
        [cell(held, found) for held, found in zip(row.cells, of_row, strict=True)]
        for row, of_row in zip(table.rows, checked.gains, strict=True)
    ]
    widths = [max(len(column), *(len(row[k]) for row in cells)) for k, column in enumerate(table.columns)]
    for place, part in enumerate(_parts(widths, width - margin)):
        if place:
            yield ""
        yield (" " * margin + "".join(f"{GAP}{table.columns[k]:>{widths[k]}}" for k in part)).rstrip()
        for name, row in zip(names, cells, strict=True):
            yield (f"{name:<{margin}}" + "".join(f"{GAP}{row[k]:>{widths[k]}}" for k in part)).rstrip()


def title(checked: Checked) -> str:
    """What the table is, where it begins, and against which column its gains are."""
    table = checked.table
    words = [part for part in (table.workload, table.title if table.title != table.workload else "") if part]
    against = table.columns[table.baseline]
    return f"{': '.join(words) or table.layout} (line {table.line}; against {against}, {MEANINGS[table.gains]})"


def row_name(row: TableRow) -> str:
    """``Hmean mb/sec-64 [MB/s]``."""
    unit = f"[{row.unit}]" if row.unit else ""
    return " ".join(part for part in (row.operation, row.label, unit) if part)


def cell(held: Cell, found: Gain | None) -> str:
    """A figure with its gain."""
    return " ".join(part for part in (value(held), gain(found, held)) if part)


def value(held: Cell) -> str:
    """The figure as printed, ``-`` where there is none, with its spread, which may be that of a gain alone."""
    about = "" if held.spread_percent is None else f" ±{spread(held.spread_percent)}"
    return f"{'-' if held.value is None else held.text or figure(held.value)}{about}"


def gain(found: Gain | None, held: Cell) -> str:
    """A printed gain in parentheses, with its star, and ``!`` where it disagrees; one that follows in brackets."""
    if found is None or (found.printed is None and found.recomputed is None):
        return ""
    if found.printed is None:
        return f"[{found.recomputed:+.2f}%]"
    opening, closing = "**" if held.star else "()"
    return f"{opening}{found.printed:+.2f}%{'!' if found.agrees is False else ''}{closing}"


def remarks(checked: Checked) -> list[str]:
    """The tests that printed spreads allow, and the gains that cannot come from the printed values."""
    table = checked.table
    told = [
        f"{row_name(row)}, {column}: {found.test.change:+.2f} %, p = {p_value(found.test.p)} "
        f"(n = {row.cells[table.baseline].n} and {held.n})"
        for row, of_row in zip(table.rows, checked.gains, strict=True)
        for column, held, found in zip(table.columns, row.cells, of_row, strict=True)
        if found is not None and found.test is not None
    ]
    told += [
        f"! line {one.line}, {one.row}, {one.column}: printed {one.printed:+.2f} %, the values give "
        f"{one.recomputed:+.2f} % ({one.low:+.2f} to {one.high:+.2f})"
        for one in checked.disagreements
    ]
    return told


def explanation(checked: Sequence[Checked]) -> str:
    """What the marks mean, as far as they occur."""
    found = [each for one in checked for row in one.gains for each in row if each is not None]
    stars = any(held.star for one in checked for row in one.table.rows for held in row.cells)
    told = ["Figures as printed; there are no samples to judge."]
    if any(one.printed is not None for one in found):
        told.append("(printed change).")
    if any(one.printed is None and one.recomputed is not None for one in found):
        told.append("[change that follows from the values].")
    if stars:
        told.append("*starred by its source*.")
    if any(one.agrees is False for one in found):
        told.append("! cannot come from the printed values.")
    if any(one.test for one in found):
        told.append("p: Welch's test on the printed figures, of a row by itself, not corrected for their number.")
    return " ".join(told)


def _parts(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    """The columns, as many at a time as fit; one at least."""
    taken: list[int] = []
    for k in range(len(widths)):
        if taken and sum(len(GAP) + widths[j] for j in (*taken, k)) > room:
            yield taken
            taken = []
        taken.append(k)
    if taken:
        yield taken
