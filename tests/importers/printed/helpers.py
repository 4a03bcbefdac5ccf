"""Texts to read tables from."""

from __future__ import annotations

from pathlib import Path

from schedlab.importers.printed import read, read_text
from schedlab.results import Import, Table, TableRow

TABLES = Path(__file__).parent / "tables"
"""Tables as public mails and changelogs print them: figures, names and headings, nothing else."""


def example(name: str) -> Import:
    """What is read from a file of :data:`TABLES`."""
    return read(TABLES / f"{name}.txt")


def imported(text: str | bytes) -> Import:
    """What is read from a text in hand."""
    return read_text(text, "mail.txt")


def only(found: Import) -> Table:
    """The one table there is."""
    (table,) = found.tables
    return table


def row(table: Table, head: str) -> TableRow:
    """The one row whose operation and label are these."""
    (found,) = (row for row in table.rows if f"{row.operation} {row.label}".strip() == head)
    return found


def values(found: TableRow) -> list[float | None]:
    """The row's figures."""
    return [cell.value for cell in found.cells]


def gains(found: TableRow) -> list[float | None]:
    """The row's printed changes."""
    return [cell.gain for cell in found.cells]
