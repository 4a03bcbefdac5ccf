"""Printed tables as text: the figures of their source, computed gains, and disagreements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schedlab.report.document import PrintedCell, PrintedRow, PrintedTable
from schedlab.report.numbers import UNKNOWN, figure, p_value, percent, spread
from schedlab.report.render.layout import fitting

GAP = "  "

MEANINGS = {
    "improvement": "positive is better",
    "change": "positive is larger",
}

NO_RATIO = "-, difference: a change from 0 or less, or to less than 0, is not a ratio"

NO_SAMPLES = "Figures as printed; there are no samples to judge."


def lines(table: PrintedTable, width: int) -> Iterator[str]:
    """Yield the lines of a table, in as many parts as its columns need in this width."""
    rows = texts(table)
    margin = max((len(name) for name, _ in rows), default=0)
    widths = [max(len(column), *(len(cells[k]) for _, cells in rows)) for k, column in enumerate(table.columns)]
    for number, part in enumerate(fitting([len(GAP) + each for each in widths], width - margin)):
        if number:
            yield ""
        yield (" " * margin + "".join(f"{GAP}{table.columns[k]:>{widths[k]}}" for k in part)).rstrip()
        for name, cells in rows:
            yield (f"{name:<{margin}}" + "".join(f"{GAP}{cells[k]:>{widths[k]}}" for k in part)).rstrip()


def texts(table: PrintedTable) -> list[tuple[str, list[str]]]:
    """Return the name of each row and the texts of its cells."""
    return [
        (row_name(row), [f"{value(cell)} {gain(table, k, cell)}".strip() for k, cell in enumerate(row.cells)])
        for row in table.rows
    ]


def title(table: PrintedTable) -> str:
    """Name the table, its line in the source, and the column that its gains are against."""
    parts = [part for part in (table.workload, table.title if table.title != table.workload else "") if part]
    head = ": ".join(parts) or table.layout
    return f"{head} (line {table.line}; against {table.baseline}, {MEANINGS[table.gains]})"


def row_name(row: PrintedRow) -> str:
    """Name a row: ``Hmean mb/sec-64 [MB/s]``."""
    unit = f"[{row.unit}]" if row.unit else ""
    return " ".join(part for part in (row.operation, row.label, unit) if part)


def value(cell: PrintedCell) -> str:
    """Return the figure as printed, with its spread. A cell may print the spread of a gain alone."""
    about = "" if cell.spread_percent is None else f" ±{spread(cell.spread_percent)}"
    return f"{UNKNOWN if cell.value is None else cell.text or figure(cell.value)}{about}"


def gain(table: PrintedTable, column: int, cell: PrintedCell) -> str:
    """Return a printed gain in parentheses, with its star, and ``!`` if the printed gain disagrees with the figures.
    Print a computed gain in brackets, and the difference where a gain would not be a ratio."""
    if column == table.baseline_index:
        return ""
    if cell.gain is None:
        return computed(cell)
    opening, closing = "**" if cell.star else "()"
    shown = percent(cell.gain, 2, signed=True, unit="%")
    return f"{opening}{shown}{'!' if cell.agrees is False else ''}{closing}"


def computed(cell: PrintedCell) -> str:
    """Return a computed gain or difference in brackets; empty without either."""
    if cell.recomputed is not None:
        return f"[{percent(cell.recomputed, 2, signed=True, unit='%')}]"
    return "" if cell.difference is None else f"[{no_ratio(cell.difference)}]"


def no_ratio(difference: float) -> str:
    """Format the difference in place of a gain: ``-, +10``."""
    return f"{UNKNOWN}, {difference:+zg}"


def remarks(table: PrintedTable) -> list[str]:
    """Return the tests that printed spreads allow, and the gains that do not follow from the printed values."""
    tests = [
        f"{row_name(row)}, {cell.column}: {_tested(cell)}, p = {p_value(cell.p)} "
        f"(n = {row.cells[table.baseline_index].n} and {cell.n})"
        for row in table.rows
        for cell in row.cells
        if cell.p is not None
    ]
    return tests + [
        f"! line {gain.line}, {gain.row}, {gain.column}: printed {percent(gain.printed, 2, signed=True, unit='%')}, "
        f"the values give {percent(gain.recomputed, 2, signed=True, unit='%')} "
        f"({percent(gain.low, 2, signed=True, unit='')} to {percent(gain.high, 2, signed=True, unit='')})"
        for gain in table.disagreements
    ]


def _tested(cell: PrintedCell) -> str:
    """Return the gain that a test is about, with the sign and the digits of the table."""
    return percent(cell.gain if cell.recomputed is None else cell.recomputed, 2, signed=True, unit="%")


def explanation(tables: Sequence[PrintedTable]) -> str:
    """Explain the marks that occur."""
    others = [
        cell for table in tables for row in table.rows for k, cell in enumerate(row.cells) if k != table.baseline_index
    ]
    marks = (
        (True, NO_SAMPLES),
        (any(cell.gain is not None for cell in others), "(printed change)."),
        (
            any(cell.gain is None and cell.recomputed is not None for cell in others),
            "[change that follows from the values].",
        ),
        (any(cell.gain is None and cell.difference is not None for cell in others), f"[{NO_RATIO}]."),
        (any(cell.star for table in tables for row in table.rows for cell in row.cells), "*starred by its source*."),
        (any(cell.agrees is False for cell in others), "! cannot come from the printed values."),
        (
            any(cell.p is not None for cell in others),
            "p: Welch's test on the printed figures of each row, not corrected for the number of rows.",
        ),
    )
    return " ".join(text for occurs, text in marks if occurs)
