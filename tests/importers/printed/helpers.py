"""Sample texts with tables, and helpers that read these texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from schedlab.importers.printed import read_parts
from schedlab.importers.printed.layout import Layout, layouts
from schedlab.results.imported import Import, Table, TableRow

TABLES = Path(__file__).parent / "tables"
"""Tables of exact grammars from public mails and changelogs. Each file contains only figures, names and headings."""
UNKNOWN = Path(__file__).parent / "unknown"
"""Tables, and listings of other kinds, whose layout no grammar recognises."""


def read_text(data: bytes, source: str, stated: Sequence[Layout] = ()) -> Import:
    """Import the bytes of a text."""
    return read_parts(data, source, stated, "samples").imported(source)


def read(path: Path, stated: Sequence[Layout] = ()) -> Import:
    """Import the printed tables of a file."""
    return read_text(path.read_bytes(), str(path), stated)


def example(name: str) -> Import:
    """Import a file of :data:`TABLES`."""
    return read(TABLES / f"{name}.txt")


def imported(text: str | bytes) -> Import:
    """Import a text."""
    return read_text(text if isinstance(text, bytes) else text.encode(), "mail.txt")


def by_layout(text: str, *options: str) -> Import:
    """Import a text with ``--table`` options."""
    return read_text(text.encode(), "mail.txt", [layout for option in options for layout in layouts(option)])


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
