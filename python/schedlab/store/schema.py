"""The store's tables for SQLAlchemy, made from :mod:`schedlab.store.tables`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    event,
    func,
    insert,
    literal_column,
    select,
)

from schedlab.store import tables

metadata = MetaData()

_TYPES = {
    "INTEGER": Integer,
    "BIGINT": BigInteger,
    "FLOAT": Float,
    "VARCHAR": String,
    "TEXT": Text,
    "BLOB": LargeBinary,
}


def _table(name: str, *constraints: UniqueConstraint) -> Table:
    return Table(name, metadata, *map(_column, tables.TABLES[name]), *constraints)


def _column(column: tables.Column) -> Column[Any]:
    parent = [ForeignKey(f"{column.parent}.id", ondelete="CASCADE")] if column.parent else []
    return Column(
        column.name,
        _TYPES[column.type],
        *parent,
        primary_key=column.key,
        nullable=column.nullable,
        default=column.default,
    )


about = _table("schedlab_store")
run = _table("run")
cell = _table("cell")
metric = _table("metric")
trial = _table("trial", UniqueConstraint("cell_id", "iteration", name="trial_once"))
samples = _table("samples")
output = _table("output")
printed = _table("printed")
campaign = _table("campaign")
candidate = _table(
    "candidate",
    UniqueConstraint("campaign_id", "position", name="position_once"),
    UniqueConstraint("campaign_id", "content", name="content_once"),
)

current = cell.c.superseded == literal_column("0")
"""Cells that were not measured again. A literal, because SQLite does not use ``cell_once`` with a bound parameter."""

_key = (cell.c.run_id, cell.c.phase, cell.c.block, cell.c.variant, cell.c.workload, cell.c.parameters)
_once = Index("cell_once", *_key, unique=True)


@event.listens_for(cell, "before_create")
def _index_current_cells(_table: Table, connection: Connection, **_options: Any) -> None:
    """Restrict ``cell_once`` to current cells. The constructor's ``DIALECT_where`` would import every named dialect."""
    _once.dialect_options[connection.dialect.name]["where"] = current


def next_number(connection: Connection, table: Table) -> int:
    """Return the number after the highest number in a table's column ``id``; 1 for an empty table."""
    return int(connection.execute(select(func.coalesce(func.max(table.c.id), 0))).scalar_one()) + 1


def insert_row(connection: Connection, table: Table, values: Mapping[str, Any]) -> int:
    """Insert a row; return its number."""
    key = connection.execute(insert(table).values(values)).inserted_primary_key
    assert key is not None
    return int(key[0])
