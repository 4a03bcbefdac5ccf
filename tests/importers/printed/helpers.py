"""Sample texts with tables, and helpers that read them."""

from __future__ import annotations

from pathlib import Path

from schedlab.importers.printed import read, read_text
from schedlab.importers.printed.layout import layouts
from schedlab.results import Import, Table, TableRow

TABLES = Path(__file__).parent / "tables"
"""Tables of exact grammars from public mails and changelogs. Each file contains only figures, names and headings."""
UNKNOWN = Path(__file__).parent / "unknown"
"""Tables, and listings of other kinds, whose layout no grammar recognises."""


def example(name: str) -> Import:
    """Import a file of :data:`TABLES`."""
    return read(TABLES / f"{name}.txt")


def imported(text: str | bytes) -> Import:
    """Import a text."""
    return read_text(text, "mail.txt")


def by_layout(text: str, option: str) -> Import:
    """Import a text with the ``--table`` option."""
    return read_text(text, "mail.txt", layouts(option))


def unknown(name: str, option: str) -> Import:
    """Import a file of :data:`UNKNOWN` with the ``--table`` option."""
    return read(UNKNOWN / f"{name}.txt", layouts(option))


def only(imported_text: Import) -> Table:
    """Return the only table of an import."""
    (table,) = imported_text.tables
    return table


def row(table: Table, head: str) -> TableRow:
    """Return the only row with this operation and label."""
    (matched,) = (row for row in table.rows if f"{row.operation} {row.label}".strip() == head)
    return matched


def values(table_row: TableRow) -> list[float | None]:
    """Return the figures of a row."""
    return [cell.value for cell in table_row.cells]


def gains(table_row: TableRow) -> list[float | None]:
    """Return the printed changes of a row."""
    return [cell.gain for cell in table_row.cells]
